"""The rows of one step: how long they are, where their tokens come from and where their results go."""

from typing import NamedTuple

import numpy as np

from parity_tests.kit.draw._values import INT_MAX, Source, chance, spoiled


class Rows(NamedTuple):
    """What a scheduler decides for each row of the step, under the names of the contract."""

    query_lens: np.ndarray
    cu_seqlens_q: np.ndarray
    source_rows: np.ndarray
    num_draft_tokens: np.ndarray
    slots: np.ndarray


def draw_rows(source: Source) -> Rows:
    """A step of decode rows, prompt chunks, empty rows and padded rows; hostile, with any lengths that add up."""
    rng, batch, tables = source.rng, source.dims["B"], source.dims["S"]
    decodes = ~chance(source, min(0.15, 2 / max(batch, 1)), batch)
    wanted = _lengths(source, decodes)
    cu_seqlens_q = _prefix_sum(source, wanted)
    lengths = np.diff(cu_seqlens_q)
    places = rng.permutation(max(batch, tables))[:batch]
    carried = decodes & (places < tables) & chance(source, 0.9, batch)
    repeats = rng.integers(0, max(tables, 1), batch) if chance(source, 0.1) else places
    targets = places if chance(source, 0.5) else rng.permutation(max(batch, tables))[:batch]
    return Rows(
        query_lens=spoiled(source, wanted),
        cu_seqlens_q=cu_seqlens_q.astype(np.int32),
        source_rows=spoiled(source, np.where(carried, repeats, -1)),
        num_draft_tokens=spoiled(source, np.where(decodes, np.maximum(lengths - 1, 0), 0)),
        slots=_distinct_slots(source, np.where((targets < tables) & chance(source, 0.85, batch), targets, -1)),
    )


def _lengths(source: Source, decodes: np.ndarray) -> np.ndarray:
    rng, batch, columns, capacity = source.rng, *(source.dims[letter] for letter in "BKT")
    lengths = 1 + chance(source, 0.64, (batch, columns)).sum(1)
    lengths = np.where(decodes, lengths, rng.integers(1, capacity // 4 + 3, batch))
    lengths[chance(source, 0.1, batch)] = 0
    lengths[batch - rng.integers(0, batch // 3 + 1) :] = 0
    if source.hostile and chance(source, 0.5):
        limits = np.array([columns + 1, columns + 2, capacity, capacity + 1, 2**30, INT_MAX])
        lengths = np.where(chance(source, 0.2, batch), rng.choice(limits, batch), lengths)
    return lengths


def _prefix_sum(source: Source, lengths: np.ndarray) -> np.ndarray:
    """Row ends, cut to the capacity where this case is one of the many that fit it."""
    cut = source.dims["T"] if chance(source, 0.4 if source.hostile else 0.85) else INT_MAX
    return np.minimum(np.concatenate([[0], np.cumsum(lengths)]), cut)


def _distinct_slots(source: Source, slots: np.ndarray) -> np.ndarray:
    """Slots of which no legal one occurs twice: the contract is silent about two writers."""
    taken: set[int] = set()
    distinct = spoiled(source, slots)
    for i, slot in enumerate(distinct.tolist()):
        if slot in taken:
            distinct[i] = source.dims["S"] if chance(source, 0.5) else -1
        elif 0 <= slot < source.dims["S"]:
            taken.add(slot)
    return distinct
