"""Which logits verification needs, which drafts it judges, and what it accepted."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int32

from jax_spec._arguments import operation
from jax_spec._layout import row_lens
from jax_spec._spans import count_up, prefix_sum, take
from jax_spec._types import Acceptance, VerifyIndices


@operation("num_speculative_tokens")
def verify_indices(
    cu_seqlens_q: Int32[Array, " B1"], num_draft_tokens: Int32[Array, " B"], *, num_speculative_tokens: int
) -> VerifyIndices:
    """Where the logits are that verification needs: those of the last `n + 1` tokens of each row.

    Equivalent NumPy:

        n = np.clip(num_draft_tokens, 0, np.minimum(K, np.maximum(lens - 1, 0)))
        logits_indices = [p for i in range(B) if lens[i] for p in range(cu[i + 1] - n[i] - 1, cu[i + 1])]
        target_logits_indices = [q for i in range(B) for q in range(cu_num_logits[i], cu_num_logits[i] + n[i])]
        bonus_logits_indices = np.maximum(cu_num_logits[1:], 1) - 1

    Args:
        cu_seqlens_q: exclusive prefix sum of the row lengths, int32 `[B + 1]`.
        num_draft_tokens: drafts among each row's tokens, int32 `[B]`; 0 for a prompt chunk whatever its length.
        num_speculative_tokens: K, the most drafts that a row can have.

    Returns:
        `VerifyIndices`, packed to the front in row order with 0 behind.

    >>> cu, drafts = jnp.array([0, 4, 7], jnp.int32), jnp.array([0, 2], jnp.int32)
    >>> verify_indices(cu, drafts, num_speculative_tokens=2).logits_indices.tolist()
    [3, 4, 5, 6, 0, 0]
    """
    rows, columns = num_draft_tokens.size, num_speculative_tokens
    lens = row_lens(cu_seqlens_q)
    drafts = jnp.clip(num_draft_tokens, 0, jnp.minimum(columns, jnp.maximum(lens - 1, 0)))
    logits = jnp.where(lens > 0, drafts + 1, 0)
    draft_ends, logit_ends = prefix_sum(drafts), prefix_sum(logits)
    targets = count_up(logit_ends - logits, drafts, draft_ends, columns + 1)
    return VerifyIndices(
        num_draft_tokens=drafts,
        cu_num_draft_tokens=draft_ends,
        cu_num_logits=jnp.pad(logit_ends, (1, 0)),
        logits_indices=count_up(cu_seqlens_q[1:] - logits, logits, logit_ends, columns + 1),
        target_logits_indices=targets[: rows * columns],
        bonus_logits_indices=jnp.maximum(logit_ends, 1) - 1,
    )


@operation()
def gather_draft_token_ids(input_ids: Int32[Array, " T"], indices: VerifyIndices) -> Int32[Array, " BK"]:
    """The drafts under verification, read back from the buffer that was forwarded.

    Equivalent NumPy:

        position = indices.logits_indices[indices.target_logits_indices] + 1
        real = (np.arange(B * K) < indices.cu_num_draft_tokens[-1]) & (position < T)
        np.where(real, input_ids[np.where(real, position, 0)], -1)

    Args:
        input_ids: the flat buffer, int32 `[T]`.
        indices: from `verify_indices`.

    Returns:
        int32 `[B * K]`, packed in row order; -1 in the padding, so that it is never accepted.

    >>> indices = verify_indices(*(jnp.array(x, jnp.int32) for x in ([0, 1, 4], [0, 2])), num_speculative_tokens=2)
    >>> gather_draft_token_ids(jnp.array([100, 200, 21, 22], jnp.int32), indices).tolist()
    [21, 22, -1, -1]
    """
    places = indices.target_logits_indices.size
    if places == 0 or input_ids.size == 0:
        return jnp.full(places, -1, jnp.int32)
    logit = jnp.clip(indices.target_logits_indices, 0, indices.logits_indices.size - 1)
    position = take(indices.logits_indices, logit) + 1
    real = jnp.arange(places, dtype=jnp.int32) < indices.cu_num_draft_tokens[-1]
    real &= (position >= 0) & (position < input_ids.size)
    return jnp.where(real, take(input_ids, jnp.clip(position, 0, input_ids.size - 1)), -1)


@operation()
def accept_greedy(
    indices: VerifyIndices, draft_token_ids: Int32[Array, " BK"], sampled_token_ids: Int32[Array, " BL"]
) -> Acceptance:
    """Accepts the drafts of each row from the left for as long as they are what the target would have said.

    Equivalent NumPy, for row `i` with its `n` drafts `d` and `n + 1` samples `s`:

        a = next((j for j in range(n) if d[j] < 0 or d[j] != s[j]), n)
        num_accepted[i], num_rejected[i], next_token_ids[i] = a, n - a, s[a]
        output_token_ids[i] = [*d[:a], s[a], -1, ...]

    Args:
        indices: from `verify_indices`.
        draft_token_ids: packed drafts, int32 `[B * K]`, as from `gather_draft_token_ids`; a negative one is rejected.
        sampled_token_ids: the target's argmax at each packed logit, int32 `[B * (K + 1)]`.

    Returns:
        `Acceptance`; a row of length 0 has 0, 0, -1 and all -1.

    >>> indices = verify_indices(*(jnp.array(x, jnp.int32) for x in ([0, 3], [2])), num_speculative_tokens=2)
    >>> result = accept_greedy(indices, jnp.array([21, 22], jnp.int32), jnp.array([21, 99, 98], jnp.int32))
    >>> result.output_token_ids.tolist()
    [[21, 99, -1]]
    """
    target = jnp.clip(indices.target_logits_indices, 0, sampled_token_ids.size - 1)
    accepted = draft_token_ids == take(sampled_token_ids, target)
    return accept_sampled(indices, draft_token_ids, accepted, sampled_token_ids)


@operation()
def accept_sampled(
    indices: VerifyIndices,
    draft_token_ids: Int32[Array, " BK"],
    accepted: Bool[Array, " BK"],
    sampled_token_ids: Int32[Array, " BL"],
) -> Acceptance:
    """`accept_greedy` with the decision on each draft made by any sampler.

    Equivalent NumPy, for row `i` with its `n` drafts `d`, decisions `ok` and `n + 1` samples `s`:

        a = next((j for j in range(n) if d[j] < 0 or not ok[j]), n)
        num_accepted[i], num_rejected[i], next_token_ids[i] = a, n - a, s[a]
        output_token_ids[i] = [*d[:a], s[a], -1, ...]

    Args:
        indices: from `verify_indices`.
        draft_token_ids: packed drafts, int32 `[B * K]`; a negative one is rejected whatever was decided.
        accepted: decision on each packed draft, bool `[B * K]`; the leading run counts.
        sampled_token_ids: recovered or bonus token at each packed logit, int32 `[B * (K + 1)]`.

    Returns:
        `Acceptance`; a row of length 0 has 0, 0, -1 and all -1.

    >>> indices = verify_indices(*(jnp.array(x, jnp.int32) for x in ([0, 3], [2])), num_speculative_tokens=2)
    >>> drafts, sampled = jnp.array([21, 22], jnp.int32), jnp.array([40, 41, 42], jnp.int32)
    >>> accept_sampled(indices, drafts, jnp.array([True, False]), sampled).output_token_ids.tolist()
    [[21, 41, -1]]
    """
    count, logits = indices.num_draft_tokens, indices.cu_num_logits
    columns = draft_token_ids.size // max(count.size, 1)
    starts = indices.cu_num_draft_tokens - count
    drafts = _unpack(draft_token_ids, starts, columns)
    num_accepted = _leading_run(_unpack(accepted, starts, columns) & (drafts >= 0), count)
    sampled = _unpack(sampled_token_ids, logits[:-1] + num_accepted, 1)
    following = jnp.where(logits[1:, None] > logits[:-1, None], sampled, -1)
    ahead = jnp.arange(columns + 1, dtype=jnp.int32)[None, :] - num_accepted[:, None]
    output = jnp.where(ahead < 0, jnp.pad(drafts, ((0, 0), (0, 1))), jnp.where(ahead == 0, following, -1))
    return Acceptance(num_accepted, count - num_accepted, following[:, 0], output)


def _unpack(packed: Array, starts: Int32[Array, " B"], width: int) -> Array:
    """`width` entries for each row, from where it starts; what a row does not own is whatever stands there."""
    place = starts[:, None] + jnp.arange(width, dtype=jnp.int32)[None, :]
    return take(packed, jnp.clip(place, 0, packed.size - 1))


def _leading_run(good: Bool[Array, "B K"], count: Int32[Array, " B"]) -> Int32[Array, " B"]:
    """How many of the first `count` are good before one is not; unrolled, since a reduction is one kernel more."""
    run = jnp.zeros_like(count)
    for column in range(good.shape[1]):
        run += (good[:, column] & (run == column) & (column < count)).astype(jnp.int32)
    return run
