"""Verification: which logits are needed, which drafts they judge, and what was accepted."""

import torch
from jaxtyping import Int32
from torch import Tensor

from torch_ref._arguments import Argument, check_arrays, check_shapes, check_static, indices_arguments, packed_sizes
from torch_ref._indexing import take
from torch_ref._layout import cu_seqlens, row_lens, token_rows
from torch_ref._types import Acceptance, CuSeqlens, PackedDecisions, PackedDrafts, PackedLogits, VerifyIndices


def verify_indices(
    cu_seqlens_q: CuSeqlens, num_draft_tokens: Int32[Tensor, " B"], *, num_speculative_tokens: int
) -> VerifyIndices:
    """Where the target's logits are needed: at the last `n + 1` tokens of each row that verifies `n` drafts.

        lens = np.maximum(np.diff(cu_seqlens_q), 0)
        n = np.clip(num_draft_tokens, 0, np.minimum(K, np.maximum(lens - 1, 0)))
        num_logits = np.where(lens > 0, n + 1, 0)
        logits_indices = np.concatenate([np.arange(end - m, end) for end, m in zip(cu_seqlens_q[1:], num_logits)])

    Args:
        cu_seqlens_q: `[B+1]` starts of the rows, then the total.
        num_draft_tokens: `[B]` drafts that each row verifies; 0 for a prompt chunk.
        num_speculative_tokens: `K`, the most drafts that a row can have.

    Returns:
        `num_draft_tokens[B]`, the clipped `n`, and `cu_num_draft_tokens[B]`, its inclusive prefix sum;
        `cu_num_logits[B+1]`, the exclusive prefix sum of `num_logits`; `logits_indices[B*(K+1)]`, flat positions;
        `target_logits_indices[B*K]` and `bonus_logits_indices[B]`, places within the packed logits: the first `n` of
        each row, and its last. What is packed is padded with 0.

    Raises:
        ValueError: an array is not an int32 tensor, the shapes disagree, or `num_speculative_tokens` is no int of at
            least 0.

    >>> cu, num_draft = torch.tensor([0, 4, 7], dtype=torch.int32), torch.tensor([0, 2], dtype=torch.int32)
    >>> indices = verify_indices(cu, num_draft, num_speculative_tokens=2)
    >>> indices.logits_indices.tolist(), indices.target_logits_indices.tolist(), indices.bonus_logits_indices.tolist()
    ([3, 4, 5, 6, 0, 0], [1, 2, 0, 0], [0, 3])
    """
    arguments = (Argument("cu_seqlens_q", cu_seqlens_q, "B+1"), Argument("num_draft_tokens", num_draft_tokens, "B"))
    rows = check_arrays(*arguments)["B"]
    check_static("num_speculative_tokens", num_speculative_tokens, 0)
    lens = row_lens(cu_seqlens_q)
    drafts = torch.minimum(num_draft_tokens.clamp(min=0), (lens - 1).clamp(0, num_speculative_tokens))
    num_logits = torch.where(lens > 0, drafts + 1, 0)
    cu_drafts, cu_logits = cu_seqlens(drafts), cu_seqlens(num_logits)
    first_logits = cu_seqlens_q[1:] - num_logits
    return VerifyIndices(
        num_draft_tokens=drafts,
        cu_num_draft_tokens=cu_drafts[1:],
        cu_num_logits=cu_logits,
        logits_indices=_packed(cu_logits, first_logits, rows * (num_speculative_tokens + 1)),
        target_logits_indices=_packed(cu_drafts, cu_logits[:-1], rows * num_speculative_tokens),
        bonus_logits_indices=cu_logits[1:].clamp(min=1) - 1,
    )


def gather_draft_token_ids(input_ids: Int32[Tensor, " T"], indices: VerifyIndices) -> PackedDrafts:
    """The drafts under verification, packed: each stands one position behind the logits that judge it.

        position = indices.logits_indices[indices.target_logits_indices] + 1
        is_draft = (np.arange(B * K) < indices.num_draft_tokens.sum()) & (position < T)
        out = np.where(is_draft, input_ids[np.minimum(position, T - 1)], -1)

    Args:
        input_ids: `[T]` token ids of this step.
        indices: the result of `verify_indices`.

    Returns:
        `[B*K]` token ids; -1 in the padding and for a position outside `input_ids`, so that it is never accepted.

    Raises:
        ValueError: an array is not an int32 tensor, or the shapes disagree.

    >>> cu, num_draft = torch.tensor([0, 1, 4], dtype=torch.int32), torch.tensor([0, 2], dtype=torch.int32)
    >>> indices = verify_indices(cu, num_draft, num_speculative_tokens=2)
    >>> gather_draft_token_ids(torch.tensor([100, 200, 21, 22], dtype=torch.int32), indices).tolist()
    [21, 22, -1, -1]
    """
    _check_indices(indices, Argument("input_ids", input_ids, "T"))
    position = take(indices.logits_indices, (indices.target_logits_indices,), -1)
    following = take(input_ids[1:], (position,), -1)  # not `position + 1`, which wraps
    place = torch.arange(following.shape[0], dtype=torch.int32, device=input_ids.device)
    return torch.where(place < indices.num_draft_tokens.sum(dtype=torch.int32), following, -1)


