"""The step in the names of SGLang's DSpark path, as of commit 692c5f7d; nothing of that project is needed or copied.

    theirs                         here                  what differs
    compact_row_index              compact_row_index     the same values, for any number of requests
    compact_verify_ids             compact_verify_ids    a row of more than K + 1 tokens ends in 0
    build_ragged_verify_window     ragged_verify_window  0 for a position that the pool's table does not have
    accept_greedy, cap_correct_len accept_greedy         argmax instead of logits; no count of what the cap cut off;
    finalize_accept_lens,                                a row of length 0 (there are none in theirs) has 0, 0 and
    build_out_tokens                                     its drafts as they were

`verify_lens` counts a row's tokens, anchor included. `correct_len` counts neither anchor nor bonus token, `commit_lens`
is one more. `out_tokens` keeps the rejected drafts behind the bonus token, where this package writes -1.

Ids, positions and cache places are int64, and stay so: the functions of this package compute which of them goes where,
in int32, and the ids are only looked up and compared.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Int32, Int64
from torch import Tensor

from torch_ref._arguments import Argument, check_arrays, check_static
from torch_ref._assemble import assemble_input_ids
from torch_ref._indexing import take
from torch_ref._layout import cu_seqlens, token_rows
from torch_ref._verify import accept_sampled, gather_draft_token_ids, verify_indices


class CompactRows(NamedTuple):
    """The owner of every compact place; see `compact_row_index`."""

    req_id: Int64[Tensor, " T"]
    within: Int64[Tensor, " T"]
    valid: Bool[Tensor, " T"]


class VerifyWindow(NamedTuple):
    """Where every compact token stands; see `ragged_verify_window`."""

    positions: Int64[Tensor, " T"]
    verify_cache_loc: Int64[Tensor, " T"]


class AcceptedTokens(NamedTuple):
    """What verification made of every row; see `accept_greedy`."""

    correct_len: Int32[Tensor, " B"]
    bonus: Int64[Tensor, " B"]
    commit_lens: Int32[Tensor, " B"]
    new_seq_lens: Int64[Tensor, " B"]
    out_tokens: Int64[Tensor, " B N"]


def compact_row_index(verify_lens: Int32[Tensor, " B"], *, padded_total: int) -> CompactRows:
    """Which request owns each compact place, and at which offset; B and 0 behind the last one.

    >>> rows = compact_row_index(torch.tensor([1, 2], dtype=torch.int32), padded_total=4)
    >>> rows.req_id.tolist(), rows.within.tolist(), rows.valid.tolist()
    ([0, 1, 1, 2], [0, 0, 1, 0], [True, True, True, False])
    """
    check_arrays(Argument("verify_lens", verify_lens, "B"))
    check_static("padded_total", padded_total, 0)
    rows = token_rows(cu_seqlens(verify_lens), capacity=padded_total)
    return CompactRows(rows.row.long(), rows.offset.long(), rows.valid)


def compact_verify_ids(
    draft_block_ids: Int64[Tensor, " B M"],
    draft_tokens: Int64[Tensor, " B K"],
    verify_lens: Int32[Tensor, " B"],
    *,
    padded_total: int,
) -> Int64[Tensor, " T"]:
    """The ids to verify, packed: of each row the anchor, and as many drafts as its length leaves room for.

    Args:
        draft_block_ids: `[B, M]`; the anchors are its first column, the others are not looked at.
        draft_tokens: `[B, K]` drafts.
        verify_lens: `[B]` tokens of each row, the anchor included.
        padded_total: places of the result.

    Returns:
        `[padded_total]` ids, 0 behind the last row; no id is narrowed.

    Raises:
        ValueError: an array has another dtype or shape, or `padded_total` is no int of at least 0.

    >>> blocks, drafts = torch.tensor([[100, 9], [2**40, 9]]), torch.tensor([[11, 12], [21, 22]])
    >>> compact_verify_ids(blocks, drafts, torch.tensor([1, 2], dtype=torch.int32), padded_total=4).tolist()
    [100, 1099511627776, 21, 0]
    """
    check_arrays(
        Argument("draft_block_ids", draft_block_ids, "B M", torch.int64),
        Argument("draft_tokens", draft_tokens, "B K", torch.int64),
        Argument("verify_lens", verify_lens, "B"),
    )
    check_static("padded_total", padded_total, 0)
    _check_anchors("draft_block_ids", draft_block_ids)
    rows = token_rows(cu_seqlens(verify_lens), capacity=padded_total)
    return take(torch.cat([draft_block_ids[:, :1], draft_tokens], 1), (rows.row, rows.offset), 0)


def ragged_verify_window(
    prefix_lens: Int64[Tensor, " B"],
    verify_lens: Int32[Tensor, " B"],
    req_pool_indices: Int64[Tensor, " B"],
    req_to_token: Int32[Tensor, " S C"],
    *,
    padded_total: int,
) -> VerifyWindow:
    """Position and cache place of every compact token; 0 behind the last one, which is a real cache place.

    Args:
        prefix_lens: `[B]` tokens of each sequence before this step.
        verify_lens: `[B]` tokens of each row.
        req_pool_indices: `[B]`, row of the pool's table of each request.
        req_to_token: `[S, C]`, cache place of every position of every request.
        padded_total: places of the result.

    >>> pool = torch.tensor([[0, 0, 0], [40, 41, 42]], dtype=torch.int32)
    >>> lens = torch.tensor([1]), torch.tensor([2], dtype=torch.int32)
    >>> window = ragged_verify_window(*lens, torch.tensor([1]), pool, padded_total=3)
    >>> window.positions.tolist(), window.verify_cache_loc.tolist()
    ([1, 2, 0], [41, 42, 0])
    """
    check_arrays(
        Argument("prefix_lens", prefix_lens, "B", torch.int64),
        Argument("verify_lens", verify_lens, "B"),
        Argument("req_pool_indices", req_pool_indices, "B", torch.int64),
        Argument("req_to_token", req_to_token, "S C"),
    )
    check_static("padded_total", padded_total, 0)
    rows = token_rows(cu_seqlens(verify_lens), capacity=padded_total)
    positions = take(prefix_lens, (rows.row,), 0) + rows.offset
    place = _index(take(req_pool_indices, (rows.row,), -1), positions, table=req_to_token)
    return VerifyWindow(positions, take(req_to_token, place, 0).long())


def accept_greedy(
    candidates: Int64[Tensor, " B N"],
    target_predict: Int64[Tensor, " B N"],
    verify_lens: Int32[Tensor, " B"],
    prefix_lens: Int64[Tensor, " B"],
) -> AcceptedTokens:
    """Greedy acceptance over rows of N = K + 1 tokens, of which the first `verify_lens` were forwarded.

    Args:
        candidates: `[B, N]`, anchor and drafts.
        target_predict: `[B, N]`, the target's argmax behind each of them.
        verify_lens: `[B]`, from 1 to N.
        prefix_lens: `[B]` tokens of each sequence before this step.

    Returns:
        `correct_len[B]` drafts, `bonus[B]`, `commit_lens[B]`, `new_seq_lens[B]` and `out_tokens[B, N]`.

    Raises:
        ValueError: an array has another dtype or shape.

    >>> candidates, predicted = torch.tensor([[200, 21, 22]]), torch.tensor([[21, 99, 98]])
    >>> found = accept_greedy(candidates, predicted, torch.tensor([3], dtype=torch.int32), torch.tensor([20]))
    >>> found.correct_len.tolist(), found.bonus.tolist(), found.commit_lens.tolist(), found.out_tokens.tolist()
    ([1], [99], [2], [[21, 99, 0]])
    """
    check_arrays(
        Argument("candidates", candidates, "B N", torch.int64),
        Argument("target_predict", target_predict, "B N", torch.int64),
        Argument("verify_lens", verify_lens, "B"),
        Argument("prefix_lens", prefix_lens, "B", torch.int64),
    )
    _check_anchors("candidates", candidates)
    rows, width = candidates.shape
    cu, right = cu_seqlens(verify_lens.clamp(max=width)), candidates[:, 1:] == target_predict[:, :-1]
    # Places of the grid stand for the ids: int32, whatever the ids are.
    grid = torch.arange(rows * width, dtype=torch.int32, device=candidates.device).view(rows, width)
    places = assemble_input_ids(cu, grid[:, 0], grid[:, 1:], capacity=rows * width)
    indices = verify_indices(cu, verify_lens - 1, num_speculative_tokens=width - 1)
    drafts, logits = gather_draft_token_ids(places, indices), take(places, (indices.logits_indices,), -1)
    judged = take(right, (drafts // width, drafts % width - 1), False)
    acceptance = accept_sampled(indices, drafts, judged, logits)
    live, correct = verify_lens > 0, acceptance.num_accepted
    bonus = take(target_predict.flatten(), (acceptance.next_token_ids,), 0)
    commit = torch.where(live, correct + 1, 0)
    kept = torch.cat([candidates[:, 1:], torch.zeros_like(candidates[:, :1])], 1)
    is_bonus = (grid % width == correct[:, None]) & live[:, None]
    return AcceptedTokens(correct, bonus, commit, prefix_lens + commit, torch.where(is_bonus, bonus[:, None], kept))


def _check_anchors(name: str, blocks: Tensor) -> None:
    if blocks.shape[1] == 0:
        raise ValueError(f"`{name}`: got no columns, expected at least one, the anchors")


def _index(*values: Int64[Tensor, " T"], table: Tensor) -> tuple[Int32[Tensor, " T"], ...]:
    """Indices into `table` as int32: what is outside it stays outside."""
    return tuple(value.clamp(-1, size).int() for value, size in zip(values, table.shape, strict=True))
