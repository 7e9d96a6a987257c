"""Section 6: which logits the step needs, and which drafts they accept."""

import numpy as np

from parity_tests.kit.oracle._layout import row_lengths
from parity_tests.kit.oracle._types import (
    CuSeqlens,
    PackedDecisions,
    PackedDrafts,
    PackedLogits,
    PerRow,
    PerToken,
    Record,
)


def verify_indices(cu_seqlens_q: CuSeqlens, num_draft_tokens: PerRow, *, num_speculative_tokens: int) -> Record:
    """The packed logits of the step: each row's last `n_i + 1` tokens, in row order.

    >>> cu, drafts = np.array([0, 4, 7], np.int32), np.array([0, 2], np.int32)
    >>> indices = verify_indices(cu, drafts, num_speculative_tokens=2)
    >>> indices["logits_indices"].tolist(), indices["target_logits_indices"].tolist()
    ([3, 4, 5, 6, 0, 0], [1, 2, 0, 0])
    """
    clipped, drafts_so_far, logits_so_far = [], [], [0]
    logits: list[int] = []
    targets: list[int] = []
    ends = cu_seqlens_q.tolist()[1:]
    for end, length, asked in zip(ends, row_lengths(cu_seqlens_q), num_draft_tokens.tolist(), strict=True):
        n = min(max(asked, 0), num_speculative_tokens, max(length - 1, 0))
        if length > 0:
            targets += range(len(logits), len(logits) + n)
            logits += range(end - n - 1, end)
        clipped.append(n)
        drafts_so_far.append(len(targets))
        logits_so_far.append(len(logits))
    return {
        "num_draft_tokens": np.array(clipped, np.int32),
        "cu_num_draft_tokens": np.array(drafts_so_far, np.int32),
        "cu_num_logits": np.array(logits_so_far, np.int32),
        "logits_indices": _padded(logits, len(ends) * (num_speculative_tokens + 1)),
        "target_logits_indices": _padded(targets, len(ends) * num_speculative_tokens),
        "bonus_logits_indices": np.array([max(count, 1) - 1 for count in logits_so_far[1:]], np.int32),
    }


def gather_draft_token_ids(input_ids: PerToken, indices: Record) -> PackedDrafts:
    """The drafts under verification, packed; -1 in the padding and where the buffer was too short to hold one.

    >>> indices = verify_indices(np.array([0, 3], np.int32), np.array([1], np.int32), num_speculative_tokens=2)
    >>> gather_draft_token_ids(np.array([51, 52, 53], np.int32), indices).tolist()
    [53, -1]
    """
    ids, logits = input_ids.tolist(), indices["logits_indices"].tolist()
    drafts = np.full(len(indices["target_logits_indices"]), -1, np.int32)
    targets = indices["target_logits_indices"].tolist()
    for place in range(indices["num_draft_tokens"].sum()):
        position = logits[targets[place]] + 1
        if position < len(ids):
            drafts[place] = ids[position]
    return drafts


def accept_greedy(indices: Record, draft_token_ids: PackedDrafts, sampled_token_ids: PackedLogits) -> Record:
    """Acceptance where a draft counts if it is the target's own argmax at its place.

    >>> indices = verify_indices(np.array([0, 3], np.int32), np.array([2], np.int32), num_speculative_tokens=2)
    >>> acceptance = accept_greedy(indices, np.array([21, 22], np.int32), np.array([21, 99, 98], np.int32))
    >>> acceptance["output_token_ids"].tolist()
    [[21, 99, -1]]
    """
    accepted = draft_token_ids == sampled_token_ids[indices["target_logits_indices"]]
    return accept_sampled(indices, draft_token_ids, accepted, sampled_token_ids)


def accept_sampled(
    indices: Record, draft_token_ids: PackedDrafts, accepted: PackedDecisions, sampled_token_ids: PackedLogits
) -> Record:
    """Acceptance where any sampler has decided per draft: the leading run counts, then comes the sampled token.

    >>> indices = verify_indices(np.array([0, 3], np.int32), np.array([2], np.int32), num_speculative_tokens=2)
    >>> drafts, decisions = np.array([21, 22], np.int32), np.array([True, False])
    >>> accept_sampled(indices, drafts, decisions, np.array([5, 6, 7], np.int32))["output_token_ids"].tolist()
    [[21, 6, -1]]
    """
    batch = len(indices["num_draft_tokens"])
    columns = len(sampled_token_ids) // batch if batch else 1
    num_accepted = np.zeros(batch, np.int32)
    next_token_ids = np.full(batch, -1, np.int32)
    output_token_ids = np.full((batch, columns), -1, np.int32)
    drafts, decisions, first_logits = draft_token_ids.tolist(), accepted.tolist(), indices["cu_num_logits"].tolist()
    first_draft = 0
    for i, n in enumerate(indices["num_draft_tokens"].tolist()):
        if first_logits[i] < first_logits[i + 1]:
            row = slice(first_draft, first_draft + n)
            run = _leading_run(drafts[row], decisions[row])
            num_accepted[i] = run
            next_token_ids[i] = sampled_token_ids[first_logits[i] + run]
            output_token_ids[i, : run + 1] = [*drafts[row][:run], next_token_ids[i]]
        first_draft += n
    return {
        "num_accepted": num_accepted,
        "num_rejected": indices["num_draft_tokens"] - num_accepted,
        "next_token_ids": next_token_ids,
        "output_token_ids": output_token_ids,
    }


def _leading_run(drafts: list[int], decisions: list[bool]) -> int:
    for place, (draft, accepted) in enumerate(zip(drafts, decisions, strict=True)):
        if draft < 0 or not accepted:
            return place
    return len(drafts)


def _padded(values: list[int], size: int) -> np.ndarray:
    return np.array(values + [0] * (size - len(values)), np.int32)