def accept_greedy(indices: VerifyIndices, draft_token_ids: PackedDrafts, sampled_token_ids: PackedLogits) -> Acceptance:
    """`accept_sampled` with a draft accepted where it is the target's own choice.

        accepted = draft_token_ids == sampled_token_ids[indices.target_logits_indices]
        out = accept_sampled(indices, draft_token_ids, accepted, sampled_token_ids)

    Args:
        indices: the result of `verify_indices`.
        draft_token_ids: `[B*K]`, the result of `gather_draft_token_ids`; a negative draft is never accepted.
        sampled_token_ids: `[B*(K+1)]`, the target's argmax at each packed logit.

    Returns:
        See `accept_sampled`.

    Raises:
        ValueError: an array is not an int32 tensor, or the shapes disagree.

    >>> cu, num_draft = torch.tensor([0, 3], dtype=torch.int32), torch.tensor([2], dtype=torch.int32)
    >>> indices = verify_indices(cu, num_draft, num_speculative_tokens=2)
    >>> drafts, argmax = torch.tensor([21, 22], dtype=torch.int32), torch.tensor([21, 99, 98], dtype=torch.int32)
    >>> accept_greedy(indices, drafts, argmax).output_token_ids.tolist()
    [[21, 99, -1]]
    """
    drafts = Argument("draft_token_ids", draft_token_ids, "B*K")
    _check_indices(indices, drafts, Argument("sampled_token_ids", sampled_token_ids, "B*(K+1)"))
    accepted = draft_token_ids == take(sampled_token_ids, (indices.target_logits_indices,), -1)
    return accept_sampled(indices, draft_token_ids, accepted, sampled_token_ids)


def accept_sampled(
    indices: VerifyIndices,
    draft_token_ids: PackedDrafts,
    accepted: PackedDecisions,
    sampled_token_ids: PackedLogits,
) -> Acceptance:
    """Each row's leading run of accepted drafts, and the token that follows it; row `i`, with `n` drafts:

        place, first = indices.cu_num_draft_tokens[i] - n, indices.cu_num_logits[i]
        run = np.cumprod(accepted[place : place + n] & (draft_token_ids[place : place + n] >= 0)).sum()
        next_token = sampled_token_ids[first + run]
        output = np.r_[draft_token_ids[place : place + run], next_token, np.full(K - run, -1)]

    Args:
        indices: the result of `verify_indices`.
        draft_token_ids: `[B*K]`, the result of `gather_draft_token_ids`; a negative draft is never accepted.
        accepted: `[B*K]` bool, a sampler's decision on each draft.
        sampled_token_ids: `[B*(K+1)]`, the recovered or bonus token at each packed logit.

    Returns:
        `num_accepted[B]`, drafts without the token that follows; `num_rejected[B]`, `n - num_accepted`;
        `next_token_ids[B]`, the next anchors; `output_token_ids[B, K+1]`, padded with -1. A row of length 0 has 0, 0,
        -1 and all -1. `K` follows from the shapes and is 0 where `B` is.

    Raises:
        ValueError: an array is not a tensor of its dtype, or the shapes disagree.

    >>> cu, num_draft = torch.tensor([0, 3], dtype=torch.int32), torch.tensor([2], dtype=torch.int32)
    >>> indices = verify_indices(cu, num_draft, num_speculative_tokens=2)
    >>> drafts, sampled = torch.tensor([21, 22], dtype=torch.int32), torch.tensor([40, 41, 42], dtype=torch.int32)
    >>> accept_sampled(indices, drafts, torch.tensor([True, False]), sampled).output_token_ids.tolist()
    [[21, 41, -1]]
    """
    decisions = Argument("accepted", accepted, "B*K", torch.bool)
    drafts_argument = Argument("draft_token_ids", draft_token_ids, "B*K")
    sizes = _check_indices(
        indices, drafts_argument, decisions, Argument("sampled_token_ids", sampled_token_ids, "B*(K+1)")
    )
    counts, first_logits = indices.num_draft_tokens, indices.cu_num_logits[:-1]
    column = torch.arange(sizes["K"] + 1, dtype=torch.int32, device=accepted.device)
    place = (indices.cu_num_draft_tokens - counts)[:, None] + column
    drafts = take(draft_token_ids, (place,), -1)
    kept = take(accepted, (place,), False) & (column < counts[:, None]) & (drafts >= 0)
    num_accepted = kept.cumprod(1, dtype=torch.int32).sum(1, dtype=torch.int32)
    following = take(sampled_token_ids, (first_logits + num_accepted,), -1)
    next_token_ids = torch.where(indices.cu_num_logits[1:] > first_logits, following, -1)
    run = num_accepted[:, None]
    output = torch.where(column < run, drafts, torch.where(column == run, next_token_ids[:, None], -1))
    return Acceptance(num_accepted, counts - num_accepted, next_token_ids, output)


def _packed(cu_counts: CuSeqlens, first: Int32[Tensor, " B"], capacity: int) -> Int32[Tensor, " T"]:
    """`first[i], first[i] + 1, ...` of every row, as many as it has, packed to the front; 0 behind them."""
    rows = token_rows(cu_counts, capacity=capacity)
    return take(first, (rows.row,), 0) + rows.offset


def _check_indices(indices: VerifyIndices, *others: Argument) -> dict[str, int]:
    """The sizes of `indices` and of the arrays beside it; `B` and `B*K` fix the others."""
    fields = indices_arguments(indices)
    by_name = {field.name: field for field in fields}
    sizes = check_shapes(by_name["num_draft_tokens"], by_name["target_logits_indices"])
    columns = sizes["B*K"] // sizes["B"] if sizes["B"] else 0
    return check_arrays(*fields, *others, known=packed_sizes(sizes["B"], columns))
