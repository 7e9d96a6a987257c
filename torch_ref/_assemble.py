"""The flat `input_ids` of a ragged step: anchor and drafts of every row, from scratch or over what the host staged."""

import torch
from jaxtyping import Int32
from torch import Tensor

from torch_ref._arguments import Argument, check_arrays, check_static
from torch_ref._indexing import in_range, take
from torch_ref._layout import token_rows
from torch_ref._types import CuSeqlens, TokenRows


def assemble_input_ids(
    cu_seqlens_q: CuSeqlens,
    anchor_token_ids: Int32[Tensor, " B"],
    draft_token_ids: Int32[Tensor, " B K"],
    *,
    capacity: int,
) -> Int32[Tensor, " T"]:
    """Each row's anchor and then its drafts, packed; 0 behind them, since a captured graph reads all of the buffer.

        row, offset, valid = token_rows(cu_seqlens_q, capacity=capacity)
        ids = np.c_[anchor_token_ids, draft_token_ids, np.zeros((B, T), np.int32)]
        out = np.zeros(T, np.int32)
        out[valid] = ids[row[valid], offset[valid]]

    Args:
        cu_seqlens_q: `[B+1]` starts of the rows, then the total.
        anchor_token_ids: `[B]`, the token that each request produced last.
        draft_token_ids: `[B, K]`; ids are copied verbatim, negative ones included.
        capacity: `T`, size of the flat buffer in tokens; a total above it truncates.

    Returns:
        `[T]` token ids; 0 behind the total, and where a row is longer than `K + 1`.

    Raises:
        ValueError: an array is not an int32 tensor, the shapes disagree, or `capacity` is no int of at least 0.

    >>> anchors = torch.tensor([100, 200], dtype=torch.int32)
    >>> drafts = torch.tensor([[11, 12], [21, 22]], dtype=torch.int32)
    >>> assemble_input_ids(torch.tensor([0, 1, 4], dtype=torch.int32), anchors, drafts, capacity=6).tolist()
    [100, 200, 21, 22, 0, 0]
    """
    check_arrays(*assemble_arguments(cu_seqlens_q, anchor_token_ids, draft_token_ids))
    check_static("capacity", capacity, 0)
    rows = token_rows(cu_seqlens_q, capacity=capacity)
    return _speculated(rows.row, rows.offset, anchor_token_ids, draft_token_ids)


def overlay_input_ids(
    input_ids: Int32[Tensor, " T"],
    cu_seqlens_q: CuSeqlens,
    source_rows: Int32[Tensor, " B"],
    anchor_token_ids: Int32[Tensor, " S"],
    draft_token_ids: Int32[Tensor, " S K"],
) -> Int32[Tensor, " T"]:
    """`assemble_input_ids` for the rows carried over from the last step; the others keep what the host staged.

        row, offset, valid = token_rows(cu_seqlens_q, capacity=T)
        ids = np.c_[anchor_token_ids, draft_token_ids, np.zeros((S, T), np.int32)]
        source = np.append(source_rows, -1)[row]
        carried = (0 <= source) & (source < S)
        out = np.where(valid, input_ids, 0)
        out[carried] = ids[source[carried], offset[carried]]

    Args:
        input_ids: `[T]`, prompt chunks and newly admitted requests already right in it.
        cu_seqlens_q: `[B+1]` starts of the rows, then the total.
        source_rows: `[B]`, the row of the tables that a carried row reads; out of `[0, S)` the row is not carried.
        anchor_token_ids: `[S]`, the token that each request produced last.
        draft_token_ids: `[S, K]`; ids are copied verbatim, negative ones included.

    Returns:
        `[T]` token ids; 0 behind the total, and where a carried row is longer than `K + 1`.

    Raises:
        ValueError: an array is not an int32 tensor, or the shapes disagree.

    Source: https://github.com/ROCm/ATOM/pull/1771, where rows interleave.

    >>> staged, cu = torch.tensor([0, 0, 51, 52, 9], dtype=torch.int32), torch.tensor([0, 2, 4], dtype=torch.int32)
    >>> anchors, drafts = torch.tensor([100], dtype=torch.int32), torch.tensor([[11]], dtype=torch.int32)
    >>> overlay_input_ids(staged, cu, torch.tensor([0, -1], dtype=torch.int32), anchors, drafts).tolist()
    [100, 11, 51, 52, 0]
    """
    check_arrays(*overlay_arguments(input_ids, cu_seqlens_q, source_rows, anchor_token_ids, draft_token_ids))
    rows = token_rows(cu_seqlens_q, capacity=input_ids.shape[0])
    return overlay_at(rows, input_ids, source_rows, anchor_token_ids, draft_token_ids)


