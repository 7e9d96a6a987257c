"""Hypothesis strategies in layers: dimensions, token ids, lengths, rows, whole cases; and their `hostile_*` twins.

They draw what `kit.draw` draws, with Hypothesis in the place of its random generator: every single choice is
Hypothesis' own, and it takes back those that a difference does not need. Without any choice a step has one token a
row, nothing carried, and all ids 0.
"""

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, NamedTuple, cast

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from parity_tests.kit import oracle
from parity_tests.kit.cases import Case
from parity_tests.kit.contract import OPERATIONS
from parity_tests.kit.draw import Rows, Source, draft_token_ids, draw_rows, draw_source
from parity_tests.kit.draw import draw as draw_case

Dims = dict[str, int]
Draw = Callable[[st.SearchStrategy], Any]
Shape = tuple[int, ...]

# The same examples every time; a JAX program that is compiled on the way takes longer than any deadline.
STEADY = settings(derandomize=True, database=None, deadline=None)

# From simple to less so. In each of them whatever rows are drawn fit the buffer, so that `check_step` accepts a step
# that is not hostile: the longest row has `T // 4 + 2` tokens or `K + 1`.
SHAPES: tuple[Dims, ...] = (
    {"B": 1, "S": 1, "K": 1, "T": 4, "P": 2, "N": 3, "block_size": 2, "vocab_size": 10, "early_stop": True},
    {"B": 2, "S": 3, "K": 2, "T": 8, "P": 4, "N": 7, "block_size": 4, "vocab_size": 1000, "early_stop": False},
    {"B": 3, "S": 2, "K": 3, "T": 24, "P": 8, "N": 10, "block_size": 3, "vocab_size": 2**31 - 1, "early_stop": True},
)


class Choices(NamedTuple):
    """Hypothesis under the names of the methods of NumPy's generator that `kit.draw` calls."""

    integers: Callable[..., np.ndarray]
    random: Callable[..., np.ndarray]
    choice: Callable[..., np.ndarray]
    permuted: Callable[..., np.ndarray]


def dims() -> st.SearchStrategy[Dims]:
    """The dimensions of a step, from a short list: each costs a compilation."""
    return st.sampled_from(SHAPES)


@st.composite
def token_ids(draw: Draw, given: Dims, shape: Shape, *, hostile: bool = False) -> np.ndarray:
    """Ids of the vocabulary and the -1 of a drafter that had nothing to propose; hostile, any int32."""
    return draft_token_ids(_source(draw, given, hostile), shape)


@st.composite
def rows(draw: Draw, given: Dims, *, hostile: bool = False) -> Rows:
    """The rows of a step: decode rows, prompt chunks, empty rows; hostile, any values for which results are defined."""
    return Rows(*(array[0] for array in draw_rows(_source(draw, given, hostile))))


def lengths(given: Dims, *, hostile: bool = False) -> st.SearchStrategy[np.ndarray]:
    """The query lengths of a step; hostile, any int32."""
    return rows(given, hostile=hostile).map(lambda drawn: drawn.query_lens)


@st.composite
def cases(draw: Draw, name: str, given: Dims | None = None, *, hostile: bool = False) -> Case:
    """A call of operation `name` with the oracle's values, of the dimensions `given` or of any."""
    inputs, static = draw_case(OPERATIONS[name], given or draw(dims()), _generator(draw), hostile=hostile)
    return Case("found", name, "found by search", "contract", static, inputs, oracle.evaluate(name, inputs, static))


hostile_token_ids = partial(token_ids, hostile=True)
hostile_lengths = partial(lengths, hostile=True)
hostile_rows = partial(rows, hostile=True)
hostile_cases = partial(cases, hostile=True)


def _source(draw: Draw, given: Dims, hostile: bool) -> Source:
    return draw_source(given, _generator(draw), 1, hostile=hostile)


def _generator(draw: Draw) -> np.random.Generator:
    """What `kit.draw` takes for a generator; the simplest choice is everywhere the one that does nothing."""

    def integers(low: int, high: int, shape: Shape, dtype: type = np.int64, *, endpoint: bool = False) -> np.ndarray:
        return _array(draw, st.integers(low, high if endpoint else high - 1), shape, dtype)

    def random(shape: Shape = ()) -> np.ndarray:
        # Compared with a probability, 1 says no.
        return 1 - integers(0, 1024, shape) / 1024

    def choice(values: np.ndarray, shape: Shape) -> np.ndarray:
        return values[integers(0, len(values), shape)]

    def permuted(table: np.ndarray, axis: int) -> np.ndarray:
        assert axis == table.ndim - 1 == 1
        return np.array([draw(st.permutations(row)) for row in table.tolist()], table.dtype).reshape(table.shape)

    return cast(np.random.Generator, Choices(integers, random, choice, permuted))


def _array(draw: Draw, each: st.SearchStrategy[int], shape: Shape, dtype: type) -> np.ndarray:
    size = prod(shape)
    return np.array(draw(st.lists(each, min_size=size, max_size=size)), dtype).reshape(shape)
