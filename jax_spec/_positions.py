"""Where each token stands in its sequence, and in which cache slot its keys and values go."""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int32

from jax_spec._arguments import LARGEST, operation
from jax_spec._layout import row_lens, token_rows
from jax_spec._spans import take
from jax_spec._types import TokenRows


@operation("capacity")
def token_positions(
    cu_seqlens_q: Int32[Array, " B1"], num_computed_tokens: Int32[Array, " B"], *, capacity: int
) -> Int32[Array, " T"]:
    """Position of every token in its sequence; a shortened row keeps its first positions.

    Equivalent NumPy:

        row, offset, valid = token_rows(cu_seqlens_q, capacity=capacity)
        np.where(valid, np.append(num_computed_tokens, 0)[row] + offset, 0)

    Args:
        cu_seqlens_q: exclusive prefix sum of the row lengths, int32 `[B + 1]`.
        num_computed_tokens: tokens of each row before this step, int32 `[B]`.
        capacity: positions of the flat buffer, T.

    Returns:
        int32 `[T]`, 0 in the tail.

    >>> cu, computed = jnp.array([0, 1, 5, 7], jnp.int32), jnp.array([10, 20, 30], jnp.int32)
    >>> token_positions(cu, computed, capacity=8).tolist()
    [10, 20, 21, 22, 23, 30, 31, 0]
    """
    return positions_of(token_rows(cu_seqlens_q, capacity=capacity), num_computed_tokens)


@operation()
def seq_lens(cu_seqlens_q: Int32[Array, " B1"], num_computed_tokens: Int32[Array, " B"]) -> Int32[Array, " B"]:
    """Length of each sequence with the tokens of this step.

    Equivalent NumPy:

        np.where(lens > 0, num_computed_tokens + lens, 0)

    Args:
        cu_seqlens_q: exclusive prefix sum of the row lengths, int32 `[B + 1]`.
        num_computed_tokens: tokens of each row before this step, int32 `[B]`.

    Returns:
        int32 `[B]`, 0 for a row of length 0.

    >>> cu, computed = jnp.array([0, 1, 5, 5], jnp.int32), jnp.array([10, 20, 30], jnp.int32)
    >>> seq_lens(cu, computed).tolist()
    [11, 24, 0]
    """
    lens = row_lens(cu_seqlens_q)
    return jnp.where(lens > 0, num_computed_tokens + lens, 0)


@operation("capacity", "block_size")
def slot_mapping(
    cu_seqlens_q: Int32[Array, " B1"],
    num_computed_tokens: Int32[Array, " B"],
    block_tables: Int32[Array, "B P"],
    *,
    capacity: int,
    block_size: int,
) -> Int32[Array, " T"]:
    """Slot of the paged cache in which each token's keys and values go.

    Equivalent NumPy, for a position `p` of row `i`:

        block = block_tables[i, p // block_size] if 0 <= p < P * block_size else -1
        block * block_size + p % block_size if 0 <= block <= (2**31 - 1) // block_size else -1

    Args:
        cu_seqlens_q: exclusive prefix sum of the row lengths, int32 `[B + 1]`.
        num_computed_tokens: tokens of each row before this step, int32 `[B]`.
        block_tables: blocks of each row's sequence in order, int32 `[B, P]`.
        capacity: positions of the flat buffer, T.
        block_size: tokens a block; `P * block_size` must fit int32.

    Returns:
        int32 `[T]`; -1 in the tail and wherever the table holds no block: never another sequence's slot.

    >>> cu, computed = jnp.array([0, 2, 3], jnp.int32), jnp.array([3, 4], jnp.int32)
    >>> slot_mapping(cu, computed, jnp.array([[5, 9], [7, 1]], jnp.int32), capacity=4, block_size=4).tolist()
    [23, 36, 4, -1]
    """
    rows = token_rows(cu_seqlens_q, capacity=capacity)
    return slots_of(rows, positions_of(rows, num_computed_tokens), block_tables, block_size)


def positions_of(rows: TokenRows, num_computed_tokens: Int32[Array, " B"]) -> Int32[Array, " T"]:
    """`token_positions` for rows that are located already."""
    computed = take(jnp.append(num_computed_tokens, jnp.int32(0)), rows.row)
    return jnp.where(rows.valid, computed + rows.offset, 0)


def slots_of(
    rows: TokenRows, positions: Int32[Array, " T"], block_tables: Int32[Array, "B P"], block_size: int
) -> Int32[Array, " T"]:
    """`slot_mapping` for rows that are located already."""
    batch, columns = block_tables.shape
    if block_tables.size == 0:
        return jnp.full_like(positions, -1)
    inside = rows.valid & (positions >= 0) & (positions < columns * block_size)
    page = lax.div(jnp.where(inside, positions, 0), jnp.int32(block_size))
    block = take(block_tables, jnp.minimum(rows.row, batch - 1), page)
    inside &= (block >= 0) & (block <= LARGEST // block_size)
    # The same as `block * block_size + positions % block_size`, without a second division.
    return jnp.where(inside, (block - page) * block_size + positions, -1)
