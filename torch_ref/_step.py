"""The whole step: what the target model reads, and what stays on the device for the next step."""

import torch
from jaxtyping import Int32
from torch import Tensor

from torch_ref._arguments import (
    Argument,
    check_arrays,
    check_shapes,
    inputs_arguments,
    packed_sizes,
    state_arguments,
)
from torch_ref._assemble import overlay_at, overlay_rows
from torch_ref._bounds import last_token_indices
from torch_ref._indexing import put_rows
from torch_ref._layout import row_lens, token_rows
from torch_ref._positions import check_block_size, positions_at, seq_lens, slots_at
from torch_ref._types import CuSeqlens, PackedLogits, StepInputs, StepResult, StepState
from torch_ref._verify import accept_greedy, gather_draft_token_ids, verify_indices


def prepare_step(
    input_ids: Int32[Tensor, " T"],
    cu_seqlens_q: CuSeqlens,
    source_rows: Int32[Tensor, " B"],
    num_draft_tokens: Int32[Tensor, " B"],
    num_computed_tokens: Int32[Tensor, " B"],
    state: StepState,
    block_tables: Int32[Tensor, " B P"],
    *,
    block_size: int,
) -> StepInputs:
    """All that one forward of the target model reads, from what the host staged and what the last step left behind.

        ids = overlay_input_ids(input_ids, cu_seqlens_q, source_rows, state.anchor_token_ids, state.draft_token_ids)
        computed = overlay_rows(num_computed_tokens, source_rows, state.num_computed_tokens)
        verify = verify_indices(cu_seqlens_q, num_draft_tokens, num_speculative_tokens=K)
        drafts = gather_draft_token_ids(ids, verify)

    Args:
        input_ids: `[T]`, prompt chunks and newly admitted requests already right in it.
        cu_seqlens_q: `[B+1]` starts of the rows, then the total.
        source_rows: `[B]`, the row of `state` that a carried row reads; out of `[0, S)` the row is not carried.
        num_draft_tokens: `[B]` drafts that each row verifies; 0 for a prompt chunk.
        num_computed_tokens: `[B]` tokens of each sequence before this step, for the rows that are not carried.
        state: `S` rows with `K` drafts, from `commit_step` and `store_drafts`.
        block_tables: `[B, P]` pages of each sequence.
        block_size: tokens of a page.

    Returns:
        `input_ids[T]`, `num_computed_tokens[B]`, `verify` and `draft_token_ids[B*K]` as above; `positions[T]`,
        `seq_lens[B]` and `slot_mapping[T]` that follow from `computed`.

    Raises:
        ValueError: an array is not an int32 tensor, the shapes disagree, or `block_size` is no int of at least 1 or
            `P * block_size` above `2**31 - 1`.

    >>> def int32(values): return torch.tensor(values, dtype=torch.int32)
    >>> state = StepState(int32([200]), int32([[21, 22]]), int32([5]))
    >>> cu, source, num_draft, computed = int32([0, 2, 4]), int32([-1, 0]), int32([0, 1]), int32([0, 0])
    >>> tables = int32([[3, 4], [8, 9]])
    >>> inputs = prepare_step(int32([51, 52, 0, 0, 9]), cu, source, num_draft, computed, state, tables, block_size=4)
    >>> inputs.input_ids.tolist(), inputs.positions.tolist(), inputs.slot_mapping.tolist()
    ([51, 52, 200, 21, 0], [0, 1, 5, 6, 0], [12, 13, 37, 38, -1])
    """
    check_arrays(
        Argument("input_ids", input_ids, "T"),
        Argument("cu_seqlens_q", cu_seqlens_q, "B+1"),
        Argument("source_rows", source_rows, "B"),
        Argument("num_draft_tokens", num_draft_tokens, "B"),
        Argument("num_computed_tokens", num_computed_tokens, "B"),
        *state_arguments(state),
        Argument("block_tables", block_tables, "B P"),
    )
    check_block_size(block_size, block_tables)
    rows = token_rows(cu_seqlens_q, capacity=input_ids.shape[0])
    ids = overlay_at(rows, input_ids, source_rows, state.anchor_token_ids, state.draft_token_ids)
    computed = overlay_rows(num_computed_tokens, source_rows, state.num_computed_tokens)
    positions = positions_at(rows, computed)
    columns = state.draft_token_ids.shape[1]
    verify = verify_indices(cu_seqlens_q, num_draft_tokens, num_speculative_tokens=columns)
    return StepInputs(
        input_ids=ids,
        positions=positions,
        num_computed_tokens=computed,
        seq_lens=seq_lens(cu_seqlens_q, computed),
        slot_mapping=slots_at(rows, positions, block_tables, block_size=block_size),
        verify=verify,
        draft_token_ids=gather_draft_token_ids(ids, verify),
    )


