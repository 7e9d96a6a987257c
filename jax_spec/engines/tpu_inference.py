"""The step in the names of tpu-inference, as of commit b8692ff0; nothing of that project is needed or copied.

    theirs                                      here                    what differs
    _prepare_async_token_substitution_indices,  substitute_spec_tokens  one row number a request instead of three
    _apply_async_token_substitution,                                    arrays a token; ids behind the last row are 0;
    _substitute_placeholder_token,                                      a carried row of more than K + 1 tokens ends
    _subtract_num_rejected_tokens(_fn)                                  in 0
    concat_last_sampled_tokens_and_draft_tokens (not needed)            the two tables are read as they are
    get_spec_decode_metadata                    spec_metadata           on the device; the host keeps no mirror
    _extract_draft_token_ids                    gather_draft_token_ids  -1 in the padding, theirs reads some token
    extract_last_sampled_tokens                 fields of Acceptance    next_token_ids, num_rejected; no flat array
    _compute_token_indices                      compact_accepted        0 in the tail, theirs runs past the buffer

Under data parallelism their `query_start_loc` is local to a rank: call these inside `jax.shard_map`, where each rank
has its own rows, tables and buffers. They donate the three buffers of the substitution; here the caller's own
`jax.jit(substitute_spec_tokens, donate_argnums=(0, 1, 2))` does.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Int32

from jax_spec._arguments import operation
from jax_spec._assemble import overlay_rows, overlay_tokens
from jax_spec._bounds import clamp_token_indices
from jax_spec._layout import cu_seqlens, row_lens, token_rows
from jax_spec._spans import take
from jax_spec._verify import verify_indices


class SubstitutedTokens(NamedTuple):
    """What the forward reads; from `substitute_spec_tokens`."""

    input_ids: Int32[Array, " T"]
    seq_lens: Int32[Array, " B"]
    positions: Int32[Array, " T"] | Int32[Array, "M T"]


class SpecDecodeMetadata(NamedTuple):
    """The device arrays of theirs; from `spec_metadata`."""

    draft_lengths: Int32[Array, " B"]
    target_logits_indices: Int32[Array, " L"]
    bonus_logits_indices: Int32[Array, " B"]
    final_logits_indices: Int32[Array, " L"]


class CompactedTokens(NamedTuple):
    """The step without its rejected tokens; from `compact_accepted`."""

    token_indices: Int32[Array, " T"]
    query_start_loc: Int32[Array, " B1"]


@operation()
def substitute_spec_tokens(
    input_ids: Int32[Array, " T"],
    seq_lens: Int32[Array, " B"],
    positions: Int32[Array, " T"] | Int32[Array, "M T"],
    query_start_loc: Int32[Array, " B1"],
    last_sampled_tokens: Int32[Array, " S"],
    draft_token_ids: Int32[Array, "S K"],
    num_rejected_tokens: Int32[Array, " S"],
    src_rows: Int32[Array, " B"],
) -> SubstitutedTokens:
    """Puts the last step's tokens where the host left placeholders, and takes its rejections off lengths and positions.

    Args:
        input_ids: staged by the host, int32 `[T]`; placeholders may hold anything.
        seq_lens: counted as if all drafts of the last step had been accepted, int32 `[B]`.
        positions: counted likewise, int32 `[T]`, or `[M, T]` with M rows (M-RoPE has 3).
        query_start_loc: exclusive prefix sum of the row lengths, int32 `[B + 1]`.
        last_sampled_tokens: of each row of the last step, int32 `[S]`.
        draft_token_ids: int32 `[S, K]`.
        num_rejected_tokens: int32 `[S]`.
        src_rows: the row of the last step that each row continues, int32 `[B]`; -1 where the host staged all.

    Returns:
        `SubstitutedTokens`; ids are 0 behind the last row, lengths and positions of other rows are as staged.

    >>> staged, lens, positions = jnp.int32([51, 52, 0, 0, 9]), jnp.int32([2, 24]), jnp.int32([0, 1, 22, 23, 0])
    >>> tables = jnp.int32([100, 200]), jnp.int32([[11], [21]]), jnp.int32([0, 1])
    >>> source = jnp.int32([-1, 1])
    >>> new = substitute_spec_tokens(staged, lens, positions, jnp.int32([0, 2, 4]), *tables, source)
    >>> new.input_ids.tolist(), new.seq_lens.tolist(), new.positions.tolist()
    ([51, 52, 200, 21, 0], [2, 23], [0, 1, 21, 22, 0])
    """
    rejected = overlay_rows(jnp.zeros_like(src_rows), src_rows, num_rejected_tokens)
    rows = token_rows(query_start_loc, capacity=input_ids.size)
    per_token = take(jnp.append(rejected, jnp.int32(0)), rows.row)
    return SubstitutedTokens(
        overlay_tokens(input_ids, rows, src_rows, last_sampled_tokens, draft_token_ids),
        seq_lens - rejected,
        positions - jnp.broadcast_to(per_token, positions.shape),
    )


@operation("num_speculative_tokens", "capacity")
def spec_metadata(
    query_start_loc: Int32[Array, " B1"],
    draft_lengths: Int32[Array, " B"],
    *,
    num_speculative_tokens: int,
    capacity: int,
) -> SpecDecodeMetadata:
    """Which logits to compute and which of them judge a draft, padded with 0.

    Args:
        query_start_loc: exclusive prefix sum of the row lengths, int32 `[B + 1]`.
        draft_lengths: drafts among each row's tokens, int32 `[B]`; 0 for a prompt chunk.
        num_speculative_tokens: K, the most drafts that a row can have.
        capacity: L, their `padded_logits_length`; what does not fit is cut off.

    Returns:
        `SpecDecodeMetadata`.

    >>> found = spec_metadata(jnp.int32([0, 1, 5, 7]), jnp.int32([0, 3, 1]), num_speculative_tokens=3, capacity=8)
    >>> found.final_logits_indices.tolist(), found.target_logits_indices.tolist(), found.bonus_logits_indices.tolist()
    ([0, 1, 2, 3, 4, 5, 6, 0], [1, 2, 3, 5, 0, 0, 0, 0], [0, 4, 6])
    """
    indices = verify_indices(query_start_loc, draft_lengths, num_speculative_tokens=num_speculative_tokens)
    bonus = jnp.where(row_lens(query_start_loc) > 0, indices.bonus_logits_indices, 0)
    logits, targets = (
        jnp.pad(packed[:capacity], (0, max(capacity - packed.size, 0)))
        for packed in (indices.logits_indices, indices.target_logits_indices)
    )
    return SpecDecodeMetadata(indices.num_draft_tokens, targets, bonus, logits)


@operation("capacity")
def compact_accepted(
    query_start_loc: Int32[Array, " B1"], num_rejected_tokens: Int32[Array, " B"], *, capacity: int
) -> CompactedTokens:
    """Where the tokens that count stand, row by row without the rejected ones at each row's end.

    Args:
        query_start_loc: exclusive prefix sum of the row lengths, int32 `[B + 1]`.
        num_rejected_tokens: tokens to leave out at the end of each row, int32 `[B]`.
        capacity: places for token indices, T.

    Returns:
        `CompactedTokens`: flat places in the old buffer, 0 in the tail, and where each row starts among them.

    >>> kept = compact_accepted(jnp.int32([0, 1, 5, 7]), jnp.int32([0, 2, 0]), capacity=8)
    >>> kept.token_indices.tolist(), kept.query_start_loc.tolist()
    ([0, 1, 2, 5, 6, 0, 0, 0], [0, 1, 3, 5])
    """
    kept = cu_seqlens(row_lens(query_start_loc) - num_rejected_tokens)
    row, offset, valid = token_rows(kept, capacity=capacity)
    place = clamp_token_indices(take(query_start_loc, row) + offset, query_start_loc)
    return CompactedTokens(jnp.where(valid, place, 0), kept)
