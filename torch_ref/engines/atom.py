"""The step in the names of ATOM, as of commit ffdf3bb5; nothing of that project is needed or copied.

    theirs                               here                       what differs
    fill_deferred_decode_ids             fill_deferred_decode_ids   a new tensor, not a write into `out`; `src` outside
                                                                    the tables counts as negative; a span of more than
                                                                    K + 1 tokens ends in 0; no drafts is `[S, 0]`
    calc_spec_decode_metadata            calc_spec_decode_metadata  from arrays on the device; -1 and 0 behind the end
    num_bonus of the rejection sampler,  verification_counts        the same: the bonus token is not counted, despite
    mtp_k - num_bonus                                               the name
    Drafter.prepare_inputs, and the      anchor_token_indices       one rule for full, shrunk and ragged rows
    offsets for it
    positions of a decode step           decode_positions           0 behind the last row
    schedule_prefix_lengths_tensor,      schedule_verify_lens,      int32, and ties have a rule; an unknown length is
    ragged_verify_len                    bound_query_lens           -1, and a flag says where no length is legal

Rejections count against the full K, even of a row that verified fewer drafts. `src` is a row of the previous batch, any
negative one a new sequence. Ids, lengths and counts are int32; the indices that theirs has as int64 are int64.
"""

from typing import NamedTuple

import torch
from jaxtyping import Int32, Int64
from torch import Tensor

from torch_ref._arguments import Argument, check_arrays, check_static, check_type
from torch_ref._assemble import overlay_input_ids
from torch_ref._bounds import last_token_indices
from torch_ref._layout import row_lens
from torch_ref._positions import token_positions
from torch_ref._types import Acceptance, CuSeqlens, PackedDrafts
from torch_ref._verify import gather_draft_token_ids, verify_indices


class SpecDecodeMetadata(NamedTuple):
    """Their metadata, packed to the front; see `calc_spec_decode_metadata`."""

    draft_token_ids: PackedDrafts
    cu_num_draft_tokens: Int32[Tensor, " B"]
    target_logits_indices: Int64[Tensor, " BK"]
    bonus_logits_indices: Int64[Tensor, " B"]


class VerificationCounts(NamedTuple):
    """Accepted drafts, and what is left of the full K; see `verification_counts`."""

    num_bonus: Int32[Tensor, " B"]
    num_reject: Int32[Tensor, " B"]


def fill_deferred_decode_ids(
    out: Int32[Tensor, " N"],
    cu: CuSeqlens,
    src: Int32[Tensor, " B"],
    prev_token_ids: Int32[Tensor, " S"],
    draft_token_ids: Int32[Tensor, " S K"],
    *,
    graph_bs: int,
    max_seqlen_q: int,
) -> Int32[Tensor, " N"]:
    """The staged ids with the deferred requests' spans filled, and zeros up to the end of what the graph replays.

    Args:
        out: `[N]`, staged by the scheduler; N may be more than the graph reads.
        cu: `[B+1]` starts of the rows, then the total.
        src: `[B]`, row of the previous batch; negative for a new sequence, whose span stays as staged.
        prev_token_ids: `[S]`, what each row of the previous batch sampled last.
        draft_token_ids: `[S, K]`, the drafts that follow it.
        graph_bs: rows of the graph that is replayed.
        max_seqlen_q: tokens of each of them.

    Returns:
        `[N]` token ids; zeros from the total to `graph_bs * max_seqlen_q`, behind that as staged.

    Raises:
        ValueError: an array is not an int32 tensor, shapes disagree, or a size is no int of at least 0.

    >>> def int32(values): return torch.tensor(values, dtype=torch.int32)
    >>> out, cu, src = int32([9, 9, 501, 9, 9, 9]), int32([0, 2, 3]), int32([1, -1])
    >>> previous = int32([100, 200]), int32([[11], [21]])
    >>> fill_deferred_decode_ids(out, cu, src, *previous, graph_bs=2, max_seqlen_q=2).tolist()
    [200, 21, 501, 0, 9, 9]
    """
    check_arrays(
        Argument("out", out, "N"),
        Argument("cu", cu, "B+1"),
        Argument("src", src, "B"),
        Argument("prev_token_ids", prev_token_ids, "S"),
        Argument("draft_token_ids", draft_token_ids, "S K"),
    )
    check_static("graph_bs", graph_bs, 0)
    check_static("max_seqlen_q", max_seqlen_q, 0)
    filled = overlay_input_ids(out, cu, src, prev_token_ids, draft_token_ids)
    width = min(graph_bs * max_seqlen_q, out.shape[0])
    place = torch.arange(out.shape[0], dtype=torch.int32, device=out.device)
    return torch.where(place < cu[-1].clamp(min=width), filled, out)


