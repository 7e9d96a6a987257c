"""From query lengths to the owner of every position of the flat buffer."""

import torch
from jaxtyping import Int32
from torch import Tensor

from torch_ref._arguments import Argument, check_arrays, check_static
from torch_ref._indexing import take
from torch_ref._types import CuSeqlens, TokenRows


def cu_seqlens(query_lens: Int32[Tensor, " B"]) -> Int32[Tensor, " B+1"]:
    """Exclusive prefix sum of the query lengths: where each row starts, and the total behind the last one.

        lens = np.maximum(query_lens, 0)
        out = np.concatenate([[0], np.cumsum(lens)]).astype(np.int32)

    Args:
        query_lens: `[B]` tokens of each row; a negative length counts as 0.

    Returns:
        `[B+1]` flat positions; the sum wraps above `2**31 - 1`.

    Raises:
        ValueError: `query_lens` is not an int32 tensor of rank 1.

    >>> cu_seqlens(torch.tensor([1, 4, 2], dtype=torch.int32)).tolist()
    [0, 1, 5, 7]
    """
    check_arrays(Argument("query_lens", query_lens, "B"))
    ends = query_lens.clamp(min=0).cumsum(0, dtype=torch.int32)
    return torch.cat([query_lens.new_zeros(1), ends])


def token_rows(cu_seqlens_q: CuSeqlens, *, capacity: int) -> TokenRows:
    """Which row owns each flat position, and at which offset of that row it lies.

        t = np.arange(capacity)
        valid = t < cu_seqlens_q[-1]
        row = np.where(valid, np.searchsorted(cu_seqlens_q[1:], t, side="right"), B)
        offset = np.where(valid, t - cu_seqlens_q[row], 0)

    Args:
        cu_seqlens_q: `[B+1]` starts of the rows, then the total. A row of length 0 owns nothing, wherever it is.
        capacity: `T`, size of the flat buffer in tokens; a total above it truncates.

    Returns:
        `row[T]`, `offset[T]` and `valid[T]` (bool). In the tail behind the total `row` is `B` and `offset` 0.

    Raises:
        ValueError: `cu_seqlens_q` is not an int32 tensor of rank 1 with an entry, or `capacity` no int of at least 0.

    >>> rows = token_rows(torch.tensor([0, 2, 2, 5], dtype=torch.int32), capacity=6)
    >>> rows.row.tolist(), rows.offset.tolist()
    ([0, 0, 2, 2, 2, 3], [0, 1, 0, 1, 2, 0])
    """
    rows = check_arrays(Argument("cu_seqlens_q", cu_seqlens_q, "B+1"))["B"]
    check_static("capacity", capacity, 0)
    position = torch.arange(capacity, dtype=torch.int32, device=cu_seqlens_q.device)
    valid = position < cu_seqlens_q[-1]
    row = torch.where(valid, _rows_ended(cu_seqlens_q, capacity), rows)
    offset = torch.where(valid, position - take(cu_seqlens_q, (row,), 0), 0)
    return TokenRows(row, offset, valid)


def row_lens(cu_seqlens_q: CuSeqlens) -> Int32[Tensor, " B"]:
    """Tokens of each row, `max(cu_seqlens_q[i+1] - cu_seqlens_q[i], 0)`."""
    return (cu_seqlens_q[1:] - cu_seqlens_q[:-1]).clamp(min=0)


def _rows_ended(cu_seqlens_q: CuSeqlens, capacity: int) -> Int32[Tensor, " T"]:
    """How many rows end at or before each position, which is the row that owns it.

    A histogram and its running sum: `torch.searchsorted` warns under `vmap`, comparing all pairs grows as `B * T`.
    """
    ends = cu_seqlens_q[1:].clamp(0, capacity)
    ending_at = ends.new_zeros(capacity + 1).scatter_add(0, ends.long(), torch.ones_like(ends))
    return ending_at.cumsum(0, dtype=torch.int32)[:capacity]
