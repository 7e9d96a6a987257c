"""Indices held inside the flat buffer without a host read of its total."""

import jax.numpy as jnp
from jaxtyping import Array, Int32

from jax_spec._arguments import operation


@operation()
def token_index_bound(cu_seqlens_q: Int32[Array, " B1"]) -> Int32[Array, ""]:
    """The last legal flat position; 0 in an empty step, never -1.

    Equivalent NumPy:

        max(cu_seqlens_q[-1], 1) - 1

    Args:
        cu_seqlens_q: exclusive prefix sum of the row lengths, int32 `[B + 1]`.

    Returns:
        int32 scalar.

    >>> int(token_index_bound(jnp.array([0, 1, 5, 7], jnp.int32)))
    6
    """
    return jnp.maximum(cu_seqlens_q[-1], 1) - 1


@operation()
def clamp_token_indices(token_indices: Int32[Array, "..."], cu_seqlens_q: Int32[Array, " B1"]) -> Int32[Array, "..."]:
    """Holds flat positions between 0 and the last one in use.

    Equivalent NumPy:

        np.clip(token_indices, 0, max(cu_seqlens_q[-1], 1) - 1)

    Args:
        token_indices: flat positions, int32 of any shape.
        cu_seqlens_q: exclusive prefix sum of the row lengths, int32 `[B + 1]`.

    Returns:
        int32 of the shape of `token_indices`; 0 everywhere in an empty step. The bound is global: an index inside a
        neighbour's span is left alone.

    Source: ROCm/ATOM, pull request "dspark perf optimization", where the bound was `int(cu_seqlens_q[-1])`.

    >>> indices, cu = jnp.array([-2, 3, 9], jnp.int32), jnp.array([0, 1, 5, 7], jnp.int32)
    >>> clamp_token_indices(indices, cu).tolist()
    [0, 3, 6]
    """
    return jnp.clip(token_indices, 0, token_index_bound(cu_seqlens_q))


@operation()
def last_token_indices(
    cu_seqlens_q: Int32[Array, " B1"], offsets: Int32[Array, " B"] | Int32[Array, ""]
) -> Int32[Array, " B"]:
    """Flat position of the token whose hidden state seeds the drafter, counted from each row's end.

    Equivalent NumPy:

        np.clip(cu_seqlens_q[1:] - offsets, 0, max(cu_seqlens_q[-1], 1) - 1)

    Args:
        cu_seqlens_q: exclusive prefix sum of the row lengths, int32 `[B + 1]`.
        offsets: int32 `[B]`, or a scalar for all rows: 1 for the last token of a prompt chunk, `1 + num_rejected` for
            a verified row.

    Returns:
        int32 `[B]`; for a row of length 0 some legal position, of a neighbour.

    >>> cu, offsets = jnp.array([0, 1, 5, 7], jnp.int32), jnp.array([1, 3, 1], jnp.int32)
    >>> last_token_indices(cu, offsets).tolist()
    [0, 2, 6]
    """
    return clamp_token_indices(cu_seqlens_q[1:] - offsets, cu_seqlens_q)


@operation("vocab_size")
def clamp_token_ids(token_ids: Int32[Array, "..."], *, vocab_size: int) -> Int32[Array, "..."]:
    """Holds ids inside the embedding table: for what the model reads, never for what verification reads.

    Equivalent NumPy:

        np.clip(token_ids, 0, vocab_size - 1)

    Args:
        token_ids: int32 of any shape; -1 stands for no token.
        vocab_size: rows of the embedding table, at least 1.

    Returns:
        int32 of the shape of `token_ids`.

    >>> clamp_token_ids(jnp.array([-1, 5, 99], jnp.int32), vocab_size=50).tolist()
    [0, 5, 49]
    """
    return jnp.clip(token_ids, 0, vocab_size - 1)