def overlay_input_ids_donated(
    input_ids: Int32[Tensor, " T"],
    cu_seqlens_q: CuSeqlens,
    source_rows: Int32[Tensor, " B"],
    anchor_token_ids: Int32[Tensor, " S"],
    draft_token_ids: Int32[Tensor, " S K"],
) -> Int32[Tensor, " T"]:
    """`overlay_input_ids`, written into `input_ids`.

        input_ids[:] = overlay_input_ids(input_ids, cu_seqlens_q, source_rows, anchor_token_ids, draft_token_ids)

    Args:
        input_ids: `[T]`, prompt chunks and newly admitted requests already right in it; overwritten.
        cu_seqlens_q: `[B+1]` starts of the rows, then the total.
        source_rows: `[B]`, the row of the tables that a carried row reads; out of `[0, S)` the row is not carried.
        anchor_token_ids: `[S]`, the token that each request produced last.
        draft_token_ids: `[S, K]`; ids are copied verbatim, negative ones included.

    Returns:
        `input_ids` itself.

    Raises:
        ValueError: an array is not an int32 tensor, or the shapes disagree.

    >>> staged, cu = torch.tensor([0, 7], dtype=torch.int32), torch.tensor([0, 1], dtype=torch.int32)
    >>> anchors, drafts = torch.tensor([100], dtype=torch.int32), torch.tensor([[11]], dtype=torch.int32)
    >>> overlay_input_ids_donated(staged, cu, torch.tensor([0], dtype=torch.int32), anchors, drafts) is staged
    True
    >>> staged.tolist()
    [100, 0]
    """
    overlaid = overlay_input_ids(input_ids, cu_seqlens_q, source_rows, anchor_token_ids, draft_token_ids)
    return input_ids.copy_(overlaid)


def overlay_rows(
    staged: Int32[Tensor, " B"], source_rows: Int32[Tensor, " B"], table: Int32[Tensor, " S"]
) -> Int32[Tensor, " B"]:
    """One value a row: from the table where the row is carried, else what the host staged.

        carried = (0 <= source_rows) & (source_rows < S)
        out = staged.copy()
        out[carried] = table[source_rows[carried]]

    Args:
        staged: `[B]` values of the rows that are not carried.
        source_rows: `[B]`, the row of the table that a carried row reads; out of `[0, S)` the row is not carried.
        table: `[S]` values from the last step.

    Returns:
        `[B]` values.

    Raises:
        ValueError: an array is not an int32 tensor, or the shapes disagree.

    >>> staged, table = torch.tensor([7, 8], dtype=torch.int32), torch.tensor([30, 40], dtype=torch.int32)
    >>> overlay_rows(staged, torch.tensor([1, -1], dtype=torch.int32), table).tolist()
    [40, 8]
    """
    check_arrays(
        Argument("staged", staged, "B"), Argument("source_rows", source_rows, "B"), Argument("table", table, "S")
    )
    return torch.where(in_range(source_rows, table.shape[0]), take(table, (source_rows,), 0), staged)


def overlay_at(
    rows: TokenRows,
    input_ids: Int32[Tensor, " T"],
    source_rows: Int32[Tensor, " B"],
    anchor_token_ids: Int32[Tensor, " S"],
    draft_token_ids: Int32[Tensor, " S K"],
) -> Int32[Tensor, " T"]:
    """`overlay_input_ids` where the owners of the positions are known."""
    source = take(source_rows, (rows.row,), -1)
    carried = in_range(source, anchor_token_ids.shape[0])
    ids = torch.where(carried, _speculated(source, rows.offset, anchor_token_ids, draft_token_ids), input_ids)
    return torch.where(rows.valid, ids, 0)


def assemble_arguments(cu_seqlens_q: object, anchor_token_ids: object, draft_token_ids: object) -> tuple[Argument, ...]:
    """What `assemble_input_ids` expects of its arrays."""
    return (
        Argument("cu_seqlens_q", cu_seqlens_q, "B+1"),
        Argument("anchor_token_ids", anchor_token_ids, "B"),
        Argument("draft_token_ids", draft_token_ids, "B K"),
    )


def overlay_arguments(
    input_ids: object, cu_seqlens_q: object, source_rows: object, anchor_token_ids: object, draft_token_ids: object
) -> tuple[Argument, ...]:
    """What `overlay_input_ids` expects of its arrays."""
    return (
        Argument("input_ids", input_ids, "T"),
        Argument("cu_seqlens_q", cu_seqlens_q, "B+1"),
        Argument("source_rows", source_rows, "B"),
        Argument("anchor_token_ids", anchor_token_ids, "S"),
        Argument("draft_token_ids", draft_token_ids, "S K"),
    )


def _speculated(
    row: Int32[Tensor, " T"],
    offset: Int32[Tensor, " T"],
    anchor_token_ids: Int32[Tensor, " S"],
    draft_token_ids: Int32[Tensor, " S K"],
) -> Int32[Tensor, " T"]:
    """The anchor of `row` at offset 0, its draft `offset - 1` behind it, 0 where the tables hold neither."""
    anchors, drafts = take(anchor_token_ids, (row,), 0), take(draft_token_ids, (row, offset - 1), 0)
    return torch.where(offset == 0, anchors, drafts)
