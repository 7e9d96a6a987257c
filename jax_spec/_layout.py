"""Lengths to `cu_seqlens_q`, and from there to the row and offset of every token."""

import jax.numpy as jnp
from jaxtyping import Array, Int32

from jax_spec._arguments import operation
from jax_spec._spans import prefix_sum, rows_of, take
from jax_spec._types import TokenRows


@operation()
def cu_seqlens(query_lens: Int32[Array, " B"]) -> Int32[Array, " B1"]:
    """Exclusive prefix sum of the query lengths; a negative length counts as 0.

    Equivalent NumPy:

        np.concatenate([[0], np.cumsum(np.maximum(query_lens, 0))])

    Args:
        query_lens: tokens of each row in this step, int32 `[B]`; padded rows have 0.

    Returns:
        `cu_seqlens_q`, int32 `[B + 1]`: row `i` owns the flat positions `[cu[i], cu[i + 1])`.

    >>> cu_seqlens(jnp.array([1, 4, 2], jnp.int32)).tolist()
    [0, 1, 5, 7]
    """
    return prefix_sum(jnp.pad(jnp.maximum(query_lens, 0), (1, 0)))


@operation("capacity")
def token_rows(cu_seqlens_q: Int32[Array, " B1"], *, capacity: int) -> TokenRows:
    """Row and offset of every position of the flat buffer.

    Equivalent NumPy:

        t = np.arange(capacity)
        row = np.searchsorted(cu_seqlens_q[1:], t, side="right")
        valid = row < B
        offset = np.where(valid, t - cu_seqlens_q[row], 0)

    Args:
        cu_seqlens_q: int32 `[B + 1]`, as from `cu_seqlens`; a row of length 0 owns nothing.
        capacity: positions of the buffer, T; a total above it is truncated.

    Returns:
        `TokenRows` of `[T]`; positions at and above the total have row B, offset 0 and are not valid.

    >>> token_rows(jnp.array([0, 1, 5, 7], jnp.int32), capacity=8).row.tolist()
    [0, 1, 1, 1, 1, 2, 2, 3]
    """
    position = jnp.arange(capacity, dtype=jnp.int32)
    row = rows_of(cu_seqlens_q[1:], capacity)
    valid = row < cu_seqlens_q.size - 1
    return TokenRows(row, jnp.where(valid, position - take(cu_seqlens_q, row), 0), valid)


def row_lens(cu_seqlens_q: Int32[Array, " B1"]) -> Int32[Array, " B"]:
    """Tokens of each row, never negative."""
    return jnp.maximum(cu_seqlens_q[1:] - cu_seqlens_q[:-1], 0)
