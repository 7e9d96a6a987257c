"""Section 7: where every token stands in its sequence and in the cache."""

import numpy as np

from parity_tests.kit.oracle._int32 import INT_MAX, wrap
from parity_tests.kit.oracle._layout import row_lengths, row_spans
from parity_tests.kit.oracle._types import BlockTables, CuSeqlens, PerRow, PerToken


def token_positions(cu_seqlens_q: CuSeqlens, num_computed_tokens: PerRow, *, capacity: int) -> PerToken:
    """The computed tokens of the row plus the place in it; 0 behind the last row.

    >>> cu, computed = np.array([0, 1, 5, 7], np.int32), np.array([10, 20, 30], np.int32)
    >>> token_positions(cu, computed, capacity=8).tolist()
    [10, 20, 21, 22, 23, 30, 31, 0]
    """
    positions = np.zeros(capacity, np.int32)
    spans = row_spans(cu_seqlens_q, capacity)
    for computed, (start, stop) in zip(num_computed_tokens.tolist(), spans, strict=True):
        positions[start:stop] = _row_positions(computed, stop - start)
    return positions


def seq_lens(cu_seqlens_q: CuSeqlens, num_computed_tokens: PerRow) -> PerRow:
    """Each sequence's length after this step; 0 for a row of length 0.

    >>> seq_lens(np.array([0, 1, 1], np.int32), np.array([10, 20], np.int32)).tolist()
    [11, 0]
    """
    rows = zip(num_computed_tokens.tolist(), row_lengths(cu_seqlens_q), strict=True)
    return np.array([wrap(computed + length) if length > 0 else 0 for computed, length in rows], np.int32)


def slot_mapping(
    cu_seqlens_q: CuSeqlens,
    num_computed_tokens: PerRow,
    block_tables: BlockTables,
    *,
    capacity: int,
    block_size: int,
) -> PerToken:
    """The cache slot that each token writes; -1 behind the last row and where the tables hold no page for it.

    >>> cu, computed = np.array([0, 3], np.int32), np.array([6], np.int32)
    >>> slot_mapping(cu, computed, np.array([[5, 9]], np.int32), capacity=4, block_size=4).tolist()
    [38, 39, -1, -1]
    """
    slots = np.full(capacity, -1, np.int32)
    spans = row_spans(cu_seqlens_q, capacity)
    for computed, table, (start, stop) in zip(num_computed_tokens.tolist(), block_tables.tolist(), spans, strict=True):
        slots[start:stop] = [_slot(position, table, block_size) for position in _row_positions(computed, stop - start)]
    return slots


def _row_positions(computed: int, length: int) -> list[int]:
    return [wrap(computed + offset) for offset in range(length)]


def _slot(position: int, table: list[int], block_size: int) -> int:
    if not 0 <= position < len(table) * block_size:
        return -1
    block = table[position // block_size]
    if not 0 <= block <= INT_MAX // block_size:
        return -1
    # The last legal block can still reach past int32 where `block_size` does not divide 2**31.
    return wrap(block * block_size + position % block_size)
