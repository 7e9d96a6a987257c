"""Gathers and scatters inside their table whatever the index: on a GPU one that is not kills the context."""

import torch
from jaxtyping import Bool, Int32, Shaped
from torch import Tensor


def in_range(index: Int32[Tensor, "..."], size: int) -> Bool[Tensor, "..."]:
    """`(0 <= index) & (index < size)`."""
    return (index >= 0) & (index < size)


def take(table: Shaped[Tensor, "..."], indices: tuple[Int32[Tensor, "..."], ...], fill: int) -> Shaped[Tensor, "..."]:
    """`table[indices]` where every index is in range, `fill` elsewhere; one index per dimension of `table`."""
    inside = in_range(indices[0], table.shape[0])
    for index, size in zip(indices[1:], table.shape[1:], strict=True):
        inside = inside & in_range(index, size)
    if table.numel() == 0:  # no index into it is legal, not even a clamped one
        return torch.full_like(inside, fill, dtype=table.dtype)
    clamped = tuple(index.clamp(0, size - 1) for index, size in zip(indices, table.shape, strict=True))
    return torch.where(inside, table[clamped], fill)


def put_rows(
    table: Int32[Tensor, " S *columns"], slots: Int32[Tensor, " B"], rows: Int32[Tensor, " B *columns"]
) -> Int32[Tensor, " S *columns"]:
    """A copy of `table` with `rows[i]` at `slots[i]` where that is in range; the other rows are dropped."""
    size = table.shape[0]
    # One row more swallows what is dropped: a boolean mask would need its count on the host.
    spill = torch.cat([table, table.new_zeros((1, *table.shape[1:]))])
    kept = torch.where(in_range(slots, size), slots, size)
    return spill.index_copy(0, kept.long(), rows)[:size]
