"""What every operation must refuse: each array and static of the contract, made wrong in each way there is."""

from collections.abc import Iterator
from functools import cache
from itertools import chain, product
from typing import Any

import numpy as np

from parity_tests.kit.cases import Case, Fault
from parity_tests.kit.contract import OPERATIONS, Array, Operation, Record, Static, shape_of, tree_of
from parity_tests.kit.shapes import arguments_by_path
from parity_tests.kit.trees import Tree, leaves, map_leaves

# Sizes that no other vector has: to a cache True is 1, so a `capacity` of 1 met before would let it pass.
DIMS = {"B": 2, "K": 1, "S": 3, "T": 5, "P": 2, "N": 7}
STATICS = {"capacity": 5, "num_speculative_tokens": 1, "block_size": 4, "vocab_size": 9, "early_stop": True}
LETTERS = "BKSTPN"
# Another dtype that an array might come in, and one of 64 bits.
WRONG = {"int32": (np.float32, np.int64), "bool": (np.int32, np.int64), "float32": (np.int32, np.float64)}


def _faults(operation: Operation) -> Iterator[Case]:
    for path, array in arguments_by_path(operation).items():
        yield from _of_array(operation, path, array)
    for argument in operation.arguments:
        if isinstance(argument, Record):
            yield _case(operation, argument.name, "none", f"`{argument.name}` is missing", {argument.name: None})
    for static in operation.statics:
        yield from _of_static(operation, static)


def _of_array(operation: Operation, path: str, array: Array) -> Iterator[Case]:
    good = dict(leaves(_base(operation)))[path]
    wrong, wide = (good.astype(dtype) for dtype in WRONG[array.dtype])
    yield _case(operation, path, wrong.dtype.name, "an array of another dtype", {path: wrong})
    for axis in range(good.ndim):
        longer = np.concatenate([good, good.take([-1], axis)], axis)
        if not _consistent(operation, {path: longer.shape}):
            named = _sharing(operation, path, axis)
            yield _case(operation, path, f"longer-{axis}", "shapes that disagree", {path: longer}, named)
    if "." in path:
        return
    yield _case(operation, path, wide.dtype.name, "a 64-bit array", {path: wide})
    if good.ndim:
        yield _case(operation, path, "list", "a Python list", {path: good.tolist()})
    yield _case(operation, path, "number", "a Python number", {path: 1})
    if array.shape != "...":
        yield _case(operation, path, "rank", "an axis too many", {path: good[..., None]})


def _of_static(operation: Operation, static: Static) -> Iterator[Case]:
    name = static.name
    bad = {"too-small": static.least - 1, "too-large": 2**31, "bool": True, "float": 2.5, "text": "8"}
    if static.default is not None:
        bad = {"number": 1, "zero": 0, "float": 1.0, "text": "no"}
    for label, value in bad.items():
        yield _case(operation, name, label, f"a static of {value!r}", {}, static={name: value})
    if name == "block_size":
        comment, named = "a table with more positions than int32 counts", ("block_size", "block_tables")
        yield _case(operation, name, "positions", comment, {}, named, static={name: 2**30})


def _case(
    operation: Operation,
    path: str,
    label: str,
    comment: str,
    replaced: dict[str, Any],
    named: tuple[str, ...] = (),
    static: dict[str, Any] | None = None,
) -> Case:
    root = path.split(".")[0]
    name = "-".join(("error", operation.name, path, label)).replace(".", "-").replace("_", "-")
    fault = Fault(named or _names(path), () if named or root == path else (root,))
    inputs = _replaced(_base(operation), replaced)
    statics = {entry.name: STATICS[entry.name] for entry in operation.statics} | (static or {})
    return Case(name, operation.name, comment, "contract", statics, inputs, fault=fault)


def _replaced(inputs: Tree, replaced: dict[str, Any]) -> Tree:
    whole = {name: replaced.get(name, value) for name, value in inputs.items()}
    return map_leaves(lambda path, leaf: replaced.get(path, leaf), whole)


def _base(operation: Operation) -> Tree:
    def zeros(array: Array) -> np.ndarray:
        if array.name == "cu_seqlens_q":
            return np.arange(DIMS["B"] + 1, dtype=np.int32)
        return np.zeros(shape_of(array, DIMS), array.dtype)

    return {argument.name: tree_of(argument, zeros) for argument in operation.arguments}


@cache
def _assignments(letters: str) -> list[dict[str, int]]:
    """Every choice of sizes up to one more than in `DIMS`."""
    ranges = [range(DIMS[letter] + 2) for letter in letters]
    return [dict(zip(letters, sizes, strict=True)) for sizes in product(*ranges)]


def _consistent(operation: Operation, replaced: dict[str, tuple[int, ...]]) -> bool:
    """Whether some sizes of the letters give these shapes, so that they are no fault."""
    arrays = arguments_by_path(operation)
    shapes = {path: replaced.get(path, shape_of(array, DIMS)) for path, array in arrays.items()}
    letters = "".join(letter for letter in LETTERS if any(letter in array.shape for array in arrays.values()))
    return any(
        all(array.shape == "..." or shape_of(array, dims) == shapes[path] for path, array in arrays.items())
        for dims in _assignments(letters)
    )


def _sharing(operation: Operation, path: str, axis: int) -> tuple[str, ...]:
    """The arrays that have a letter of this axis too: any of them may be named."""
    arrays = arguments_by_path(operation)
    letters = set(arrays[path].shape.split()[axis]) & set(LETTERS)
    sharing = (_names(path) for path, array in arrays.items() if letters & set(array.shape))
    return tuple(dict.fromkeys(chain.from_iterable(sharing)))


def _names(path: str) -> tuple[str, ...]:
    """What a message may call an array: its name, and inside a record of a record also its path in the outer one."""
    parts = path.split(".")
    return (parts[-1],) if len(parts) < 3 else (parts[-1], ".".join(parts[1:]))


CASES = tuple(chain.from_iterable(_faults(operation) for operation in OPERATIONS.values()))
