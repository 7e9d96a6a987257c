"""Section 8 for many calls at once."""

import numpy as np

from parity_tests.kit.reference._tables import (
    BlockTables,
    CuSeqlens,
    PackedLogits,
    PerRow,
    PerToken,
    Record,
    RowDrafts,
    put,
)
from parity_tests.kit.reference._tokens import (
    last_token_indices,
    overlay_input_ids,
    overlay_rows,
    row_lens,
    seq_lens,
    slot_mapping,
    token_positions,
)
from parity_tests.kit.reference._verify import accept_greedy, gather_draft_token_ids, verify_indices


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
    """What the target's forward reads."""
    capacity, drafts = input_ids.shape[1], state["draft_token_ids"]
    ids = overlay_input_ids(input_ids, cu_seqlens_q, source_rows, state["anchor_token_ids"], drafts)
    computed = overlay_rows(num_computed_tokens, source_rows, state["num_computed_tokens"])
    verify = verify_indices(cu_seqlens_q, num_draft_tokens, num_speculative_tokens=drafts.shape[2])
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
    """Greedy acceptance, and the state moved on."""
    acceptance = accept_greedy(inputs["verify"], inputs["draft_token_ids"], sampled_token_ids)
    lens, rejected = row_lens(cu_seqlens_q), acceptance["num_rejected"]
    written = np.where(lens > 0, slots, -1)
    computed = inputs["num_computed_tokens"] + lens - rejected
    new_state = {
        "anchor_token_ids": put(state["anchor_token_ids"], written, acceptance["next_token_ids"]),
        "draft_token_ids": state["draft_token_ids"],
        "num_computed_tokens": put(state["num_computed_tokens"], written, computed),
    }
    last = last_token_indices(cu_seqlens_q, rejected + 1)
    return {"acceptance": acceptance, "last_token_indices": last, "state": new_state}


def store_drafts(state: Record, slots: PerRow, draft_token_ids: RowDrafts) -> Record:
    """The drafter's output in the slots of its rows."""
    return state | {"draft_token_ids": put(state["draft_token_ids"], slots, draft_token_ids)}
