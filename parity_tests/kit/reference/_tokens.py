"""Sections 3, 4, 5 and 7 for many calls at once."""

import numpy as np
from jaxtyping import Int32

from parity_tests.kit.reference._tables import (
    AnyShape,
    BlockTables,
    CuSeqlens,
    PerRow,
    PerSlot,
    PerToken,
    Record,
    RowDrafts,
    SlotDrafts,
    inside,
    take,
)

INT_MAX = 2**31 - 1


def cu_seqlens(query_lens: PerRow) -> CuSeqlens:
    """Exclusive prefix sums; a negative length counts as 0.

    >>> cu_seqlens(np.array([[1, 4, 2]], np.int32)).tolist()
    [[0, 1, 5, 7]]
    """
    return np.pad(np.cumsum(np.maximum(query_lens, 0), axis=1, dtype=np.int32), ((0, 0), (1, 0)))


def token_rows(cu_seqlens_q: CuSeqlens, *, capacity: int) -> Record:
    """Row and offset of every position; every position is compared with every end.

    >>> token_rows(np.array([[0, 1, 3]], np.int32), capacity=4)["row"].tolist()
    [[0, 1, 1, 2]]
    """
    position = np.arange(capacity, dtype=np.int32)
    valid = position < cu_seqlens_q[:, -1:]
    ended = (cu_seqlens_q[:, 1:, None] <= position).sum(1, dtype=np.int32)
    row = np.where(valid, ended, np.int32(cu_seqlens_q.shape[1] - 1))
    return {"row": row, "offset": np.where(valid, position - take(cu_seqlens_q, row, 0), 0), "valid": valid}


def assemble_input_ids(
    cu_seqlens_q: CuSeqlens, anchor_token_ids: PerRow, draft_token_ids: RowDrafts, *, capacity: int
) -> PerToken:
    """Anchor and drafts of every row.

    >>> cu, anchors, drafts = np.array([[0, 2]]), np.array([[100]]), np.array([[[11]]])
    >>> assemble_input_ids(cu, anchors, drafts, capacity=3).tolist()
    [[100, 11, 0]]
    """
    rows = token_rows(cu_seqlens_q, capacity=capacity)
    return _speculated(rows["row"], rows["offset"], anchor_token_ids, draft_token_ids)


def overlay_input_ids(
    input_ids: PerToken,
    cu_seqlens_q: CuSeqlens,
    source_rows: PerRow,
    anchor_token_ids: PerSlot,
    draft_token_ids: SlotDrafts,
) -> PerToken:
    """Anchor and drafts over the spans of carried rows."""
    rows = token_rows(cu_seqlens_q, capacity=input_ids.shape[1])
    source = take(source_rows, rows["row"], -1)
    ids = _speculated(source, rows["offset"], anchor_token_ids, draft_token_ids)
    ids = np.where(inside(source, anchor_token_ids.shape[1]), ids, input_ids)
    return np.where(rows["valid"], ids, 0)


def overlay_rows(staged: PerRow, source_rows: PerRow, table: PerSlot) -> PerRow:
    """The table's value for carried rows."""
    return np.where(inside(source_rows, table.shape[1]), take(table, source_rows, 0), staged)


def token_index_bound(cu_seqlens_q: CuSeqlens) -> Int32[np.ndarray, " N"]:
    """The last legal flat position."""
    return np.maximum(cu_seqlens_q[:, -1], 1) - 1


def clamp_token_indices(token_indices: AnyShape, cu_seqlens_q: CuSeqlens) -> AnyShape:
    """Indices between 0 and the bound of their call."""
    bound = token_index_bound(cu_seqlens_q).reshape(-1, *[1] * (token_indices.ndim - 1))
    return np.minimum(np.maximum(token_indices, 0), bound)


def last_token_indices(cu_seqlens_q: CuSeqlens, offsets: PerRow | Int32[np.ndarray, " N"]) -> PerRow:
    """`offsets` before the end of every row, clamped."""
    return clamp_token_indices(cu_seqlens_q[:, 1:] - offsets.reshape(len(offsets), -1), cu_seqlens_q)


def clamp_token_ids(token_ids: AnyShape, *, vocab_size: int) -> AnyShape:
    """Ids between 0 and the last of the vocabulary."""
    return np.clip(token_ids, 0, np.int32(vocab_size - 1))


def token_positions(cu_seqlens_q: CuSeqlens, num_computed_tokens: PerRow, *, capacity: int) -> PerToken:
    """Computed tokens of the row plus offset."""
    return _positions(token_rows(cu_seqlens_q, capacity=capacity), num_computed_tokens)


def seq_lens(cu_seqlens_q: CuSeqlens, num_computed_tokens: PerRow) -> PerRow:
    """Computed tokens plus those of this step."""
    lens = row_lens(cu_seqlens_q)
    return np.where(lens > 0, num_computed_tokens + lens, 0)


def slot_mapping(
    cu_seqlens_q: CuSeqlens, num_computed_tokens: PerRow, block_tables: BlockTables, *, capacity: int, block_size: int
) -> PerToken:
    """The cache slot of every token.

    >>> slot_mapping(np.array([[0, 3]]), np.array([[6]]), np.array([[[5, 9]]]), capacity=4, block_size=4).tolist()
    [[38, 39, -1, -1]]
    """
    rows = token_rows(cu_seqlens_q, capacity=capacity)
    positions, columns = _positions(rows, num_computed_tokens), block_tables.shape[2]
    known = rows["valid"] & inside(positions, columns * block_size)
    place = np.where(known, rows["row"] * columns + positions // block_size, -1)
    block = take(block_tables.reshape(len(block_tables), -1), place, -1)
    has_slot = (block >= 0) & (block <= INT_MAX // block_size)
    return np.where(has_slot, block * np.int32(block_size) + positions % block_size, -1)


def row_lens(cu_seqlens_q: CuSeqlens) -> PerRow:
    """`len_i` of every row."""
    return np.maximum(np.diff(cu_seqlens_q, axis=1), 0)


def counted(first: PerRow, ends: CuSeqlens, capacity: int) -> PerToken:
    """`first`, `first + 1`, ... for every row, packed; 0 behind them."""
    return token_positions(ends, first, capacity=capacity)


def _positions(rows: Record, num_computed_tokens: PerRow) -> PerToken:
    return take(num_computed_tokens, rows["row"], 0) + rows["offset"]


def _speculated(row: PerToken, offset: PerToken, anchor_token_ids: PerSlot, draft_token_ids: SlotDrafts) -> PerToken:
    """The anchor of `row` at offset 0, its drafts behind it, 0 where there is neither."""
    table = np.concatenate([anchor_token_ids[:, :, None], draft_token_ids], axis=2)
    _, height, width = table.shape
    known = inside(row, height) & inside(offset, width)
    return take(table.reshape(len(table), -1), np.where(known, row * np.int32(width) + offset, -1), 0)
