"""Any number of random cases of one operation, a batch at a time."""

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import NamedTuple

import numpy as np

from parity_tests.kit import oracle, reference
from parity_tests.kit.bulk._vmapped import VMAPPED
from parity_tests.kit.cases import Case, dump_case
from parity_tests.kit.compare import compare, describe
from parity_tests.kit.contract import OPERATIONS, Operation, statics_of
from parity_tests.kit.draw import SHAPES, draw_many
from parity_tests.kit.trees import Tree, leaves, map_leaves

# Larger batches are no faster, and leave the cache.
LARGEST_BATCH = 2**14
# Of every so many batches, the last one is hostile.
TURNS = 3
# Differences that are told of one batch.
TOLD = 3

SMALL = tuple(dims for dims in SHAPES if dims["B"] <= 8)
Dims = dict[str, int]


class Found(NamedTuple):
    """What a search of one operation found; the seconds are those of every implementation, compilation included, and
    `all` is everything.
    """

    operation: str
    cases: int
    seconds: dict[str, float]
    differences: list[str]


def search(name: str, implementations: Sequence[str], count: int, seed: int, shapes: Sequence[Dims] = SMALL) -> Found:
    """`count` cases or a few more, of which a third is hostile; the same seed gives the same cases.

    >>> search("cu_seqlens", [], count=100, seed=0).cases
    117
    """
    operation, start = OPERATIONS[name], perf_counter()
    rng = np.random.default_rng([seed, list(OPERATIONS).index(name)])
    seconds, differences, cases = dict.fromkeys(implementations, 0.0), [], 0
    for dims, size, turns in batches(shapes, count):
        static = statics_of(operation, dims)
        functions = {name: VMAPPED[name](operation, static) for name in implementations}
        for turn in range(turns):
            inputs, _ = draw_many(operation, dims, rng, size, hostile=turn % TURNS == TURNS - 1)
            expected = reference.evaluate(name, inputs, static)
            for implementation, function in functions.items():
                began = perf_counter()
                got = function(inputs)
                seconds[implementation] += perf_counter() - began
                found = differing(operation, static, inputs, expected, got)
                differences += [f"{implementation}: {text}" for text in found]
            cases += size
    return Found(name, cases, seconds | {"all": perf_counter() - start}, differences)


def batches(shapes: Sequence[Dims], count: int) -> Iterator[tuple[Dims, int, int]]:
    """For each shape the size of its batches, the same for all so that one program does, and how many there are."""
    total = sum(dims["weight"] for dims in shapes)
    for dims in shapes:
        share = -(-count * dims["weight"] // total)
        turns = TURNS * -(-share // (TURNS * LARGEST_BATCH))
        yield dims, -(-share // turns), turns


def differing(operation: Operation, static: dict[str, int], inputs: Tree, expected: Tree, got: Tree) -> list[str]:
    """The first cases of a batch that differ, as vectors with the oracle's values."""
    pairs = zip(leaves(expected), leaves(got), strict=True)
    calls = [np.flatnonzero(_unequal(left, right)) for (_, left), (_, right) in pairs]
    return [_told(operation, static, inputs, got, call) for call in np.unique(np.concatenate(calls))[:TOLD]]


def _unequal(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Which calls of a batch differ; all of them, where dtype or shape does."""
    if left.dtype != right.dtype or left.shape != right.shape:
        return np.full(len(left), True)
    return (left != right).reshape(len(left), -1).any(axis=1)


def _told(operation: Operation, static: dict[str, int], inputs: Tree, got: Tree, call: int) -> str:
    given, outcome = (map_leaves(lambda _, leaf: leaf[call, ...], tree) for tree in (inputs, got))
    values = oracle.evaluate(operation.name, given, static)
    case = Case("found", operation.name, "found by the bulk search", "contract", static, given, values)
    difference = compare(case, outcome)
    if difference is None:
        return f"{operation.name}: the reference differs from the oracle\n{dump_case(case)}"
    return describe(case, difference)
