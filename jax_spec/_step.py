"""Everything between one forward and the next, composed: one call before the forward, one or two behind it."""

import jax.numpy as jnp
from jaxtyping import Array, Int32

from jax_spec._arguments import operation
from jax_spec._assemble import overlay_rows, overlay_tokens
from jax_spec._bounds import last_token_indices
from jax_spec._layout import row_lens, token_rows
from jax_spec._positions import positions_of, seq_lens, slots_of
from jax_spec._spans import put
from jax_spec._types import StepInputs, StepResult, StepState
from jax_spec._verify import accept_greedy, gather_draft_token_ids, verify_indices


@operation("block_size")
def prepare_step(
    input_ids: Int32[Array, " T"],
    cu_seqlens_q: Int32[Array, " B1"],
    source_rows: Int32[Array, " B"],
    num_draft_tokens: Int32[Array, " B"],
    num_computed_tokens: Int32[Array, " B"],
    state: StepState,
    block_tables: Int32[Array, "B P"],
    *,
    block_size: int,
) -> StepInputs:
    """All that a forward reads, from what the host staged and what the device kept.

    Equivalent NumPy:

        input_ids = overlay_input_ids(input_ids, cu, source_rows, state.anchor_token_ids, state.draft_token_ids)
        computed = overlay_rows(num_computed_tokens, source_rows, state.num_computed_tokens)
        positions, slots = token_positions(cu, computed), slot_mapping(cu, computed, block_tables)
        verify = verify_indices(cu, num_draft_tokens); drafts = gather_draft_token_ids(input_ids, verify)

    Args:
        input_ids: staged by the host, as `overlay_input_ids` takes it, int32 `[T]`. The CPU may read a NumPy buffer
            after the call has returned: stage the next step in another one.
        cu_seqlens_q: exclusive prefix sum of the row lengths, int32 `[B + 1]`.
        source_rows: row of `state` that each row continues, int32 `[B]`; -1 where the host staged all.
        num_draft_tokens: drafts among each row's tokens, int32 `[B]`.
        num_computed_tokens: staged by the host for the rows that are not carried, int32 `[B]`.
        state: anchors, drafts and computed tokens of every slot.
        block_tables: blocks of each row's sequence in order, int32 `[B, P]`.
        block_size: tokens a block.

    Returns:
        `StepInputs`.

    >>> state = StepState(*(jnp.array(x, jnp.int32) for x in ([100], [[11, 12]], [8])))
    >>> arrays, table = ([0, 0, 9], [0, 2], [0], [1], [0]), jnp.array([[5, 6, 7]], jnp.int32)
    >>> inputs = prepare_step(*(jnp.array(x, jnp.int32) for x in arrays), state, table, block_size=4)
    >>> inputs.input_ids.tolist(), inputs.positions.tolist(), inputs.slot_mapping.tolist()
    ([100, 11, 0], [8, 9, 0], [28, 29, -1])
    """
    rows = token_rows(cu_seqlens_q, capacity=input_ids.size)
    input_ids = overlay_tokens(input_ids, rows, source_rows, state.anchor_token_ids, state.draft_token_ids)
    computed = overlay_rows(num_computed_tokens, source_rows, state.num_computed_tokens)
    positions = positions_of(rows, computed)
    columns = state.draft_token_ids.shape[1]
    verify = verify_indices(cu_seqlens_q, num_draft_tokens, num_speculative_tokens=columns)
    return StepInputs(
        input_ids=input_ids,
        positions=positions,
        num_computed_tokens=computed,
        seq_lens=seq_lens(cu_seqlens_q, computed),
        slot_mapping=slots_of(rows, positions, block_tables, block_size),
        verify=verify,
        draft_token_ids=gather_draft_token_ids(input_ids, verify),
    )


