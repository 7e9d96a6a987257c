"""Single arrays: what serving would hold there, and what nobody should have put there.

The first axis of every array counts the cases. Only `integers`, `choice`, `permuted` and comparisons of `random` are
drawn, which give the same numbers on every platform.
"""

from typing import NamedTuple

import numpy as np

INT_MIN, INT_MAX = -(2**31), 2**31 - 1


class Source(NamedTuple):
    """What values are drawn from: a generator, the dimensions, the number of ids, whether any int32 may turn up, and
    how many cases there are.
    """

    rng: np.random.Generator
    dims: dict[str, int]
    num_ids: int
    hostile: bool
    cases: int


def draw_source(dims: dict[str, int], rng: np.random.Generator, cases: int, *, hostile: bool) -> Source:
    """One time in four there is a handful of ids: a draft of one row is then often the sampled token of another."""
    return Source(rng, dims, min(dims["vocab_size"], 3 if rng.random() < 0.25 else INT_MAX), hostile, cases)


def chance(source: Source, probability: float, shape: tuple[int, ...] = ()) -> np.ndarray:
    """True with the given probability, for each entry on its own."""
    return np.asarray(source.rng.random(shape) < probability)


def spoiled(source: Source, plausible: np.ndarray) -> np.ndarray:
    """The values as int32; in a hostile case about half of them replaced by boundaries and by any int32."""
    values = plausible.astype(np.int32)
    return np.where(chance(source, 0.5, values.shape), values, wild(source, values.shape)) if source.hostile else values


def wild(source: Source, shape: tuple[int, ...]) -> np.ndarray:
    """Boundaries of everything that a value could be compared with, beside arbitrary int32 values."""
    boundary = source.rng.choice(_boundaries(source.dims), shape)
    anything = source.rng.integers(INT_MIN, INT_MAX, shape, np.int32, endpoint=True)
    return np.where(chance(source, 0.7, shape), boundary, anything)


def token_ids(source: Source, shape: tuple[int, ...]) -> np.ndarray:
    """Ids of the vocabulary."""
    return spoiled(source, source.rng.integers(0, source.num_ids, shape))


def draft_token_ids(source: Source, shape: tuple[int, ...]) -> np.ndarray:
    """Ids of the vocabulary, and now and then the -1 of a drafter that had nothing to propose."""
    ids = source.rng.integers(0, source.num_ids, shape)
    return spoiled(source, np.where(chance(source, 0.05, shape), -1, ids))


def token_counts(source: Source, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of computed tokens, most of them within what the block tables hold and some just about their end."""
    end = source.dims["P"] * source.dims["block_size"]
    inside = source.rng.integers(0, min(end, 2**20) + 1, shape)
    near_end = source.rng.integers(max(end - 4, 0), min(end + 4, INT_MAX) + 1, shape)
    return spoiled(source, np.where(chance(source, 0.15, shape), near_end, inside))


def token_indices(source: Source, shape: tuple[int, ...]) -> np.ndarray:
    """Flat positions, a few of them before or behind the buffer."""
    return spoiled(source, source.rng.integers(-2, source.dims["T"] + 3, shape))


def offsets(source: Source, shape: tuple[int, ...]) -> np.ndarray:
    """Distances from a row's end: one for every row, or now and then a single one for all."""
    given = shape[:1] if chance(source, 0.2) else shape
    return spoiled(source, source.rng.integers(1, source.dims["K"] + 3, given))


def block_tables(source: Source, shape: tuple[int, ...]) -> np.ndarray:
    """Pages of which no two rows share one, and 0 or -1 behind a row's last page."""
    cases, rows, columns = shape
    pages = orders(source, rows * columns).reshape(shape)
    used = source.rng.integers(columns // 2, columns + 1, (cases, rows, 1))
    unused = source.rng.integers(-1, 1, (cases, 1, 1))
    return spoiled(source, np.where(np.arange(columns) < used, pages, unused))


def orders(source: Source, size: int) -> np.ndarray:
    """The numbers below `size` in any order."""
    return source.rng.permuted(np.tile(np.arange(size), (source.cases, 1)), axis=1)


def decisions(source: Source, shape: tuple[int, ...]) -> np.ndarray:
    """A sampler's yes or no to each draft."""
    return chance(source, 0.75, shape)


def _boundaries(dims: dict[str, int]) -> np.ndarray:
    """Each limit that an operation compares with and its neighbours, as far as int32 has them."""
    end, last_block = dims["P"] * dims["block_size"], INT_MAX // dims["block_size"]
    limits = (INT_MIN, 0, INT_MAX, end, -end, last_block, dims["vocab_size"], *(dims[letter] for letter in "BSKT"))
    around = np.add.outer(np.array(limits, np.int64), np.array([-1, 0, 1]))
    return np.clip(around, INT_MIN, INT_MAX).astype(np.int32).ravel()
