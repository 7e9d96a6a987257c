"""Functions of JAX as a subject: call by call, and a whole batch of cases under one `vmap`."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np

from parity_tests.kit.calls import as_tree, checked, invoke
from parity_tests.kit.cases import Case
from parity_tests.kit.compare import Outcome
from parity_tests.kit.contract import OPERATIONS, Operation
from parity_tests.kit.subjects import Library, Subject, of_operations, offered
from parity_tests.kit.trees import Tree, leaves, map_leaves

# A program that serves a handful of cases takes a hundred times longer to optimise than to run.
QUICK = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}


def jitted(name: str, library: Library) -> Subject:
    """The functions as users call them; when hurried, compiled once a signature."""

    def run(operation: Operation, cases: list[Case]) -> list[Outcome]:
        return [_called(library, operation, case) for case in cases]

    def quick(operation: Operation, cases: list[Case]) -> list[Outcome]:
        if operation.name not in OPERATIONS:
            return run(operation, cases)
        try:
            with _width(cases[0]):
                compiled = _lowered(library, operation, cases[0]).compile(quick_options())
        except Exception as error:
            return [error] * len(cases)
        return [_called_compiled(compiled, operation, case, library.types) for case in cases]

    return of_operations(name, offered(library), run)._replace(quick=quick, functions=library)


def vmapped(name: str, library: Library) -> Subject:
    """`jit(vmap(operation))` over all cases of a signature at once, two at least; nothing can be donated there."""

    def run(operation: Operation, cases: list[Case]) -> list[Outcome]:
        try:
            with _width(cases[0]):
                return _batch(library, operation, cases)
        except Exception as error:
            return [error] * len(cases)

    names = [name for name in offered(library) if name in OPERATIONS and not OPERATIONS[name].donates]
    return of_operations(name, names, run)._replace(fewest=2)


def _found(library: Library, operation: Operation) -> Callable:
    function = library.find(operation.name)
    assert function is not None, "a subject is run on what it takes"
    return function


def _called(library: Library, operation: Operation, case: Case) -> Outcome:
    import jax.numpy as jnp

    def put(_: str, leaf: Any) -> Any:
        return jnp.asarray(leaf) if isinstance(leaf, np.ndarray) else leaf

    def call(inputs: Tree) -> Tree:
        return _read(invoke(function, operation, map_leaves(put, inputs), case.static, library.types))

    function = _found(library, operation)
    with _width(case):
        return checked(call, operation, case)


def _lowered(library: Library, operation: Operation, case: Case) -> Any:
    function: Any = _found(library, operation)
    return invoke(function.lower, operation, case.inputs, case.static, library.types)


def _called_compiled(compiled: Callable, operation: Operation, case: Case, types: Any) -> Outcome:
    # A compiled program takes NumPy arrays, and has its statics inside.
    with _width(case):
        return checked(lambda inputs: _read(invoke(compiled, operation, inputs, {}, types)), operation, case)


def _batch(library: Library, operation: Operation, cases: list[Case]) -> list[Outcome]:
    import jax

    function = _found(library, operation)
    arrays = [{path: leaf for path, leaf in leaves(case.inputs) if isinstance(leaf, np.ndarray)} for case in cases]
    stacked = {path: np.stack([entry[path] for entry in arrays]) for path in arrays[0]}

    # What is no array, a fault of the case, is closed over: vmap itself would refuse it with a message of its own.
    def one(mapped: dict[str, Any]) -> Any:
        inputs = map_leaves(lambda path, leaf: mapped.get(path, leaf), cases[0].inputs)
        return invoke(function, operation, inputs, cases[0].static, library.types)

    together = jax.jit(jax.vmap(one), compiler_options=quick_options())(stacked) if stacked else one(stacked)
    tree = _read(together)
    return [map_leaves(lambda _, leaf, i=i: leaf[i, ...], tree) for i in range(len(cases))]


def _read(result: Any) -> Tree:
    return as_tree(result, lambda value: np.asarray(value) if hasattr(value, "__array__") else value)


def _width(case: Case) -> AbstractContextManager:
    """64-bit JAX for a case that hands over 64-bit arrays: in 32 bits JAX narrows them before anyone can object."""
    import jax

    wide = any(isinstance(leaf, np.ndarray) and leaf.dtype.itemsize == 8 for _, leaf in leaves(case.inputs))
    return jax.enable_x64(True) if wide else nullcontext()


@cache
def quick_options() -> dict[str, Any] | None:
    """As much of `QUICK` as this compiler knows."""
    import jax

    if jax.default_backend() != "cpu":
        return None
    known = {}
    for name, value in QUICK.items():
        try:
            jax.jit(lambda x: x, compiler_options={name: value})(0)
        except Exception:
            continue
        known[name] = value
    return known or None