@operation()
def commit_step(
    state: StepState,
    inputs: StepInputs,
    cu_seqlens_q: Int32[Array, " B1"],
    slots: Int32[Array, " B"],
    sampled_token_ids: Int32[Array, " BL"],
) -> StepResult:
    """Greedy acceptance of what the forward sampled, and the state that the next step starts from.

    Equivalent NumPy:

        acceptance = accept_greedy(inputs.verify, inputs.draft_token_ids, sampled_token_ids)
        live = (0 <= slots) & (slots < S) & (lens > 0)
        anchor_token_ids[slots[live]] = acceptance.next_token_ids[live]
        num_computed_tokens[slots[live]] = (inputs.num_computed_tokens + lens - acceptance.num_rejected)[live]

    Args:
        state: the state that the step was prepared from.
        inputs: from `prepare_step`.
        cu_seqlens_q: exclusive prefix sum of the row lengths, int32 `[B + 1]`.
        slots: row of `state` that each row writes, int32 `[B]`, distinct; -1 for none.
        sampled_token_ids: the target's argmax at each packed logit, int32 `[B * (K + 1)]`.

    Returns:
        `StepResult`; slots that no row of this step owns keep what they had, drafts are as they were.

    >>> state = StepState(*(jnp.array(x, jnp.int32) for x in ([100], [[11, 12]], [8])))
    >>> arrays, table = ([0, 0, 9], [0, 2], [0], [1], [0]), jnp.array([[5, 6, 7]], jnp.int32)
    >>> inputs = prepare_step(*(jnp.array(x, jnp.int32) for x in arrays), state, table, block_size=4)
    >>> arrays = ([0, 2], [0], [11, 77, 0])
    >>> result = commit_step(state, inputs, *(jnp.array(x, jnp.int32) for x in arrays))
    >>> result.acceptance.output_token_ids.tolist(), result.state.num_computed_tokens.tolist()
    ([[11, 77, -1]], [10])
    """
    acceptance = accept_greedy(inputs.verify, inputs.draft_token_ids, sampled_token_ids)
    lens = row_lens(cu_seqlens_q)
    slots = jnp.where(lens > 0, slots, -1)
    computed = inputs.num_computed_tokens + lens - acceptance.num_rejected
    return StepResult(
        acceptance=acceptance,
        last_token_indices=last_token_indices(cu_seqlens_q, acceptance.num_rejected + 1),
        state=state._replace(
            anchor_token_ids=put(state.anchor_token_ids, slots, acceptance.next_token_ids),
            num_computed_tokens=put(state.num_computed_tokens, slots, computed),
        ),
    )


@operation(donates="state")
def commit_step_donated(
    state: StepState,
    inputs: StepInputs,
    cu_seqlens_q: Int32[Array, " B1"],
    slots: Int32[Array, " B"],
    sampled_token_ids: Int32[Array, " BL"],
) -> StepResult:
    """`commit_step` in place: the new state takes over the buffers of `state`, which can't be used again.

    >>> state = StepState(*(jnp.array(x, jnp.int32) for x in ([100], [[11, 12]], [8])))
    >>> arrays, table = ([0, 0, 9], [0, 2], [0], [1], [0]), jnp.array([[5, 6, 7]], jnp.int32)
    >>> inputs = prepare_step(*(jnp.array(x, jnp.int32) for x in arrays), state, table, block_size=4)
    >>> arrays = ([0, 2], [0], [11, 77, 0])
    >>> result = commit_step_donated(state, inputs, *(jnp.array(x, jnp.int32) for x in arrays))
    >>> result.state.anchor_token_ids.tolist(), state.anchor_token_ids.is_deleted()
    ([77], True)
    """
    return commit_step(state, inputs, cu_seqlens_q, slots, sampled_token_ids)


@operation()
def store_drafts(state: StepState, slots: Int32[Array, " B"], draft_token_ids: Int32[Array, "B K"]) -> StepState:
    """Puts the drafter's output into the slots of its requests.

    Equivalent NumPy:

        state.draft_token_ids[slots[live]] = draft_token_ids[live], where live = (0 <= slots) & (slots < S)

    Args:
        state: the state to update.
        slots: row of `state` that each row writes, int32 `[B]`, distinct; -1 for none.
        draft_token_ids: int32 `[B, K]`.

    Returns:
        The state with those drafts.

    >>> state = StepState(*(jnp.array(x, jnp.int32) for x in ([1, 2], [[11], [21]], [5, 6])))
    >>> arrays = ([-1, 0], [[8], [9]])
    >>> store_drafts(state, *(jnp.array(x, jnp.int32) for x in arrays)).draft_token_ids.tolist()
    [[9], [21]]
    """
    return state._replace(draft_token_ids=put(state.draft_token_ids, slots, draft_token_ids))


@operation(donates="state")
def store_drafts_donated(
    state: StepState, slots: Int32[Array, " B"], draft_token_ids: Int32[Array, "B K"]
) -> StepState:
    """`store_drafts` in place: the new state takes over the buffers of `state`, which can't be used again.

    >>> state = StepState(*(jnp.array(x, jnp.int32) for x in ([1, 2], [[11], [21]], [5, 6])))
    >>> stored = store_drafts_donated(state, jnp.array([1], jnp.int32), jnp.array([[9]], jnp.int32))
    >>> stored.draft_token_ids.tolist(), state.draft_token_ids.is_deleted()
    ([[11], [9]], True)
    """
    return store_drafts(state, slots, draft_token_ids)