def commit_step(
    state: StepState,
    inputs: StepInputs,
    cu_seqlens_q: CuSeqlens,
    slots: Int32[Tensor, " B"],
    sampled_token_ids: PackedLogits,
) -> StepResult:
    """Greedy acceptance, and the state for the next step; a row with tokens writes its slot.

        acceptance = accept_greedy(inputs.verify, inputs.draft_token_ids, sampled_token_ids)
        writes = (0 <= slots) & (slots < S) & (np.diff(cu_seqlens_q) > 0)
        anchors[slots[writes]] = acceptance.next_token_ids[writes]
        computed[slots[writes]] = (seq_lens(cu_seqlens_q, inputs.num_computed_tokens) - acceptance.num_rejected)[writes]

    Args:
        state: `S` rows with `K` drafts, as `prepare_step` saw it.
        inputs: the result of `prepare_step`.
        cu_seqlens_q: `[B+1]` starts of the rows, then the total.
        slots: `[B]`, the row of `state` that each row writes, out of `[0, S)` none; distinct, else what is written to
            a slot given twice is unspecified.
        sampled_token_ids: `[B*(K+1)]`, the target's argmax at each packed logit.

    Returns:
        `acceptance`; `last_token_indices[B]`, flat positions of the hidden states that seed the drafter; `state`, with
        the slots that no row writes as they were, and the drafts until `store_drafts` brings new ones. A prompt chunk
        is committed like any row: the host ignores its token and stages the next chunk with source row -1.

    Raises:
        ValueError: an array is not an int32 tensor, or the shapes disagree.

    >>> def int32(values): return torch.tensor(values, dtype=torch.int32)
    >>> state = StepState(int32([200]), int32([[21, 22]]), int32([5]))
    >>> cu, row = int32([0, 3]), int32([0])
    >>> inputs = prepare_step(int32([0, 0, 0]), cu, row, int32([2]), row, state, int32([[8, 9]]), block_size=4)
    >>> result = commit_step(state, inputs, cu, row, int32([21, 99, 98]))
    >>> result.acceptance.output_token_ids.tolist(), result.last_token_indices.tolist()
    ([[21, 99, -1]], [1])
    >>> result.state.anchor_token_ids.tolist(), result.state.num_computed_tokens.tolist()
    ([99], [7])
    """
    result = _commit(state, inputs, cu_seqlens_q, slots, sampled_token_ids)
    return result._replace(state=result.state._replace(draft_token_ids=state.draft_token_ids.clone()))


def commit_step_donated(
    state: StepState,
    inputs: StepInputs,
    cu_seqlens_q: CuSeqlens,
    slots: Int32[Tensor, " B"],
    sampled_token_ids: PackedLogits,
) -> StepResult:
    """`commit_step`, written into the tensors of `state`.

        result = commit_step(state, inputs, cu_seqlens_q, slots, sampled_token_ids)
        state.anchor_token_ids[:] = result.state.anchor_token_ids
        state.num_computed_tokens[:] = result.state.num_computed_tokens

    Args:
        state: `S` rows with `K` drafts, as `prepare_step` saw it; overwritten.
        inputs: the result of `prepare_step`.
        cu_seqlens_q: `[B+1]` starts of the rows, then the total.
        slots: `[B]`, the row of `state` that each row writes, out of `[0, S)` none; distinct.
        sampled_token_ids: `[B*(K+1)]`, the target's argmax at each packed logit.

    Returns:
        See `commit_step`; the tensors of `state` are those of the argument.

    Raises:
        ValueError: an array is not an int32 tensor, or the shapes disagree.

    >>> def int32(values): return torch.tensor(values, dtype=torch.int32)
    >>> state = StepState(int32([200]), int32([[21, 22]]), int32([5]))
    >>> cu, row = int32([0, 3]), int32([0])
    >>> inputs = prepare_step(int32([0, 0, 0]), cu, row, int32([2]), row, state, int32([[8, 9]]), block_size=4)
    >>> result = commit_step_donated(state, inputs, cu, row, int32([21, 99, 98]))
    >>> result.state.anchor_token_ids is state.anchor_token_ids
    True
    >>> state.anchor_token_ids.tolist()
    [99]
    """
    result = _commit(state, inputs, cu_seqlens_q, slots, sampled_token_ids)
    return result._replace(state=_overwritten(state, result.state))


