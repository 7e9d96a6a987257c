"""Lookups and writes in one table for each of many calls: every array has the number of the call as its first axis."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Int32, Shaped

Record = dict[str, Any]
CuSeqlens = Int32[np.ndarray, "N B1"]
PerRow = Int32[np.ndarray, "N B"]
PerSlot = Int32[np.ndarray, "N S"]
PerToken = Int32[np.ndarray, "N T"]
RowDrafts = Int32[np.ndarray, "N B K"]
SlotDrafts = Int32[np.ndarray, "N S K"]
BlockTables = Int32[np.ndarray, "N B P"]
PackedDrafts = Int32[np.ndarray, "N BK"]
PackedDecisions = Bool[np.ndarray, "N BK"]
PackedLogits = Int32[np.ndarray, "N BL"]
AnyShape = Int32[np.ndarray, "N ..."]


def inside(index: np.ndarray, size: int) -> Bool[np.ndarray, "N ..."]:
    """Whether each index is one of a table of that size."""
    return (index >= 0) & (index < size)


def take(table: Shaped[np.ndarray, "N S"], index: Int32[np.ndarray, "N ..."], fill: int) -> np.ndarray:
    """The table's entry for every index that is inside, `fill` for the others.

    >>> take(np.array([[7, 8]]), np.array([[1, -1, 2]]), 0).tolist()
    [[8, 0, 0]]
    """
    size = table.shape[1]
    if size == 0:
        return np.full(index.shape, fill, table.dtype)
    flat = np.clip(index, 0, size - 1).reshape(len(index), -1)
    return np.where(inside(index, size), np.take_along_axis(table, flat, 1).reshape(index.shape), fill)


def put(table: Shaped[np.ndarray, "N S ..."], slots: PerRow, values: Shaped[np.ndarray, "N B ..."]) -> np.ndarray:
    """A copy of the table with every row's value in its slot, if that is inside.

    >>> put(np.array([[7, 8]]), np.array([[1, -1, 2]]), np.array([[4, 5, 6]])).tolist()
    [[7, 4]]
    """
    new = table.copy()
    call, row = np.nonzero(inside(slots, table.shape[1]))
    new[call, slots[call, row]] = values[call, row]
    return new
