"""`python -m parity_tests doctor`: what this environment is, what is wrong with it, and what to do about it."""

import argparse
import re
from collections.abc import Iterator
from typing import NamedTuple

from parity_tests.kit.facts import PLUGINS, Facts, gather

OLDEST_PYTHON = (3, 11)
OLDEST_JAX = (0, 9, 2)
TORCH = (2, 6), (2, 14)
NAMES = {"rocm": "AMD", "cuda": "NVIDIA"}
INSTALL = {vendor: f"pip install 'jax-spec-decode[{vendor}]'" for vendor in NAMES}
COMMAND_BUFFERS = "--xla_gpu_enable_command_buffer="


class Finding(NamedTuple):
    """What is not as it should be, and the remedy; a note is worth knowing but nothing to fail for."""

    text: str
    remedy: str
    note: bool = False


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command `doctor` to the subcommands of a parser."""
    parser = commands.add_parser("doctor", help="look at this environment: versions, devices, known hazards")
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """Print the page; 0 if there is no problem, 1 if there is one."""
    facts = gather()
    found = findings(facts)
    print(page(facts, found))
    return int(any(not finding.note for finding in found))


def findings(facts: Facts) -> list[Finding]:
    """All that is wrong, the causes before what follows from them."""
    checks = (_versions, _plugins, _frameworks, _side_by_side, _platforms, _visible_devices, _flags, _width)
    return [finding for check in checks for finding in check(facts)]


def page(facts: Facts, found: list[Finding]) -> str:
    """The facts in two columns, the findings with their remedies, and the result in one line."""
    rows = [("python", f"{facts.python}, {facts.system}"), *facts.packages.items()]
    for name, framework in (("jax is on", facts.jax), ("torch is for", facts.torch)):
        if framework is not None:
            devices = ", ".join(framework.devices) or "no devices"
            rows.append((name, framework.fault or f"{framework.vendor} ({devices})"))
    if facts.jax is not None:
        rows.append(("jax_enable_x64", "on" if facts.jax.x64 else "off"))
    rows.append(("cards", ", ".join(NAMES[vendor] for vendor in facts.cards) or "none seen"))
    rows += facts.variables.items()
    width = max(len(name) for name, _ in rows)
    table = [f"{name:{width}}  {value}" for name, value in rows]
    told = [f"{'note' if x.note else 'problem'}: {x.text}\n  remedy: {x.remedy}" for x in found]
    problems = sum(not finding.note for finding in found)
    return "\n".join([*table, "", *told, f"problems: {problems}, notes: {len(found) - problems}"])


def _versions(facts: Facts) -> Iterator[Finding]:
    if _parts(facts.python) < OLDEST_PYTHON:
        yield Finding(f"Python {facts.python} is too old", f"use Python {_dotted(OLDEST_PYTHON)} or newer")
    jax, jaxlib, torch = (facts.packages.get(name) for name in ("jax", "jaxlib", "torch"))
    if jax is None or _parts(jax) < OLDEST_JAX:
        said = "JAX is not installed" if jax is None else f"jax {jax} is too old"
        yield Finding(said, f"pip install 'jax>={_dotted(OLDEST_JAX)}'")
    elif jaxlib is None or _parts(jaxlib)[:3] != _parts(jax)[:3]:
        yield Finding(f"jaxlib is {jaxlib}, jax is {jax}", f"pip install jaxlib=={jax}")
    if torch is None:
        yield Finding("torch is not installed", "pip install 'jax-spec-decode[parity]' to compare with it", note=True)
    elif not TORCH[0] <= _parts(torch)[:2] < TORCH[1]:
        wanted = f">={_dotted(TORCH[0])},<{_dotted(TORCH[1])}"
        yield Finding(f"torch {torch} has not been tried", f"pip install 'torch{wanted}'")


def _plugins(facts: Facts) -> Iterator[Finding]:
    jax = facts.packages.get("jax", "of no version")
    for vendor, names in PLUGINS.items():
        installed = {name: facts.packages[name] for name in names if name in facts.packages}
        wrong = [f"{name} is {found}" for name, found in installed.items() if _parts(found)[:3] != _parts(jax)[:3]]
        # The ROCm plugin does not look at the version of JAX itself, and fails later or not at all.
        if wrong:
            yield Finding(
                f"{', '.join(wrong)}, jax is {jax}", f"{INSTALL[vendor]} again: it takes the one for this JAX"
            )
        if vendor in facts.cards and not installed:
            yield Finding(f"there is an {NAMES[vendor]} card, and JAX has no plugin for it", INSTALL[vendor])
        if installed and vendor not in facts.cards:
            told = f"JAX's plugin for {NAMES[vendor]} is installed, and no such card is seen"
            remedy = "none for compiling; to run there, check the driver and the devices that a container is given"
            yield Finding(told, remedy, note=True)


def _frameworks(facts: Facts) -> Iterator[Finding]:
    platforms = facts.variables.get("JAX_PLATFORMS")
    if facts.jax is not None and facts.jax.fault:
        asked = f"it was asked for JAX_PLATFORMS={platforms}: install that, or unset it" if platforms else ""
        yield Finding(
            f"jax does not start: {facts.jax.fault}", asked or "python -c 'import jax; jax.devices()' tells more"
        )
    if facts.torch is not None and facts.torch.fault:
        yield Finding(f"torch does not start: {facts.torch.fault}", "python -c 'import torch' tells more")
    if facts.jax is None or facts.jax.vendor != "cpu" or platforms == "cpu":
        return
    for vendor in facts.cards:
        if any(name in facts.packages for name in PLUGINS[vendor]):
            told = f"JAX runs on the CPU beside an {NAMES[vendor]} card: {facts.jax.log or 'it does not say why'}"
            yield Finding(told, f"JAX_PLATFORMS={vendor} makes it say why; see that its libraries are found")


def _side_by_side(facts: Facts) -> Iterator[Finding]:
    if facts.jax is None or facts.torch is None or facts.torch.fault:
        return
    if facts.jax.vendor in NAMES and facts.torch.vendor != facts.jax.vendor:
        told = f"JAX runs on {facts.jax.vendor}, torch is built for {facts.torch.vendor}"
        yield Finding(
            f"{told}: they cannot be compared on the card", f"install torch for {facts.jax.vendor}", note=True
        )


def _platforms(facts: Facts) -> Iterator[Finding]:
    platforms = facts.variables.get("JAX_PLATFORMS", "")
    accelerators = [
        vendor
        for vendor, names in PLUGINS.items()
        if vendor in facts.cards or any(name in facts.packages for name in names)
    ]
    if "gpu" in platforms.split(","):
        yield Finding(
            "JAX_PLATFORMS=gpu tries ROCm on NVIDIA's machines too, and reports its errors", "name cuda or rocm instead"
        )
    if platforms == "cpu" and facts.cards:
        yield Finding("JAX_PLATFORMS=cpu hides the card", "unset it, or name the platform of the card", note=True)
    if facts.variables.get("CI") and not platforms and accelerators:
        told = "in CI without JAX_PLATFORMS a CPU can pass for a GPU"
        yield Finding(told, f"set JAX_PLATFORMS={accelerators[0]}: then JAX fails where there is none")


def _visible_devices(facts: Facts) -> Iterator[Finding]:
    hip, rocr = (facts.variables.get(f"{name}_VISIBLE_DEVICES") for name in ("HIP", "ROCR"))
    if not hip or not rocr:
        return
    # HIP counts within what ROCr has left over, so only 0, 1, ... mean the same cards to both.
    left = [str(i) for i in range(len(rocr.split(",")))]
    if hip.split(",") != left:
        told = f"HIP_VISIBLE_DEVICES={hip} counts within ROCR_VISIBLE_DEVICES={rocr}, which leaves {', '.join(left)}"
        yield Finding(told, f"set one of them only, or HIP_VISIBLE_DEVICES={','.join(left)}")


def _flags(facts: Facts) -> Iterator[Finding]:
    flags = facts.variables.get("XLA_FLAGS", "").split()
    on_rocm = facts.jax is not None and facts.jax.vendor == "rocm"
    if on_rocm and not any(flag.startswith(COMMAND_BUFFERS) for flag in flags):
        told = "command buffers (HIP graphs) are on, and some versions of ROCm 7 crash in them (openxla/xla#46952)"
        yield Finding(told, f"if a process dies in a replay, set XLA_FLAGS={COMMAND_BUFFERS}", note=True)
    if not on_rocm and COMMAND_BUFFERS in flags:
        told = f"XLA_FLAGS={COMMAND_BUFFERS} turns command buffers off, a workaround for ROCm"
        yield Finding(told, "unset it: elsewhere it only costs time", note=True)


def _width(facts: Facts) -> Iterator[Finding]:
    if facts.jax is not None and facts.jax.x64:
        told = (
            "JAX computes in 64 bits (JAX_ENABLE_X64): NumPy's int64 arrays stay int64, and the operations refuse them"
        )
        yield Finding(told, "unset it, or hand over int32 arrays", note=True)


def _parts(version: str) -> tuple[int, ...]:
    """The numbers that a version begins with."""
    return tuple(map(int, re.findall(r"\d+", re.split(r"[^\d.]", version, maxsplit=1)[0])))


def _dotted(parts: tuple[int, ...]) -> str:
    return ".".join(map(str, parts))
