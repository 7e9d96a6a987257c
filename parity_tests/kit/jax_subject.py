"""`jax_spec` as a subject: call by call, and a whole batch of cases under one `vmap`."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np

from parity_tests.kit.calls import as_tree, checked, invoke
from parity_tests.kit.cases import Case
from parity_tests.kit.compare import Outcome
from parity_tests.kit.contract import OPERATIONS, Operation
from parity_tests.kit.subjects import Subject
from parity_tests.kit.trees import leaves, map_leaves

# A program that serves a handful of cases takes a hundred times longer to optimise than to run.
QUICK = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}


def jitted() -> Subject:
    """The functions as users call them."""
    import jax_spec

    def run(operation: Operation, cases: list[Case]) -> list[Outcome]:
        function = getattr(jax_spec, operation.name)
        return [_once(function, operation, case, case.static) for case in cases]

    return Subject("jax", lambda case: hasattr(jax_spec, case.op), run)


def lowered() -> Subject:
    """The same programs, compiled once a signature and in a hurry."""
    import jax_spec

    def run(operation: Operation, cases: list[Case]) -> list[Outcome]:
        function, first = getattr(jax_spec, operation.name), cases[0]
        if operation.name not in OPERATIONS:
            return [_once(function, operation, case, case.static) for case in cases]
        try:
            with _width(first):
                program = invoke(function.lower, operation, first.inputs, first.static, jax_spec)
                compiled = program.compile(_options())
        except Exception as error:
            return [error] * len(cases)
        return [_once(compiled, operation, case, {}) for case in cases]

    return Subject("jax", lambda case: hasattr(jax_spec, case.op), run)


def vmapped() -> Subject:
    """`jit(vmap(operation))` over all cases of a signature at once, two at least; nothing can be donated there."""
    import jax_spec

    def run(operation: Operation, cases: list[Case]) -> list[Outcome]:
        try:
            with _width(cases[0]):
                return _batch(getattr(jax_spec, operation.name), operation, cases)
        except Exception as error:
            return [error] * len(cases)

    names = [operation.name for operation in OPERATIONS.values() if not operation.donates]
    return Subject("jax-vmap", lambda case: case.op in names and hasattr(jax_spec, case.op), run, fewest=2)


def _once(function: Callable, operation: Operation, case: Case, static: dict[str, Any]) -> Outcome:
    import jax_spec

    with _width(case):
        return checked(
            lambda inputs: as_tree(invoke(function, operation, inputs, static, jax_spec), np.asarray), operation, case
        )


def _batch(function: Callable, operation: Operation, cases: list[Case]) -> list[Outcome]:
    import jax

    import jax_spec

    arrays = [{path: leaf for path, leaf in leaves(case.inputs) if isinstance(leaf, np.ndarray)} for case in cases]
    stacked = {path: np.stack([entry[path] for entry in arrays]) for path in arrays[0]}

    # What is no array, a fault of the case, is closed over: vmap itself would refuse it with a message of its own.
    def one(mapped: dict[str, Any]) -> Any:
        inputs = map_leaves(lambda path, leaf: mapped.get(path, leaf), cases[0].inputs)
        return invoke(function, operation, inputs, cases[0].static, jax_spec)

    together = jax.jit(jax.vmap(one), compiler_options=_options())(stacked) if stacked else one(stacked)
    tree = as_tree(together, np.asarray)
    return [map_leaves(lambda _, leaf, i=i: leaf[i, ...], tree) for i in range(len(cases))]


def _width(case: Case) -> AbstractContextManager:
    """64-bit JAX for a case that hands over 64-bit arrays: in 32 bits JAX narrows them before anyone can object."""
    import jax

    wide = any(isinstance(leaf, np.ndarray) and leaf.dtype.itemsize == 8 for _, leaf in leaves(case.inputs))
    return jax.enable_x64(True) if wide else nullcontext()


@cache
def _options() -> dict[str, Any] | None:
    """`QUICK` where this compiler knows it."""
    import jax

    if jax.default_backend() != "cpu":
        return None
    try:
        jax.jit(lambda x: x, compiler_options=QUICK)(0)
    except Exception:
        return None
    return QUICK
