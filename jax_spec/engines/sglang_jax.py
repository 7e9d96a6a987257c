"""The step in the names of sglang-jax, as of commit cddbf6f1; nothing of that project is needed or copied.

    theirs                                    here                 what differs
    _build_chain_verify_arrays,               ragged_chain_verify  a length a row (`verify_lens`), not bs * n; with all
    build_chain_verify_inputs(_device)                             of them n and capacity bs * n the two arrays are
                                                                   theirs; the tree's `retrive_*` are left out
    cu_q_lens of _make_target_verify_metadata ragged_chain_verify  the sum of `verify_lens`, not of n or 0
    _verify_greedy, dflash_greedy_verify      ragged_chain_accept  argmax by token instead of logits; the same lengths
    gather_spec_relay_buffers                 gather_relay         0 for an index outside, theirs wraps or clamps
    update_spec_relay_buffers                 update_relay         hidden states are left out

Here an index outside the buffers, such as -1, is dropped; theirs has `valid_mask` for that: `jnp.where(valid_mask,
future_indices, -1)`. `draft_token_num` is K + 1. With `dp_size` ranks, call these inside `jax.shard_map`, where each
rank has its own rows, buffers and tokens: the `cu_q_lens` of the ranks, one behind the other, are theirs.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Int32

from jax_spec._arguments import operation
from jax_spec._assemble import assemble_input_ids, is_row_of
from jax_spec._bounds import last_token_indices
from jax_spec._layout import cu_seqlens, row_lens
from jax_spec._positions import token_positions
from jax_spec._spans import put, take
from jax_spec._verify import accept_greedy, gather_draft_token_ids, verify_indices


class ChainVerify(NamedTuple):
    """What the target forward reads; from `ragged_chain_verify`."""

    draft_tokens: Int32[Array, " T"]
    positions: Int32[Array, " T"]
    cu_q_lens: Int32[Array, " B1"]
    logits_indices: Int32[Array, " B"]


class ChainAccept(NamedTuple):
    """What the target accepted; from `ragged_chain_accept`."""

    accept_lens: Int32[Array, " B"]
    verified_id: Int32[Array, " B"]


class RelayBuffers(NamedTuple):
    """What stays on the device from batch to batch, by request slot."""

    topk_index: Int32[Array, "S K"]
    verified_id: Int32[Array, " S"]
    new_seq_lens: Int32[Array, " S"]


@operation("capacity")
def ragged_chain_verify(
    verified_id: Int32[Array, " B"],
    token_list: Int32[Array, "B K"],
    seq_lens: Int32[Array, " B"],
    verify_lens: Int32[Array, " B"],
    *,
    capacity: int,
) -> ChainVerify:
    """Packs each row's verified token and as many of its drafts as it verifies.

    Args:
        verified_id: the token that each row produced last, int32 `[B]`.
        token_list: drafts that follow it, int32 `[B, K]`.
        seq_lens: position of the verified token, int32 `[B]`.
        verify_lens: tokens of each row, the verified one included, int32 `[B]`: one more than the drafts that
            `schedule_verify_lens` gives; 0 for a slot that is not in use.
        capacity: places in the flat arrays, T.

    Returns:
        `ChainVerify`; 0 behind the last row. `logits_indices` is the place of each row's last token.

    >>> arrays = jnp.int32([100, 200]), jnp.int32([[11, 12], [21, 22]]), jnp.int32([10, 20]), jnp.int32([1, 3])
    >>> chain = ragged_chain_verify(*arrays, capacity=6)
    >>> chain.draft_tokens.tolist(), chain.positions.tolist(), chain.cu_q_lens.tolist()
    ([100, 200, 21, 22, 0, 0], [10, 20, 21, 22, 0, 0], [0, 1, 4])
    """
    cu = cu_seqlens(verify_lens)
    return ChainVerify(
        assemble_input_ids(cu, verified_id, token_list, capacity=capacity),
        token_positions(cu, seq_lens, capacity=capacity),
        cu,
        last_token_indices(cu, jnp.ones_like(verify_lens)),
    )


@operation("num_speculative_tokens")
def ragged_chain_accept(
    draft_tokens: Int32[Array, " T"],
    cu_q_lens: Int32[Array, " B1"],
    target_predict: Int32[Array, " T"],
    *,
    num_speculative_tokens: int,
) -> ChainAccept:
    """How many tokens of each row count, the verified one among them, and the token that comes next.

    Args:
        draft_tokens: as forwarded, int32 `[T]`.
        cu_q_lens: exclusive prefix sum of the row lengths, int32 `[B + 1]`.
        target_predict: the target's argmax at every token, int32 `[T]`.
        num_speculative_tokens: K, one less than `draft_token_num`.

    Returns:
        `ChainAccept`: accepted drafts + 1, and the next verified token; both 0 for a row of length 0.

    >>> tokens, predicted = jnp.int32([100, 200, 21, 22]), jnp.int32([7, 21, 99, 98])
    >>> accepted = ragged_chain_accept(tokens, jnp.int32([0, 1, 4]), predicted, num_speculative_tokens=2)
    >>> accepted.accept_lens.tolist(), accepted.verified_id.tolist()
    ([1, 2], [7, 99])
    """
    lens = row_lens(cu_q_lens)
    indices = verify_indices(cu_q_lens, lens - 1, num_speculative_tokens=num_speculative_tokens)
    place = jnp.clip(indices.logits_indices, 0, target_predict.size)
    sampled = take(jnp.append(target_predict, jnp.int32(0)), place)
    acceptance = accept_greedy(indices, gather_draft_token_ids(draft_tokens, indices), sampled)
    live = lens > 0
    return ChainAccept(jnp.where(live, acceptance.num_accepted + 1, 0), jnp.where(live, acceptance.next_token_ids, 0))


@operation()
def gather_relay(buffers: RelayBuffers, future_indices: Int32[Array, " B"]) -> RelayBuffers:
    """The buffers' rows for the requests of a batch.

    Args:
        buffers: `[S, ...]` each.
        future_indices: slot of each row, int32 `[B]`; outside `0 .. S - 1` none.

    Returns:
        `RelayBuffers` of `[B, ...]`; 0 where a row has no slot.

    >>> buffers = RelayBuffers(jnp.int32([[11], [21]]), jnp.int32([100, 200]), jnp.int32([5, 6]))
    >>> gather_relay(buffers, jnp.int32([1, -1])).verified_id.tolist()
    [200, 0]
    """
    return RelayBuffers(*(_rows(table, future_indices) for table in buffers))


@operation()
def update_relay(
    buffers: RelayBuffers,
    future_indices: Int32[Array, " B"],
    topk_index: Int32[Array, "B K"],
    verified_id: Int32[Array, " B"],
    new_seq_lens: Int32[Array, " B"],
) -> RelayBuffers:
    """The buffers with the rows of a batch written to their slots.

    Args:
        buffers: `[S, ...]` each.
        future_indices: slot of each row, int32 `[B]`, distinct; outside `0 .. S - 1` none.
        topk_index: drafts, int32 `[B, K]`.
        verified_id: int32 `[B]`.
        new_seq_lens: int32 `[B]`.

    Returns:
        `RelayBuffers`; slots that no row has keep what they had.

    >>> buffers = RelayBuffers(jnp.int32([[11], [21]]), jnp.int32([100, 200]), jnp.int32([5, 6]))
    >>> rows = jnp.int32([-1, 0]), jnp.int32([[8], [9]]), jnp.int32([70, 80]), jnp.int32([3, 7])
    >>> update_relay(buffers, *rows).verified_id.tolist()
    [80, 200]
    """
    rows = RelayBuffers(topk_index, verified_id, new_seq_lens)
    return RelayBuffers(*(put(table, future_indices, values) for table, values in zip(buffers, rows, strict=True)))


def _rows(table: Array, index: Int32[Array, " B"]) -> Array:
    """`table[index]`, 0 where that is none of its rows."""
    # The row of zeros behind the last one keeps an empty table legal too.
    padded = jnp.concatenate([table, jnp.zeros((1, *table.shape[1:]), table.dtype)])
    return take(padded, jnp.where(is_row_of(table, index), index, table.shape[0]))