def calc_spec_decode_metadata(
    input_ids: Int32[Tensor, " T"], cu: CuSeqlens, num_draft_tokens: Int32[Tensor, " B"], *, mtp_k: int
) -> SpecDecodeMetadata:
    """Which drafts are verified, and which of the packed logits judge them.

    Args:
        input_ids: `[T]` ids of this step.
        cu: `[B+1]` starts of the rows, then the total.
        num_draft_tokens: `[B]` drafts of each row; 0 for a prompt chunk.
        mtp_k: K, the most drafts that a row can have.

    Returns:
        `draft_token_ids[B*K]`, -1 behind; `cu_num_draft_tokens[B]`, inclusive; indices as int64, 0 behind.

    Raises:
        ValueError: an array is not an int32 tensor, shapes disagree, or `mtp_k` is no int of at least 0.

    >>> def int32(values): return torch.tensor(values, dtype=torch.int32)
    >>> found = calc_spec_decode_metadata(int32([100, 200, 21, 22]), int32([0, 1, 4]), int32([0, 2]), mtp_k=2)
    >>> found.draft_token_ids.tolist(), found.target_logits_indices.tolist(), found.bonus_logits_indices.tolist()
    ([21, 22, -1, -1], [1, 2, 0, 0], [0, 3])
    """
    rows = Argument("cu", cu, "B+1"), Argument("num_draft_tokens", num_draft_tokens, "B")
    check_arrays(Argument("input_ids", input_ids, "T"), *rows)
    check_static("mtp_k", mtp_k, 0)
    indices = verify_indices(cu, num_draft_tokens, num_speculative_tokens=mtp_k)
    return SpecDecodeMetadata(
        gather_draft_token_ids(input_ids, indices),
        indices.cu_num_draft_tokens,
        indices.target_logits_indices.long(),
        indices.bonus_logits_indices.long(),
    )


def verification_counts(acceptance: Acceptance, *, mtp_k: int) -> VerificationCounts:
    """Their two counts of a row: accepted drafts, and rejections against the full K whatever the row verified.

    >>> row = torch.tensor([1], dtype=torch.int32)
    >>> counts = verification_counts(Acceptance(row, row, row, row[:, None]), mtp_k=3)
    >>> counts.num_bonus.tolist(), counts.num_reject.tolist()
    ([1], [2])
    """
    check_type("`acceptance`", acceptance, Acceptance)
    check_arrays(Argument("num_accepted", acceptance.num_accepted, "B", owner="acceptance"))
    check_static("mtp_k", mtp_k, 0)
    return VerificationCounts(acceptance.num_accepted, mtp_k - acceptance.num_accepted)


def anchor_token_indices(cu: CuSeqlens, num_reject: Int32[Tensor, " B"], *, mtp_k: int) -> Int32[Tensor, " B"]:
    """The flat place whose hidden state seeds the drafter: `mtp_k - num_reject` tokens behind the row's first.

    For a row of `q` tokens their offset from its end is `1 + num_reject - (mtp_k + 1 - q)`, which is this. A prompt
    chunk is not one of these rows: its last token is `last_token_indices(cu, 1)`.

    >>> cu, num_reject = torch.tensor([0, 1, 5, 7], dtype=torch.int32), torch.tensor([3, 2, 2], dtype=torch.int32)
    >>> anchor_token_indices(cu, num_reject, mtp_k=3).tolist()
    [0, 2, 6]
    """
    check_arrays(Argument("cu", cu, "B+1"), Argument("num_reject", num_reject, "B"))
    check_static("mtp_k", mtp_k, 0)
    return last_token_indices(cu, row_lens(cu) - (mtp_k - num_reject))


def decode_positions(cu: CuSeqlens, context_lens: Int32[Tensor, " B"], *, capacity: int) -> Int32[Tensor, " T"]:
    """Position of every token from context lengths that count the tokens of this step; 0 behind the total.

    >>> cu, context_lens = torch.tensor([0, 1, 4], dtype=torch.int32), torch.tensor([11, 23], dtype=torch.int32)
    >>> decode_positions(cu, context_lens, capacity=6).tolist()
    [10, 20, 21, 22, 0, 0]
    """
    check_arrays(Argument("cu", cu, "B+1"), Argument("context_lens", context_lens, "B"))
    return token_positions(cu, context_lens - row_lens(cu), capacity=capacity)
