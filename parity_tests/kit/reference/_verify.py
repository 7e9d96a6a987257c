"""Section 6 for many calls at once."""

import numpy as np

from parity_tests.kit.reference._tables import (
    CuSeqlens,
    PackedDecisions,
    PackedDrafts,
    PackedLogits,
    PerRow,
    PerToken,
    Record,
    take,
)
from parity_tests.kit.reference._tokens import counted, cu_seqlens, row_lens


def verify_indices(cu_seqlens_q: CuSeqlens, num_draft_tokens: PerRow, *, num_speculative_tokens: int) -> Record:
    """The last `n + 1` tokens of every row, packed.

    >>> indices = verify_indices(np.array([[0, 4, 7]]), np.array([[0, 2]]), num_speculative_tokens=2)
    >>> indices["logits_indices"].tolist(), indices["target_logits_indices"].tolist()
    ([[3, 4, 5, 6, 0, 0]], [[1, 2, 0, 0]])
    """
    lens, batch = row_lens(cu_seqlens_q), num_draft_tokens.shape[1]
    most = np.minimum(num_speculative_tokens, np.maximum(lens - 1, 0))
    drafts = np.clip(num_draft_tokens, 0, most).astype(np.int32)
    logits = np.where(lens > 0, drafts + 1, 0)
    cu_drafts, cu_logits = cu_seqlens(drafts), cu_seqlens(logits)
    return {
        "num_draft_tokens": drafts,
        "cu_num_draft_tokens": cu_drafts[:, 1:],
        "cu_num_logits": cu_logits,
        "logits_indices": counted(cu_seqlens_q[:, 1:] - logits, cu_logits, batch * (num_speculative_tokens + 1)),
        "target_logits_indices": counted(cu_logits[:, :-1], cu_drafts, batch * num_speculative_tokens),
        "bonus_logits_indices": np.maximum(cu_logits[:, 1:], 1) - 1,
    }


def gather_draft_token_ids(input_ids: PerToken, indices: Record) -> PackedDrafts:
    """The token behind each logit that judges a draft."""
    position = take(indices["logits_indices"], indices["target_logits_indices"], -1)
    place = np.arange(position.shape[1])
    real = place < indices["num_draft_tokens"].sum(1)[:, None]
    return np.where(real, take(input_ids[:, 1:], position, -1), -1).astype(np.int32)


def accept_greedy(indices: Record, draft_token_ids: PackedDrafts, sampled_token_ids: PackedLogits) -> Record:
    """Drafts that are the target's own choice."""
    accepted = draft_token_ids == take(sampled_token_ids, indices["target_logits_indices"], -1)
    return accept_sampled(indices, draft_token_ids, accepted, sampled_token_ids)


def accept_sampled(
    indices: Record, draft_token_ids: PackedDrafts, accepted: PackedDecisions, sampled_token_ids: PackedLogits
) -> Record:
    """The leading run of every row's accepted drafts, and the token behind it."""
    counts, first_logits = indices["num_draft_tokens"], indices["cu_num_logits"][:, :-1]
    batch = counts.shape[1]
    column = np.arange(draft_token_ids.shape[1] // batch + 1 if batch else 1, dtype=np.int32)
    place = (indices["cu_num_draft_tokens"] - counts)[:, :, None] + column
    drafts = take(draft_token_ids, place, -1)
    kept = take(accepted, place, False) & (column < counts[:, :, None]) & (drafts >= 0)
    run = np.logical_and.accumulate(kept, axis=2).sum(2, dtype=np.int32)
    following = take(sampled_token_ids, first_logits + run, -1)
    next_token_ids = np.where(indices["cu_num_logits"][:, 1:] > first_logits, following, -1)
    ahead = column - run[:, :, None]
    return {
        "num_accepted": run,
        "num_rejected": counts - run,
        "next_token_ids": next_token_ids,
        "output_token_ids": np.where(ahead < 0, drafts, np.where(ahead == 0, next_token_ids[:, :, None], -1)),
    }
