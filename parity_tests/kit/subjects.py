"""The implementations under test, by name; a framework is imported when its subject is asked for."""

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from parity_tests.kit import oracle_subject
from parity_tests.kit.cases import Case
from parity_tests.kit.compare import Outcome
from parity_tests.kit.contract import Operation

Run = Callable[[Operation, list[Case]], list[Outcome]]


class Subject(NamedTuple):
    """One implementation: the cases that it takes, one outcome for each of several cases of one signature, and how
    many of them there must be to make a run worth its while.
    """

    name: str
    takes: Callable[[Case], bool]
    run: Run
    fewest: int = 1


# The framework that each needs, and the module of this package and its function that make it.
_MAKERS = {
    "jax": ("jax", "jax_subject", "jitted"),
    "jax-vmap": ("jax", "jax_subject", "vmapped"),
    "torch": ("torch", "torch_subject", "eager"),
    "torch-host-sync": ("torch", "torch_subject", "host_sync"),
    "torch-compiled": ("torch", "torch_subject", "compiled"),
}
NAMES = tuple(_MAKERS)
DEFAULT = ("jax", "jax-vmap", "torch", "torch-host-sync")
ORACLE = Subject("oracle", oracle_subject.answers, oracle_subject.run)


def missing(name: str) -> str | None:
    """The framework that `name` needs and that is not installed, or None."""
    framework = _MAKERS[name][0]
    try:
        import_module(framework)
    except ImportError:
        return framework
    return None


def load(name: str) -> Subject:
    """The subject of that name, which runs as its users run it."""
    _, module, maker = _MAKERS[name]
    return getattr(import_module(f"parity_tests.kit.{module}"), maker)()


def hurried(subject: Subject) -> Subject:
    """The same, compiled with less care where that is what takes the time."""
    return import_module("parity_tests.kit.jax_subject").lowered() if subject.name == "jax" else subject
