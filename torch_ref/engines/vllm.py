"""The step in the names of vLLM's second model runner, as of commit 003db85c; nothing of it is needed or copied.

    theirs                            here                              what differs
    combine_sampled_and_draft_tokens  combine_sampled_and_draft_tokens  new ids instead of a write into `input_ids`, 0
                                                                        behind the last row; int32 tables only;
                                                                        a draft never replaces a prompt token
    prepare_pos_seq_lens              prepare_pos_seq_lens              positions are 0 behind the last row; a row of
                                                                        length 0 has `seq_lens` 0
    get_num_sampled_and_rejected      get_num_sampled_and_rejected      from an Acceptance; accepted drafts + 1
    rejection_sample                  accept_greedy, accept_sampled     -1 behind a row's last token, theirs is not set
    post_update                       post_update                       the two tables that the next step reads; token
                                                                        history and bin counts are left out

Tables have a row for each request state, and `idx_mapping` says which is a row's; negative is none. Positions and
logits indices are int64 as there. Their tables of ids are int64 too, and narrowed on the way into the int32
`input_ids`. Here an int64 table is refused, and `int32_ids` narrows one after it has looked.
"""

from typing import NamedTuple

import torch
from jaxtyping import Int32, Int64
from torch import Tensor

from torch_ref._arguments import INT32_MAX, Argument, check_arrays, check_static, check_type
from torch_ref._assemble import overlay_input_ids, overlay_rows
from torch_ref._indexing import put_rows, take
from torch_ref._layout import cu_seqlens, row_lens
from torch_ref._positions import seq_lens as lengths_after
from torch_ref._positions import token_positions
from torch_ref._types import Acceptance, CuSeqlens
from torch_ref._verify import verify_indices


class CombinedTokens(NamedTuple):
    """What the forward reads, and where its logits are needed; see `combine_sampled_and_draft_tokens`."""

    input_ids: Int32[Tensor, " T"]
    logits_indices: Int64[Tensor, " L"]


class Positions(NamedTuple):
    """See `prepare_pos_seq_lens`."""

    positions: Int64[Tensor, " T"]
    seq_lens: Int32[Tensor, " R"]


class SampledCounts(NamedTuple):
    """See `get_num_sampled_and_rejected`."""

    num_sampled: Int32[Tensor, " B"]
    num_rejected: Int32[Tensor, " B"]


class RequestTables(NamedTuple):
    """What the next step reads of each request state; see `post_update`."""

    num_computed_tokens: Int32[Tensor, " S"]
    last_sampled_tokens: Int32[Tensor, " S"]


