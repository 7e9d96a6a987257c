"""The choice of devices, from facts of machines that are not here."""

import pytest

from parity_tests.kit.devices import Choice, NoSuchDeviceError, choose
from parity_tests.kit.facts import Facts, Framework

CPU = Framework("cpu", ["cpu"])


def machine(jax=CPU, torch=None):
    return Facts("3.11.7", "Linux x86_64", {}, jax, torch, {}, ())


def test_the_cpu_is_always_there():
    assert choose("cpu", machine(jax=Framework("rocm", ["MI300X"]))) == Choice("cpu", "cpu")


@pytest.mark.parametrize("kind", ["rocm", "cuda"])
def test_jax_and_torch_share_the_card(kind):
    card = Framework(kind, ["a card"])
    assert choose(kind, machine(card, card)) == Choice(kind, "cuda")


@pytest.mark.parametrize(
    "torch",
    [None, Framework("cpu"), Framework("cuda", ["H200"]), Framework("rocm", []), Framework(fault="does not import")],
    ids=["absent", "cpu-build", "other-vendor", "sees-nothing", "broken"],
)
def test_torch_stays_on_the_cpu_where_it_has_no_such_card(torch):
    assert choose("rocm", machine(Framework("rocm", ["MI300X"]), torch)) == Choice("rocm", "cpu")


def test_a_tpu_is_for_jax_alone():
    assert choose("tpu", machine(Framework("tpu", ["TPU v5"]), CPU)) == Choice("tpu", "cpu")


@pytest.mark.parametrize(
    ("jax", "told"),
    [
        (CPU, r"no rocm device for JAX here: found cpu \(cpu\)"),
        (Framework("cuda", ["H200"]), r"found cuda \(H200\)"),
        (Framework(fault="Unable to initialize backend 'rocm'"), "found Unable to initialize"),
        (None, "found no JAX"),
    ],
    ids=["cpu", "other-vendor", "broken", "absent"],
)
def test_no_silent_fallback(jax, told):
    with pytest.raises(NoSuchDeviceError, match=told):
        choose("rocm", machine(jax))
