"""Section 8: one step from the state and back into it."""

from parity_tests.kit.oracle._assemble import overlay_input_ids, overlay_rows
from parity_tests.kit.oracle._bounds import last_token_indices
from parity_tests.kit.oracle._int32 import wrap
from parity_tests.kit.oracle._layout import row_lengths
from parity_tests.kit.oracle._positions import seq_lens, slot_mapping, token_positions
from parity_tests.kit.oracle._types import BlockTables, CuSeqlens, PackedLogits, PerRow, PerToken, Record, RowDrafts
from parity_tests.kit.oracle._verify import accept_greedy, gather_draft_token_ids, verify_indices


def prepare_step(
    input_ids: PerToken,
    cu_seqlens_q: CuSeqlens,
    source_rows: PerRow,
    num_draft_tokens: PerRow,
    num_computed_tokens: PerRow,
    state: Record,
    block_tables: BlockTables,
    *,
    block_size: int,
) -> Record:
    """What the target's forward reads: staged values, overlaid from the state where a row is carried.

    >>> import numpy as np
    >>> state = {"anchor_token_ids": [200], "draft_token_ids": [[21]], "num_computed_tokens": [6]}
    >>> state = {name: np.array(table, np.int32) for name, table in state.items()}
    >>> row, staged = np.array([0], np.int32), np.array([9, 9, 9], np.int32)
    >>> cu, tables = np.array([0, 2], np.int32), np.array([[5, 8]], np.int32)
    >>> inputs = prepare_step(staged, cu, row, row + 1, row, state, tables, block_size=4)
    >>> inputs["input_ids"].tolist(), inputs["slot_mapping"].tolist(), inputs["draft_token_ids"].tolist()
    ([200, 21, 0], [34, 35, -1], [21])
    """
    capacity = len(input_ids)
    anchors, drafts = state["anchor_token_ids"], state["draft_token_ids"]
    ids = overlay_input_ids(input_ids, cu_seqlens_q, source_rows, anchors, drafts)
    computed = overlay_rows(num_computed_tokens, source_rows, state["num_computed_tokens"])
    verify = verify_indices(cu_seqlens_q, num_draft_tokens, num_speculative_tokens=drafts.shape[1])
    return {
        "input_ids": ids,
        "positions": token_positions(cu_seqlens_q, computed, capacity=capacity),
        "num_computed_tokens": computed,
        "seq_lens": seq_lens(cu_seqlens_q, computed),
        "slot_mapping": slot_mapping(cu_seqlens_q, computed, block_tables, capacity=capacity, block_size=block_size),
        "verify": verify,
        "draft_token_ids": gather_draft_token_ids(ids, verify),
    }


def commit_step(
    state: Record, inputs: Record, cu_seqlens_q: CuSeqlens, slots: PerRow, sampled_token_ids: PackedLogits
) -> Record:
    """Greedy acceptance, and the state with the slot of every row that has tokens moved on.

    >>> import numpy as np
    >>> state = {"anchor_token_ids": [200], "draft_token_ids": [[21]], "num_computed_tokens": [6]}
    >>> state = {name: np.array(table, np.int32) for name, table in state.items()}
    >>> cu, row = np.array([0, 2], np.int32), np.array([0], np.int32)
    >>> verify = verify_indices(cu, np.array([1], np.int32), num_speculative_tokens=1)
    >>> inputs = {"verify": verify, "draft_token_ids": row + 21, "num_computed_tokens": row + 6}
    >>> result = commit_step(state, inputs, cu, row, np.array([21, 22], np.int32))
    >>> result["state"]["anchor_token_ids"].tolist(), result["state"]["num_computed_tokens"].tolist()
    ([22], [8])
    """
    acceptance = accept_greedy(inputs["verify"], inputs["draft_token_ids"], sampled_token_ids)
    rejected = acceptance["num_rejected"].tolist()
    computed = inputs["num_computed_tokens"].tolist()
    new_state = {name: table.copy() for name, table in state.items()}
    for i, (slot, length) in enumerate(zip(slots.tolist(), row_lengths(cu_seqlens_q), strict=True)):
        if 0 <= slot < len(state["anchor_token_ids"]) and length > 0:
            new_state["anchor_token_ids"][slot] = acceptance["next_token_ids"][i]
            new_state["num_computed_tokens"][slot] = wrap(computed[i] + length - rejected[i])
    return {
        "acceptance": acceptance,
        "last_token_indices": last_token_indices(cu_seqlens_q, 1 + acceptance["num_rejected"]),
        "state": new_state,
    }


def store_drafts(state: Record, slots: PerRow, draft_token_ids: RowDrafts) -> Record:
    """The state with each row's new drafts in its slot.

    >>> import numpy as np
    >>> state = {"anchor_token_ids": np.array([1, 2], np.int32), "draft_token_ids": np.array([[11], [21]], np.int32)}
    >>> store_drafts(state, np.array([1, -1], np.int32), np.array([[31], [41]], np.int32))["draft_token_ids"].tolist()
    [[11], [31]]
    """
    new_state = {name: table.copy() for name, table in state.items()}
    for i, slot in enumerate(slots.tolist()):
        if 0 <= slot < len(state["draft_token_ids"]):
            new_state["draft_token_ids"][slot] = draft_token_ids[i]
    return new_state