def combine_sampled_and_draft_tokens(
    input_ids: Int32[Tensor, " T"],
    idx_mapping: Int32[Tensor, " B"],
    last_sampled_tokens: Int32[Tensor, " S"],
    query_start_loc: CuSeqlens,
    seq_lens: Int32[Tensor, " B"],
    prefill_len: Int32[Tensor, " S"],
    draft_tokens: Int32[Tensor, " S K"],
    cu_num_logits: CuSeqlens,
    *,
    num_logits: int,
) -> CombinedTokens:
    """Writes what each request sampled last, and its drafts, at the end of its row; rows in their prompt stay.

    Args:
        input_ids: `[T]`, prompt tokens in place.
        idx_mapping: `[B]`, state of each row.
        last_sampled_tokens: `[S]`, by state.
        query_start_loc: `[B+1]` starts of the rows, then the total.
        seq_lens: `[B]`, tokens of each sequence with those of this step.
        prefill_len: `[S]`, by state; up to it a sequence is in its prompt, whose tokens are never overwritten.
        draft_tokens: `[S, K]`, by state.
        cu_num_logits: `[B+1]` starts of the rows among the logits: 1 + drafts of each.
        num_logits: size of `logits_indices`; the logits of all rows, or more.

    Returns:
        `input_ids[T]`, and `logits_indices[num_logits]`, flat places of each row's last tokens, 0 behind.

    Raises:
        ValueError: an array is not an int32 tensor, shapes disagree, or `num_logits` is no int of at least 0.

    >>> def int32(values): return torch.tensor(values, dtype=torch.int32)
    >>> staged, prefill = int32([51, 52, 53, 54, 0, 0, 0]), int32([9, 4])
    >>> batch = int32([1, 0]), int32([200, 0]), int32([0, 4, 7]), int32([4, 23]), prefill
    >>> drafts, logits = int32([[21, 22], [0, 0]]), int32([0, 1, 4])
    >>> found = combine_sampled_and_draft_tokens(staged, *batch, drafts, logits, num_logits=4)
    >>> found.input_ids.tolist(), found.logits_indices.tolist()
    ([51, 52, 53, 54, 200, 21, 22], [3, 4, 5, 6])
    """
    check_arrays(
        Argument("input_ids", input_ids, "T"),
        Argument("idx_mapping", idx_mapping, "B"),
        Argument("last_sampled_tokens", last_sampled_tokens, "S"),
        Argument("query_start_loc", query_start_loc, "B+1"),
        Argument("seq_lens", seq_lens, "B"),
        Argument("prefill_len", prefill_len, "S"),
        Argument("draft_tokens", draft_tokens, "S K"),
        Argument("cu_num_logits", cu_num_logits, "B+1"),
    )
    check_static("num_logits", num_logits, 0)
    drafts, columns = row_lens(cu_num_logits) - 1, draft_tokens.shape[1]
    indices = verify_indices(query_start_loc, drafts, num_speculative_tokens=columns)
    lens, verified = row_lens(query_start_loc), row_lens(indices.cu_num_logits)
    # Each row is two here: tokens that are left alone, and those under verification at its end.
    halves = cu_seqlens(torch.stack([lens - verified, verified], 1).flatten())
    sources = torch.stack([torch.full_like(idx_mapping, -1), idx_mapping], 1).flatten()
    ids = overlay_input_ids(input_ids, halves, sources, last_sampled_tokens, draft_tokens)
    prompt = overlay_rows(torch.zeros_like(idx_mapping), idx_mapping, prefill_len)
    behind_prompt = token_positions(query_start_loc, seq_lens - lens - prompt, capacity=input_ids.shape[0])
    logits_indices = _sized(indices.logits_indices.long(), num_logits)
    return CombinedTokens(torch.where(behind_prompt < 0, input_ids, ids), logits_indices)


def prepare_pos_seq_lens(
    idx_mapping: Int32[Tensor, " B"],
    query_start_loc: CuSeqlens,
    num_computed_tokens: Int32[Tensor, " S"],
    *,
    capacity: int,
    max_num_reqs: int,
) -> Positions:
    """Positions of the tokens as int64, and the lengths of the sequences, 0 from the last row to `max_num_reqs`.

    >>> def int32(values): return torch.tensor(values, dtype=torch.int32)
    >>> found = prepare_pos_seq_lens(int32([1, 0]), int32([0, 1, 4]), int32([20, 10]), capacity=5, max_num_reqs=3)
    >>> found.positions.tolist(), found.seq_lens.tolist()
    ([10, 20, 21, 22, 0], [11, 23, 0])
    """
    arguments = Argument("idx_mapping", idx_mapping, "B"), Argument("query_start_loc", query_start_loc, "B+1")
    rows = check_arrays(*arguments, Argument("num_computed_tokens", num_computed_tokens, "S"))["B"]
    check_static("max_num_reqs", max_num_reqs, rows)
    computed = overlay_rows(torch.zeros_like(idx_mapping), idx_mapping, num_computed_tokens)
    positions = token_positions(query_start_loc, computed, capacity=capacity)
    return Positions(positions.long(), _sized(lengths_after(query_start_loc, computed), max_num_reqs))


