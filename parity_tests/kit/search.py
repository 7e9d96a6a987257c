"""The seeded random search: any number of cases of an operation, over the shapes that serving uses."""

import numpy as np

from parity_tests.kit import oracle
from parity_tests.kit.cases import Case
from parity_tests.kit.contract import OPERATIONS, Operation
from parity_tests.kit.draw import SHAPES, draw

HOSTILE = 0.3


def search_cases(operation: Operation, count: int, seed: int) -> list[Case]:
    """`count` cases with the oracle's values; the same seed gives the same cases, whatever else is searched."""
    rng = np.random.default_rng([seed, list(OPERATIONS).index(operation.name)])
    shapes = [dims for dims, n in zip(SHAPES, _shares(count), strict=True) for _ in range(n)]
    return [_case(operation, dims, rng, f"search-{seed}-{i}") for i, dims in enumerate(shapes)]


def _shares(count: int) -> list[int]:
    """`count` split by the weights of the shapes, to the last one."""
    ends = np.cumsum([dims["weight"] for dims in SHAPES])
    return np.diff(ends * count // ends[-1], prepend=0).tolist()


def _case(operation: Operation, dims: dict[str, int], rng: np.random.Generator, name: str) -> Case:
    hostile = bool(rng.random() < HOSTILE)
    inputs, static = draw(operation, dims, rng, hostile=hostile)
    expected = oracle.evaluate(operation.name, inputs, static)
    comment = "random search, hostile values" if hostile else "random search"
    return Case(name, operation.name, comment, "contract", static, inputs, expected)
