"""Identical means equal structure, dtype, shape and values, looked at in that order: `==`, no tolerances."""

from typing import Any, NamedTuple

import numpy as np

from parity_tests.kit.cases import Case, Fault, Promise, dump_case
from parity_tests.kit.contract import CHECK_STEP, OPERATIONS, Array, tree_of
from parity_tests.kit.trees import Tree, leaves

Outcome = Tree | Exception
Leaves = dict[str, Any]


class Difference(NamedTuple):
    """Where an outcome first departs from what was expected."""

    kind: str
    path: str
    text: str


def compare(case: Case, outcome: Outcome) -> Difference | None:
    """The first difference between `outcome` and what `case` expects, or None."""
    if case.fault is not None:
        return _fault(case.fault, outcome)
    if isinstance(outcome, Exception):
        return Difference("error", "", f"expected a result, got {type(outcome).__name__}: {outcome}")
    expected, got = dict(leaves(case.expected or {})), dict(leaves(outcome))
    return _structure(expected, got) or _dtype(expected, got) or _shape(expected, got) or _values(case, expected, got)


def describe(case: Case, difference: Difference) -> str:
    """The difference, and the case as a line to paste into the vectors."""
    return f"{case.op} {case.id}: {difference.kind}: {difference.text}\n{dump_case(case)}"


def equal(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether two arrays of one dtype and shape hold equal values; most hold the same bytes, which is told faster."""
    return left.tobytes() == right.tobytes() or np.array_equal(left, right)


def _fault(fault: Fault, outcome: Outcome) -> Difference | None:
    if not isinstance(outcome, Exception):
        return Difference("error", "", f"expected {fault.type}, got a result")
    text = f"{type(outcome).__name__}: {outcome}"
    if type(outcome).__name__ != fault.type:
        return Difference("error", "", f"expected {fault.type}, got {text}")
    if not any(f"`{name}`" in str(outcome) for name in fault.arguments):
        return Difference("error", "", f"expected one of {fault.arguments} in backticks, got {text}")
    missing = [mention for mention in fault.mentions if mention not in str(outcome)]
    return Difference("error", "", f"expected {missing} in the message, got {text}") if missing else None


def _structure(expected: Leaves, got: Leaves) -> Difference | None:
    if list(expected) != list(got):
        return Difference("structure", "", f"expected fields {list(expected)}, got {list(got)}")
    for path, leaf in got.items():
        if not isinstance(leaf, np.ndarray):
            return Difference("structure", path, f"`{path}`: expected an array, got {type(leaf).__name__}")
    return None


def _dtype(expected: Leaves, got: Leaves) -> Difference | None:
    for path, leaf in expected.items():
        if got[path].dtype != leaf.dtype:
            return Difference("dtype", path, f"`{path}`: expected {leaf.dtype}, got {got[path].dtype}")
    return None


def _shape(expected: Leaves, got: Leaves) -> Difference | None:
    for path, leaf in expected.items():
        if got[path].shape != leaf.shape:
            return Difference("shape", path, f"`{path}`: expected {leaf.shape}, got {got[path].shape}")
    return None


def _values(case: Case, expected: Leaves, got: Leaves) -> Difference | None:
    for path, leaf in expected.items():
        if not isinstance(leaf, Promise) and not equal(leaf, got[path]):
            return Difference("values", path, _first_difference(case, path, leaf, got[path]))
    return None


def _first_difference(case: Case, path: str, expected: np.ndarray, got: np.ndarray) -> str:
    flat = int(np.flatnonzero(expected != got)[0])
    index = tuple(int(i) for i in np.unravel_index(flat, expected.shape))
    place = f"`{path}`{list(index)} (flat {flat}{_row(case, path, index)})"
    return f"{place}: expected {expected[index]}, got {got[index]}"


def _row(case: Case, path: str, index: tuple[int, ...]) -> str:
    """Which row of the batch an index belongs to, where the shape tells."""
    operation = OPERATIONS.get(case.op, CHECK_STEP)
    fields = dict(leaves(_named(operation.result)))
    first = fields[path].shape.split(" ")[0] if path in fields else ""
    cu = case.inputs.get("cu_seqlens_q")
    if first == "T" and isinstance(cu, np.ndarray):
        row = int(np.searchsorted(cu, index[0], side="right")) - 1
        return f", row {row}" if row < len(cu) - 1 else ", in the tail"
    return f", row {index[0]}" if first in ("B", "B+1", "S") else ""


def _named(result: Any) -> Tree:
    if result is None:
        return {}
    return {"out": result} if isinstance(result, Array) else tree_of(result, lambda field: field)