def get_num_sampled_and_rejected(
    acceptance: Acceptance,
    cu_num_logits: CuSeqlens,
    seq_lens: Int32[Tensor, " B"],
    idx_mapping: Int32[Tensor, " B"],
    prefill_len: Int32[Tensor, " S"],
) -> SampledCounts:
    """Tokens that each row emits, the bonus token counted, and rejected drafts; both 0 before the prompt's end.

    >>> def int32(values): return torch.tensor(values, dtype=torch.int32)
    >>> acceptance = Acceptance(int32([0, 1]), int32([0, 2]), int32([7, 99]), int32([[7], [21]]))
    >>> rows = int32([0, 1, 5]), int32([4, 24]), int32([0, 1])
    >>> counts = get_num_sampled_and_rejected(acceptance, *rows, int32([8, 9]))
    >>> counts.num_sampled.tolist(), counts.num_rejected.tolist()
    ([0, 2], [0, 2])
    """
    check_type("`acceptance`", acceptance, Acceptance)
    check_arrays(
        Argument("num_accepted", acceptance.num_accepted, "B", owner="acceptance"),
        Argument("num_rejected", acceptance.num_rejected, "B", owner="acceptance"),
        Argument("cu_num_logits", cu_num_logits, "B+1"),
        Argument("seq_lens", seq_lens, "B"),
        Argument("idx_mapping", idx_mapping, "B"),
        Argument("prefill_len", prefill_len, "S"),
    )
    prompt = overlay_rows(torch.zeros_like(idx_mapping), idx_mapping, prefill_len)
    emits = (seq_lens >= prompt) & (row_lens(cu_num_logits) > 0)
    return SampledCounts(
        torch.where(emits, acceptance.num_accepted + 1, 0), torch.where(emits, acceptance.num_rejected, 0)
    )


def post_update(
    tables: RequestTables,
    idx_mapping: Int32[Tensor, " B"],
    sampled_tokens: Int32[Tensor, " B W"],
    counts: SampledCounts,
    query_start_loc: CuSeqlens,
) -> RequestTables:
    """The tables for the next step: the token sampled last, and computed tokens without the rejected ones.

    >>> def int32(values): return torch.tensor(values, dtype=torch.int32)
    >>> tables, counts = RequestTables(int32([20, 10]), int32([200, 100])), SampledCounts(int32([1, 2]), int32([0, 2]))
    >>> new = post_update(tables, int32([1, 0]), int32([[7, -1], [21, 99]]), counts, int32([0, 1, 5]))
    >>> new.num_computed_tokens.tolist(), new.last_sampled_tokens.tolist()
    ([22, 11], [99, 7])
    """
    check_type("`tables`", tables, RequestTables)
    check_type("`counts`", counts, SampledCounts)
    check_arrays(
        Argument("num_computed_tokens", tables.num_computed_tokens, "S", owner="tables"),
        Argument("last_sampled_tokens", tables.last_sampled_tokens, "S", owner="tables"),
        Argument("idx_mapping", idx_mapping, "B"),
        Argument("sampled_tokens", sampled_tokens, "B W"),
        Argument("num_sampled", counts.num_sampled, "B", owner="counts"),
        Argument("num_rejected", counts.num_rejected, "B", owner="counts"),
        Argument("query_start_loc", query_start_loc, "B+1"),
    )
    row = torch.arange(idx_mapping.shape[0], dtype=torch.int32, device=idx_mapping.device)
    last = take(sampled_tokens, (row, counts.num_sampled - 1), -1)
    computed = overlay_rows(torch.zeros_like(idx_mapping), idx_mapping, tables.num_computed_tokens)
    return RequestTables(
        put_rows(tables.num_computed_tokens, idx_mapping, computed + row_lens(query_start_loc) - counts.num_rejected),
        put_rows(tables.last_sampled_tokens, torch.where(counts.num_sampled > 0, idx_mapping, -1), last),
    )


def int32_ids(ids: Int64[Tensor, "*any"], *, name: str) -> Int32[Tensor, "*any"]:
    """`ids` as int32, if all of them are; it looks at the values, so it waits for the device: not for the hot path.

    Args:
        ids: any shape.
        name: what the error calls them.

    Raises:
        ValueError: an id is no int32, or `ids` is not an int64 tensor.

    >>> int32_ids(torch.tensor([5, 2**32 + 7]), name="draft_tokens")
    Traceback (most recent call last):
    ValueError: `draft_tokens`: got 4294967303 at index 1, expected an int32
    """
    check_arrays(Argument(name, ids, "...", torch.int64))
    for index in torch.nonzero((ids > INT32_MAX) | (ids < -INT32_MAX - 1))[:1].tolist():
        where = f" at index {', '.join(map(str, index))}" if index else ""
        raise ValueError(f"`{name}`: got {ids[tuple(index)].item()}{where}, expected an int32")
    return ids.int()


def _sized(values: Tensor, size: int) -> Tensor:
    """The first `size` values, 0 behind them."""
    return torch.nn.functional.pad(values, (0, size - values.shape[0]))