def store_drafts(state: StepState, slots: Int32[Tensor, " B"], draft_token_ids: Int32[Tensor, " B K"]) -> StepState:
    """The drafter's output, in the slots that `commit_step` wrote.

        writes = (0 <= slots) & (slots < S)
        drafts[slots[writes]] = draft_token_ids[writes]

    Args:
        state: `S` rows with `K` drafts.
        slots: `[B]`, the row of `state` that each row writes, out of `[0, S)` none; distinct, else what is written to
            a slot given twice is unspecified.
        draft_token_ids: `[B, K]` drafts for the next step.

    Returns:
        The state; all but the drafts written is as it was.

    Raises:
        ValueError: an array is not an int32 tensor, or the shapes disagree.

    >>> def int32(values): return torch.tensor(values, dtype=torch.int32)
    >>> state = StepState(int32([200, 300]), int32([[21], [31]]), int32([5, 6]))
    >>> store_drafts(state, int32([-1, 0]), int32([[41], [51]])).draft_token_ids.tolist()
    [[51], [31]]
    """
    stored = _store(state, slots, draft_token_ids)
    return StepState(state.anchor_token_ids.clone(), stored.draft_token_ids, state.num_computed_tokens.clone())


def store_drafts_donated(
    state: StepState, slots: Int32[Tensor, " B"], draft_token_ids: Int32[Tensor, " B K"]
) -> StepState:
    """`store_drafts`, written into the tensors of `state`.

        state.draft_token_ids[:] = store_drafts(state, slots, draft_token_ids).draft_token_ids

    Args:
        state: `S` rows with `K` drafts; overwritten.
        slots: `[B]`, the row of `state` that each row writes, out of `[0, S)` none; distinct.
        draft_token_ids: `[B, K]` drafts for the next step.

    Returns:
        The state, of the tensors of the argument.

    Raises:
        ValueError: an array is not an int32 tensor, or the shapes disagree.

    >>> def int32(values): return torch.tensor(values, dtype=torch.int32)
    >>> state = StepState(int32([200]), int32([[21]]), int32([5]))
    >>> store_drafts_donated(state, int32([0]), int32([[41]])).draft_token_ids is state.draft_token_ids
    True
    >>> state.draft_token_ids.tolist()
    [[41]]
    """
    return _overwritten(state, _store(state, slots, draft_token_ids))


def _commit(
    state: StepState,
    inputs: StepInputs,
    cu_seqlens_q: CuSeqlens,
    slots: Int32[Tensor, " B"],
    sampled_token_ids: PackedLogits,
) -> StepResult:
    """`commit_step` with the drafts of the very `state` in the new one."""
    own = (
        *state_arguments(state),
        Argument("cu_seqlens_q", cu_seqlens_q, "B+1"),
        Argument("slots", slots, "B"),
    )
    sizes = check_shapes(*own)
    sampled = Argument("sampled_token_ids", sampled_token_ids, "B*(K+1)")
    check_arrays(*own, *inputs_arguments(inputs), sampled, known=packed_sizes(sizes["B"], sizes["K"]))
    acceptance = accept_greedy(inputs.verify, inputs.draft_token_ids, sampled_token_ids)
    computed = seq_lens(cu_seqlens_q, inputs.num_computed_tokens) - acceptance.num_rejected
    written = torch.where(row_lens(cu_seqlens_q) > 0, slots, -1)
    anchors = put_rows(state.anchor_token_ids, written, acceptance.next_token_ids)
    new_state = StepState(anchors, state.draft_token_ids, put_rows(state.num_computed_tokens, written, computed))
    return StepResult(acceptance, last_token_indices(cu_seqlens_q, acceptance.num_rejected + 1), new_state)


def _store(state: StepState, slots: Int32[Tensor, " B"], draft_token_ids: Int32[Tensor, " B K"]) -> StepState:
    """`store_drafts` with all but the drafts of the very `state` in the new one."""
    drafts = Argument("draft_token_ids", draft_token_ids, "B K")
    check_arrays(*state_arguments(state), Argument("slots", slots, "B"), drafts)
    return state._replace(draft_token_ids=put_rows(state.draft_token_ids, slots, draft_token_ids))


def _overwritten(state: StepState, values: StepState) -> StepState:
    """`state` with `values` written into its tensors; a tensor that is its own value stays as it is."""
    return StepState(*(tensor.copy_(value) for tensor, value in zip(state, values, strict=True)))
