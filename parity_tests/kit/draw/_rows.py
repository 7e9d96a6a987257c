"""The rows of a step: how long they are, where their tokens come from and where their results go."""

from typing import NamedTuple

import numpy as np

from parity_tests.kit.draw._values import INT_MAX, Source, chance, orders, spoiled


class Rows(NamedTuple):
    """What a scheduler decides for each row of the step, under the names of the contract."""

    query_lens: np.ndarray
    cu_seqlens_q: np.ndarray
    source_rows: np.ndarray
    num_draft_tokens: np.ndarray
    slots: np.ndarray


def draw_rows(source: Source) -> Rows:
    """Steps of decode rows, prompt chunks, empty rows and padded rows; hostile, with any lengths that add up."""
    tables, shape = source.dims["S"], (source.cases, source.dims["B"])
    decodes = ~chance(source, min(0.15, 2 / max(source.dims["B"], 1)), shape)
    wanted = _lengths(source, decodes)
    cu_seqlens_q = _prefix_sum(source, wanted)
    lengths = np.diff(cu_seqlens_q, axis=1)
    places = _places(source)
    carried = decodes & (places < tables) & chance(source, 0.9, shape)
    repeats = np.where(_in_few(source, 0.1), source.rng.integers(0, max(tables, 1), shape), places)
    targets = np.where(_in_few(source, 0.5), _places(source), places)
    return Rows(
        query_lens=spoiled(source, wanted),
        cu_seqlens_q=cu_seqlens_q.astype(np.int32),
        source_rows=spoiled(source, np.where(carried, repeats, -1)),
        num_draft_tokens=spoiled(source, np.where(decodes, np.maximum(lengths - 1, 0), 0)),
        slots=_distinct_slots(source, np.where((targets < tables) & chance(source, 0.85, shape), targets, -1)),
    )


def _in_few(source: Source, probability: float) -> np.ndarray:
    """True with the given probability for a case as a whole."""
    return chance(source, probability, (source.cases, 1))


def _places(source: Source) -> np.ndarray:
    """A place for every row, no two the same, among the slots and as many places more as are needed."""
    batch, tables = source.dims["B"], source.dims["S"]
    return orders(source, max(batch, tables))[:, :batch]


def _lengths(source: Source, decodes: np.ndarray) -> np.ndarray:
    rng, batch, columns, capacity = source.rng, *(source.dims[letter] for letter in "BKT")
    shape = decodes.shape
    lengths = 1 + chance(source, 0.64, (*shape, columns)).sum(2)
    lengths = np.where(decodes, lengths, rng.integers(1, capacity // 4 + 3, shape))
    lengths[chance(source, 0.1, shape)] = 0
    padded = rng.integers(0, batch // 3 + 1, (source.cases, 1))
    lengths = np.where(np.arange(batch) < batch - padded, lengths, 0)
    if source.hostile:
        limits = np.array([columns + 1, columns + 2, capacity, capacity + 1, 2**30, INT_MAX])
        odd = _in_few(source, 0.5) & chance(source, 0.2, shape)
        lengths = np.where(odd, rng.choice(limits, shape), lengths)
    return lengths


def _prefix_sum(source: Source, lengths: np.ndarray) -> np.ndarray:
    """Row ends, cut to the capacity where this case is one of the many that fit it."""
    cut = np.where(_in_few(source, 0.6 if source.hostile else 0.15), INT_MAX, source.dims["T"])
    return np.minimum(np.pad(np.cumsum(lengths, axis=1), ((0, 0), (1, 0))), cut)


def _distinct_slots(source: Source, slots: np.ndarray) -> np.ndarray:
    """Slots of which no legal one occurs twice: the contract is silent about two writers."""
    tables, distinct = source.dims["S"], spoiled(source, slots)
    legal = (distinct >= 0) & (distinct < tables)
    taken = legal & np.tril(distinct[:, :, None] == distinct[:, None, :], -1).any(2)
    return np.where(taken, np.where(chance(source, 0.5, slots.shape), tables, -1), distinct).astype(np.int32)
