"""The ways to run one row. What is timed is the call from Python and the wait for its result.

Arguments are in place: tensors and JAX arrays on the device, NumPy arrays on the host. Where a call gives up or may
write to an argument, it gets another copy each time, made outside of what is timed.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from parity_tests.bench import host
from parity_tests.bench.cases import STEP, answer, compose
from parity_tests.kit.calls import build, in_order
from parity_tests.kit.cases import Case
from parity_tests.kit.contract import OPERATIONS, Operation
from parity_tests.kit.trees import Tree, map_leaves

FLOOR, NUMPY = "floor", "numpy"
JAX, JAX_AOT, JAX_DONATED = "jax", "jax-aot", "jax-donated"
TORCH, TORCH_COMPILED, TORCH_HOST_SYNC = "torch", "torch-compiled", "torch-host-sync"
# In the order of the tables; somebody's own come behind them.
OURS = (FLOOR, JAX, JAX_AOT, JAX_DONATED, TORCH, TORCH_COMPILED, TORCH_HOST_SYNC, NUMPY)


class Variant(NamedTuple):
    """A way to run a row: `call(*fresh())` returns when the result is there, `read` makes NumPy arrays of that.

    `launch`, if there is one, is the same call without the wait. `facts` were found while the variant was made. `held`
    are the arguments that all calls share, as they are by now.
    """

    name: str
    call: Callable[..., Any]
    read: Callable[[Any], Tree]
    fresh: Callable[[], tuple] = tuple
    launch: Callable[..., Any] | None = None
    facts: dict[str, Any] | None = None
    held: Callable[[], Tree] = dict


def in_order_of_tables(names: Iterable[str]) -> list[str]:
    """Each name once, ours first."""
    given = dict.fromkeys(names)
    return [*(name for name in OURS if name in given), *(name for name in given if name not in OURS)]


def on_host(case: Case, operation: Operation) -> Variant:
    """The operation in vectorised NumPy."""

    def evaluate(name: str, inputs: Tree, static: Tree) -> Any:
        return getattr(host, name)(**inputs, **static)

    return Variant(NUMPY, partial(answer, evaluate, operation, case.inputs, case.static), _as_arrays)


def adapter(name: str, function: Callable[..., Any], case: Case, operation: Operation) -> Variant:
    """Somebody's function from a dict of NumPy arrays, which it owns, to another."""

    def fresh() -> tuple[Tree]:
        return (map_leaves(lambda _, leaf: leaf.copy(), case.inputs),)

    return Variant(name, partial(_given, function, case.static), partial(in_order, operation), fresh)


def arguments(operation: Operation, tree: Tree, types: Any) -> tuple:
    """The arguments by position, records as the NamedTuples of `types`."""
    return tuple(build(argument, tree[argument.name], types) for argument in operation.arguments)


def has_numpy(operation: Operation) -> bool:
    """Whether the host has a form of its own."""
    return operation is STEP or hasattr(host, operation.name)


def finder(package: Any) -> Callable[[str], Callable | None]:
    """Looks up functions of a package by name."""
    return lambda name: getattr(package, name, None)


def found(operation: Operation, find: Callable[[str], Callable | None]) -> Callable | None:
    """The function of a library for an operation; the whole step is made of its parts if all are there."""
    if operation is not STEP:
        return find(operation.name)
    parts = [find(name) for name in ("prepare_step", "commit_step", "store_drafts")]
    return compose(*parts) if all(parts) else None


def twin(operation: Operation) -> str:
    """The name of the operation's donating form, or nothing."""
    name = f"{operation.name}_donated"
    return name if name in OPERATIONS else ""


def _given(function: Callable[..., Any], static: Tree, inputs: Tree) -> Any:
    return function(inputs, dict(static))


def _as_arrays(result: Any) -> Tree:
    # A scalar of NumPy is no array.
    return map_leaves(lambda _, leaf: np.asarray(leaf), result if isinstance(result, dict) else {"out": result})
