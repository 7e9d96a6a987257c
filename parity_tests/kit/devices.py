"""Which device the proof runs on; asked for one that is not there, it refuses instead of falling back to the CPU."""

from typing import NamedTuple

from parity_tests.kit.facts import Facts, Framework

KINDS = ("cpu", "cuda", "rocm", "tpu")


class Choice(NamedTuple):
    """The platform that JAX is held to, and the device of torch's tensors: both on the same card, if torch can."""

    jax: str
    torch: str


class NoSuchDeviceError(Exception):
    """What was asked for is not here; the text says what is."""


def choose(wanted: str, facts: Facts) -> Choice:
    """The devices for a run on `wanted`, one of `KINDS`.

    torch calls AMD and NVIDIA cards alike `cuda`; where it sees no card of that vendor, it stays on the CPU and only
    JAX runs on the device.
    """
    if wanted == "cpu":
        return Choice("cpu", "cpu")
    found = facts.jax
    if found is None or found.fault or found.vendor != wanted:
        raise NoSuchDeviceError(f"no {wanted} device for JAX here: found {_described(found)}")
    sees_card = facts.torch is not None and facts.torch.vendor == wanted and bool(facts.torch.devices)
    return Choice(wanted, "cuda" if sees_card else "cpu")


def _described(framework: Framework | None) -> str:
    if framework is None:
        return "no JAX"
    return framework.fault or f"{framework.vendor} ({', '.join(framework.devices) or 'no devices'})"


def environment(choice: Choice) -> dict[str, str]:
    """The variables that hold JAX to the device, for this process before it imports JAX and for those it starts."""
    # Several processes share a card, so none may take all its memory.
    return {"JAX_PLATFORMS": choice.jax, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
