"""The doors by which an implementation comes in: what `--impl` says, and the subject that it stands for.

    jax                                      one of this package's own, by its short name
    torch:their.module                       every operation, by name, from a module; `jax:` likewise
    torch@cuda:their.module                  the same, given tensors on a device
    assemble_input_ids=torch:module:function one operation, whatever its function is called
    numpy:module:adapter                     dicts of NumPy arrays in and out; see `numpy_subject`
    proc:./binary --option                   JSON lines on stdin and stdout; see `process_subject`

A framework is imported when a subject that needs it is asked for.
"""

import os
import re
import sys
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import NamedTuple

from parity_tests.kit.contract import OPERATIONS, Record
from parity_tests.kit.subjects import Library, Subject
from parity_tests.kit.vectors import OPERATION_NAMES

# This package's own implementations, as anybody's would be named.
SHORT = {
    "jax": "jax:jax_spec",
    "jax-vmap": "jax-vmap:jax_spec",
    "torch": "torch:torch_ref",
    "torch-host-sync": "torch:torch_ref.host_sync",
    "torch-compiled": "torch-compiled:torch_ref",
}
DEFAULT = ("jax", "jax-vmap", "torch", "torch-host-sync")

_PACKAGES = {"jax": "jax_spec", "torch": "torch_ref"}
# The module of this package that makes a subject of each kind, and its function.
_MAKERS = {
    "jax": ("jax_subject", "jitted"),
    "jax-vmap": ("jax_subject", "vmapped"),
    "torch": ("torch_subject", "eager"),
    "torch-compiled": ("torch_subject", "compiled"),
    "numpy": ("numpy_subject", "adapted"),
    "proc": ("process_subject", "talking"),
}
_GRAMMAR = re.compile(r"(?:(\w+)=)?([a-z-]+)(?:@(\w+))?(?::(.+))?", re.DOTALL)


class Spec(NamedTuple):
    """An `--impl` taken apart; what it does not say is empty. Without an `operation` it stands for all of them.

    One of `ours` was given by its short name.
    """

    text: str
    operation: str
    kind: str
    device: str
    target: str
    ours: bool


class SpecError(ValueError):
    """An `--impl` that nobody can follow; the message begins with it."""


def parse(text: str) -> Spec:
    """The parts of an `--impl`; a short name is written out.

    >>> spec = parse("cu_seqlens=torch@cuda:their.module:scan")
    >>> spec.operation, spec.kind, spec.device, spec.target
    ('cu_seqlens', 'torch', 'cuda', 'their.module:scan')
    """
    match = _GRAMMAR.fullmatch(text)
    operation, kind, device, target = (part or "" for part in match.groups()) if match else ("",) * 4
    ours = not target and kind in SHORT
    if ours:
        kind, _, target = SHORT[kind].partition(":")
    if operation and operation not in OPERATION_NAMES:
        raise SpecError(f"{text}: no operation is called {operation!r}{_perhaps(operation, OPERATION_NAMES)}")
    if kind not in _MAKERS or not target:
        known = ", ".join((*SHORT, *(f"{kind}:..." for kind in _MAKERS)))
        raise SpecError(f"{text}: unknown implementation, expected one of {known}{_perhaps(kind, tuple(SHORT))}")
    if device and not kind.startswith("torch"):
        raise SpecError(f"{text}: @{device} is for torch; JAX and other programs choose their device themselves")
    return Spec(text, operation, kind, device, target, ours)


def missing(text: str) -> str | None:
    """The framework that an `--impl` needs and that is not installed, or None."""
    framework = _framework(parse(text))
    try:
        if framework:
            import_module(framework)
    except ImportError:
        return framework
    return None


@cache
def subject(text: str) -> Subject:
    """The subject that an `--impl` stands for, always the same one.

    Raises:
        SpecError: it cannot be followed, or what it names cannot be imported.
    """
    spec = parse(text)
    module, maker = _MAKERS[spec.kind]
    make = getattr(import_module(f"parity_tests.kit.{module}"), maker)
    made = _restricted(make(text, _library(spec)) if _framework(spec) else make(spec), spec.operation)
    if spec.ours:
        return made
    lacks = set(_wanted(spec)) - set(made.operations) if made.functions else ()
    # Of our own functions it is known that `lower` lowers what a call runs. Whatever `functools.wraps` has wrapped has
    # the `lower` of the function inside, and would be judged by that.
    return made._replace(outside=True, quick=None, lacks=tuple(name for name in OPERATION_NAMES if name in lacks))


def resolve(spec: Spec) -> tuple[ModuleType, Callable | None]:
    """The module that `spec` names, and the function if it names one."""
    name, _, function = spec.target.partition(":")
    # As for any tool that takes `module:function`: modules beside which it is started are found, after all others.
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        module = import_module(name)
    except Exception as error:
        raise SpecError(f"{spec.text}: cannot import {name}: {type(error).__name__}: {error}") from error
    if function and not callable(getattr(module, function, None)):
        raise SpecError(f"{spec.text}: {name} has no function {function!r}{_perhaps(function, tuple(vars(module)))}")
    return module, getattr(module, function) if function else None


def _library(spec: Spec) -> Library:
    """The functions that a spec of JAX or torch names, and the NamedTuples of the module itself, else of ours."""
    framework = _framework(spec)
    module, function = resolve(spec)
    if function and not spec.operation:
        raise SpecError(f"{spec.text}: which operation is it? Write OPERATION={spec.text}")
    package = import_module(_PACKAGES[framework])
    types = {name: getattr(module, name, getattr(package, name)) for name in _records()}

    def find(name: str) -> Callable | None:
        if spec.operation not in ("", name):
            return None
        # Looked up with every call: a test may have put another function there.
        found = getattr(module, spec.target.partition(":")[2] or name, None)
        return found if callable(found) else None

    return Library(framework, find, SimpleNamespace(**types), spec.device)


def _records() -> set[str]:
    operations = OPERATIONS.values()
    given = [field for operation in operations for field in operation.arguments if isinstance(field, Record)]
    results = [operation.result for operation in operations if isinstance(operation.result, Record)]
    return {record.type for record in [*given, *results]}


def _restricted(made: Subject, operation: str) -> Subject:
    if not operation:
        return made
    names = tuple(name for name in made.operations if name == operation)
    return made._replace(operations=names, takes=lambda case: case.op in names and made.takes(case))


def _wanted(spec: Spec) -> tuple[str, ...]:
    return (spec.operation,) if spec.operation else OPERATION_NAMES


def _framework(spec: Spec) -> str:
    """`jax` or `torch`, or nothing if the kit itself needs neither."""
    first = spec.kind.partition("-")[0]
    return first if first in _PACKAGES else ""


def _perhaps(word: str, known: tuple[str, ...]) -> str:
    close = get_close_matches(word, known, 1)
    return f"; perhaps {close[0]!r}?" if close else ""
