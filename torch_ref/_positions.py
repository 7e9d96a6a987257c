"""Positions of the tokens in their sequences, and the cache slots that belong to them."""

import torch
from jaxtyping import Int32
from torch import Tensor

from torch_ref._arguments import INT32_MAX, Argument, check_arrays, check_static
from torch_ref._indexing import take
from torch_ref._layout import row_lens, token_rows
from torch_ref._types import CuSeqlens, TokenRows


def token_positions(
    cu_seqlens_q: CuSeqlens, num_computed_tokens: Int32[Tensor, " B"], *, capacity: int
) -> Int32[Tensor, " T"]:
    """The position of every token in its sequence; a row that was shortened keeps its first positions.

        row, offset, valid = token_rows(cu_seqlens_q, capacity=capacity)
        out = np.append(num_computed_tokens, 0)[row] + offset

    Args:
        cu_seqlens_q: `[B+1]` starts of the rows, then the total.
        num_computed_tokens: `[B]` tokens of each sequence before this step.
        capacity: `T`, size of the flat buffer in tokens; a total above it truncates.

    Returns:
        `[T]` positions; 0 behind the total.

    Raises:
        ValueError: an array is not an int32 tensor, the shapes disagree, or `capacity` is no int of at least 0.

    >>> cu, computed = torch.tensor([0, 1, 4], dtype=torch.int32), torch.tensor([10, 20], dtype=torch.int32)
    >>> token_positions(cu, computed, capacity=6).tolist()
    [10, 20, 21, 22, 0, 0]
    """
    check_arrays(*_computed_arguments(cu_seqlens_q, num_computed_tokens))
    return positions_at(token_rows(cu_seqlens_q, capacity=capacity), num_computed_tokens)


def seq_lens(cu_seqlens_q: CuSeqlens, num_computed_tokens: Int32[Tensor, " B"]) -> Int32[Tensor, " B"]:
    """The length of every sequence after this step's tokens, and 0 for a row that has none.

        lens = np.maximum(np.diff(cu_seqlens_q), 0)
        out = np.where(lens > 0, num_computed_tokens + lens, 0)

    Args:
        cu_seqlens_q: `[B+1]` starts of the rows, then the total.
        num_computed_tokens: `[B]` tokens of each sequence before this step.

    Returns:
        `[B]` tokens.

    Raises:
        ValueError: an array is not an int32 tensor, or the shapes disagree.

    >>> cu, computed = torch.tensor([0, 1, 1], dtype=torch.int32), torch.tensor([10, 20], dtype=torch.int32)
    >>> seq_lens(cu, computed).tolist()
    [11, 0]
    """
    check_arrays(*_computed_arguments(cu_seqlens_q, num_computed_tokens))
    lens = row_lens(cu_seqlens_q)
    return torch.where(lens > 0, num_computed_tokens + lens, 0)


def slot_mapping(
    cu_seqlens_q: CuSeqlens,
    num_computed_tokens: Int32[Tensor, " B"],
    block_tables: Int32[Tensor, " B P"],
    *,
    capacity: int,
    block_size: int,
) -> Int32[Tensor, " T"]:
    """The slot of the paged cache that every token is written to; with `row` and `position` of a token:

        inside = (0 <= position) & (position < P * block_size)
        block = np.where(inside, block_tables[row, np.where(inside, position, 0) // block_size], -1)
        has_slot = (0 <= block) & (block <= (2**31 - 1) // block_size)
        out = np.where(has_slot, block * block_size + position % block_size, -1)

    Args:
        cu_seqlens_q: `[B+1]` starts of the rows, then the total.
        num_computed_tokens: `[B]` tokens of each sequence before this step.
        block_tables: `[B, P]` pages of each sequence.
        capacity: `T`, size of the flat buffer in tokens; a total above it truncates.
        block_size: tokens of a page.

    Returns:
        `[T]` slots; -1 behind the total, for a position outside the table and for a page that cannot be one.

    Raises:
        ValueError: an array is not an int32 tensor, the shapes disagree, a static is no int, `capacity` is below 0 or
            `block_size` below 1, or `P * block_size` above `2**31 - 1`.

    >>> cu, computed = torch.tensor([0, 3], dtype=torch.int32), torch.tensor([6], dtype=torch.int32)
    >>> slot_mapping(cu, computed, torch.tensor([[5, 9]], dtype=torch.int32), capacity=4, block_size=4).tolist()
    [38, 39, -1, -1]
    """
    arguments = _computed_arguments(cu_seqlens_q, num_computed_tokens)
    check_arrays(*arguments, Argument("block_tables", block_tables, "B P"))
    check_block_size(block_size, block_tables)
    rows = token_rows(cu_seqlens_q, capacity=capacity)
    return slots_at(rows, positions_at(rows, num_computed_tokens), block_tables, block_size=block_size)


def positions_at(rows: TokenRows, num_computed_tokens: Int32[Tensor, " B"]) -> Int32[Tensor, " T"]:
    """`token_positions` where the owners of the positions are known."""
    return take(num_computed_tokens, (rows.row,), 0) + rows.offset


def slots_at(
    rows: TokenRows, positions: Int32[Tensor, " T"], block_tables: Int32[Tensor, " B P"], *, block_size: int
) -> Int32[Tensor, " T"]:
    """`slot_mapping` where the owners of the flat positions and the positions in the sequences are known."""
    # A position outside the table has a page outside it too, and the tail has row `B`: both take -1.
    block = take(block_tables, (rows.row, positions // block_size), -1)
    has_slot = (block >= 0) & (block <= INT32_MAX // block_size)
    return torch.where(has_slot, block * block_size + positions % block_size, -1)


def check_block_size(block_size: int, block_tables: Int32[Tensor, " B P"]) -> None:
    """`ValueError` unless every position of a sequence that fits the table is an int32."""
    check_static("block_size", block_size, 1)
    pages = block_tables.shape[1]
    if pages * block_size > INT32_MAX:
        raise ValueError(f"`block_size`: got {block_size} with P = {pages}, expected P * block_size <= {INT32_MAX}")


def _computed_arguments(cu_seqlens_q: object, num_computed_tokens: object) -> tuple[Argument, ...]:
    computed = Argument("num_computed_tokens", num_computed_tokens, "B")
    return Argument("cu_seqlens_q", cu_seqlens_q, "B+1"), computed
