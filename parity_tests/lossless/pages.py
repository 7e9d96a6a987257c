"""A paged cache of token ids: the simplest cache that a wrong slot, position or block table shows in."""

from typing import Any

import numpy as np

from parity_tests.lossless.frameworks import Framework
from parity_tests.lossless.model import Batch, Sizes

# Stands where no token was written, and in front of the first one.
NOTHING = 0


def empty(framework: Framework, sizes: Sizes) -> Any:
    """A cache in which no slot has been written, int32 `[blocks * block_size]`."""
    return framework.put(np.full(sizes.blocks * sizes.block_size, NOTHING, np.int32))


def store(framework: Framework, cache: Any, batch: Batch) -> Any:
    """The cache with every token of the step in its slot."""
    return framework.write(cache, batch.inputs.slot_mapping, batch.inputs.input_ids)


def read(framework: Framework, cache: Any, batch: Batch, rows: Any, positions: Any, block_size: int) -> Any:
    """The token at a position of the sequence of a row, through its block table; `NOTHING` where there is none.

    Args:
        framework: whose arrays these are.
        cache: from `store`.
        batch: the step.
        rows: int32, any shape; held inside the batch.
        positions: int32 of the same shape.
        block_size: tokens of a block.
    """
    xp, tables = framework.xp, batch.block_tables
    rows = xp.clip(rows, 0, tables.shape[0] - 1)
    there = (positions >= 0) & (positions < tables.shape[1] * block_size)
    inside = xp.where(there, positions, 0)
    slots = tables[rows, inside // block_size] * block_size + inside % block_size
    there = there & (slots >= 0) & (slots < cache.shape[0])
    return xp.where(there, cache[xp.where(there, slots, 0)], NOTHING)
