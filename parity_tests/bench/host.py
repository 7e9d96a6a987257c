"""The operations as a host would do them: NumPy without loops, on arrays that are already there.

Not a reference: it trusts its scheduler, so it is right for the steps that are measured (`check_step` passes, every
position has a page). It is here to be beaten, or to be published where it is not. Records are dicts.
"""

from typing import Any

import numpy as np

Tree = dict[str, Any]


def cu_seqlens(query_lens: np.ndarray) -> np.ndarray:
    """Exclusive prefix sum."""
    out = np.zeros(query_lens.size + 1, np.int32)
    np.cumsum(np.maximum(query_lens, 0), out=out[1:])
    return out


def token_rows(cu_seqlens_q: np.ndarray, *, capacity: int) -> Tree:
    """Row and offset of every position."""
    total, (row, offset) = cu_seqlens_q[-1], _owners(cu_seqlens_q)
    rows, offsets = np.full(capacity, cu_seqlens_q.size - 1, np.int32), np.zeros(capacity, np.int32)
    rows[:total], offsets[:total] = row, offset
    return {"row": rows, "offset": offsets, "valid": np.arange(capacity) < total}


def assemble_input_ids(
    cu_seqlens_q: np.ndarray, anchor_token_ids: np.ndarray, draft_token_ids: np.ndarray, *, capacity: int
) -> np.ndarray:
    """The ragged buffer: what is kept of the grid is in the order of the buffer if no row asks for more than it has."""
    table = np.concatenate([anchor_token_ids[:, None], draft_token_ids], axis=1)
    out = np.zeros(capacity, np.int32)
    _write(out, table, cu_seqlens_q[:-1], np.diff(cu_seqlens_q))
    return out


def overlay_input_ids(
    input_ids: np.ndarray,
    cu_seqlens_q: np.ndarray,
    source_rows: np.ndarray,
    anchor_token_ids: np.ndarray,
    draft_token_ids: np.ndarray,
) -> np.ndarray:
    """The same over what was staged."""
    carried = np.flatnonzero((source_rows >= 0) & (source_rows < anchor_token_ids.size))
    source, out = source_rows[carried], input_ids.copy()
    table = np.concatenate([anchor_token_ids[source, None], draft_token_ids[source]], axis=1)
    _write(out, table, cu_seqlens_q[carried], np.diff(cu_seqlens_q)[carried])
    out[cu_seqlens_q[-1] :] = 0
    return out


def overlay_rows(staged: np.ndarray, source_rows: np.ndarray, table: np.ndarray) -> np.ndarray:
    """The table's value for carried rows."""
    carried = (source_rows >= 0) & (source_rows < table.size)
    return np.where(carried, table[np.where(carried, source_rows, 0)], staged)


def token_index_bound(cu_seqlens_q: np.ndarray) -> np.ndarray:
    """The last legal flat position."""
    return np.asarray(np.maximum(cu_seqlens_q[-1], 1) - 1)


def clamp_token_indices(token_indices: np.ndarray, cu_seqlens_q: np.ndarray) -> np.ndarray:
    """Indices between 0 and the bound."""
    return np.clip(token_indices, 0, token_index_bound(cu_seqlens_q))


def last_token_indices(cu_seqlens_q: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """`offsets` before the end of every row."""
    return clamp_token_indices(cu_seqlens_q[1:] - offsets, cu_seqlens_q)


def clamp_token_ids(token_ids: np.ndarray, *, vocab_size: int) -> np.ndarray:
    """Ids of the vocabulary."""
    return np.clip(token_ids, 0, np.int32(vocab_size - 1))


def verify_indices(cu_seqlens_q: np.ndarray, num_draft_tokens: np.ndarray, *, num_speculative_tokens: int) -> Tree:
    """The last `n + 1` tokens of every row."""
    lens, rows = np.diff(cu_seqlens_q), num_draft_tokens.size
    drafts = np.clip(num_draft_tokens, 0, np.minimum(num_speculative_tokens, np.maximum(lens - 1, 0)))
    logits = np.where(lens > 0, drafts + 1, 0)
    cu_drafts, cu_logits = cu_seqlens(drafts), cu_seqlens(logits)
    return {
        "num_draft_tokens": drafts,
        "cu_num_draft_tokens": cu_drafts[1:],
        "cu_num_logits": cu_logits,
        "logits_indices": _counted(cu_seqlens_q[1:] - logits, cu_logits, rows * (num_speculative_tokens + 1)),
        "target_logits_indices": _counted(cu_logits[:-1], cu_drafts, rows * num_speculative_tokens),
        "bonus_logits_indices": np.maximum(cu_logits[1:], 1) - 1,
    }


def gather_draft_token_ids(input_ids: np.ndarray, indices: Tree) -> np.ndarray:
    """The token behind each logit that judges a draft."""
    targets, count = indices["target_logits_indices"], indices["cu_num_draft_tokens"][-1]
    out = np.full(targets.size, -1, np.int32)
    out[:count] = input_ids[indices["logits_indices"][targets[:count]] + 1]
    return out


def accept_greedy(indices: Tree, draft_token_ids: np.ndarray, sampled_token_ids: np.ndarray) -> Tree:
    """The leading run of drafts that are the target's own choice."""
    accepted = draft_token_ids == sampled_token_ids[indices["target_logits_indices"]]
    return accept_sampled(indices, draft_token_ids, accepted, sampled_token_ids)


def accept_sampled(
    indices: Tree, draft_token_ids: np.ndarray, accepted: np.ndarray, sampled_token_ids: np.ndarray
) -> Tree:
    """The leading run of accepted drafts, and the token behind it."""
    count, rows = indices["num_draft_tokens"], indices["num_draft_tokens"].size
    columns, total = draft_token_ids.size // max(rows, 1), indices["cu_num_draft_tokens"][-1]
    verified = np.arange(columns) < count[:, None]
    drafts, kept = np.full(verified.shape, -1, np.int32), np.zeros(verified.shape, bool)
    drafts[verified], kept[verified] = draft_token_ids[:total], accepted[:total] & (draft_token_ids[:total] >= 0)
    run = np.logical_and.accumulate(kept, axis=1).sum(1, dtype=np.int32)
    first = indices["cu_num_logits"][:-1]
    place = np.minimum(first + run, sampled_token_ids.size - 1)
    following = np.where(indices["cu_num_logits"][1:] > first, sampled_token_ids[place], -1)
    output = np.full((rows, columns + 1), -1, np.int32)
    output[:, :columns] = np.where(np.arange(columns) < run[:, None], drafts, -1)
    output[np.arange(rows), run] = following
    return {
        "num_accepted": run,
        "num_rejected": count - run,
        "next_token_ids": following,
        "output_token_ids": output,
    }


def token_positions(cu_seqlens_q: np.ndarray, num_computed_tokens: np.ndarray, *, capacity: int) -> np.ndarray:
    """Computed tokens of the row plus offset."""
    return _counted(num_computed_tokens, cu_seqlens_q, capacity)


def seq_lens(cu_seqlens_q: np.ndarray, num_computed_tokens: np.ndarray) -> np.ndarray:
    """Computed tokens plus those of this step."""
    lens = np.diff(cu_seqlens_q)
    return np.where(lens > 0, num_computed_tokens + lens, 0)


def slot_mapping(
    cu_seqlens_q: np.ndarray,
    num_computed_tokens: np.ndarray,
    block_tables: np.ndarray,
    *,
    capacity: int,
    block_size: int,
) -> np.ndarray:
    """The cache slot of every token."""
    row, offset = _owners(cu_seqlens_q)
    page, within = np.divmod(num_computed_tokens[row] + offset, np.int32(block_size))
    out = np.full(capacity, -1, np.int32)
    out[: cu_seqlens_q[-1]] = block_tables[row, page] * np.int32(block_size) + within
    return out


def prepare_step(
    input_ids: np.ndarray,
    cu_seqlens_q: np.ndarray,
    source_rows: np.ndarray,
    num_draft_tokens: np.ndarray,
    num_computed_tokens: np.ndarray,
    state: Tree,
    block_tables: np.ndarray,
    *,
    block_size: int,
) -> Tree:
    """What the forward reads."""
    ids = overlay_input_ids(input_ids, cu_seqlens_q, source_rows, state["anchor_token_ids"], state["draft_token_ids"])
    computed = overlay_rows(num_computed_tokens, source_rows, state["num_computed_tokens"])
    columns = state["draft_token_ids"].shape[1]
    verify = verify_indices(cu_seqlens_q, num_draft_tokens, num_speculative_tokens=columns)
    return {
        "input_ids": ids,
        "positions": token_positions(cu_seqlens_q, computed, capacity=ids.size),
        "num_computed_tokens": computed,
        "seq_lens": seq_lens(cu_seqlens_q, computed),
        "slot_mapping": slot_mapping(cu_seqlens_q, computed, block_tables, capacity=ids.size, block_size=block_size),
        "verify": verify,
        "draft_token_ids": gather_draft_token_ids(ids, verify),
    }


def commit_step(
    state: Tree, inputs: Tree, cu_seqlens_q: np.ndarray, slots: np.ndarray, sampled_token_ids: np.ndarray
) -> Tree:
    """Greedy acceptance, and the state moved on."""
    acceptance = accept_greedy(inputs["verify"], inputs["draft_token_ids"], sampled_token_ids)
    lens, rejected = np.diff(cu_seqlens_q), acceptance["num_rejected"]
    written = np.where(lens > 0, slots, -1)
    computed = inputs["num_computed_tokens"] + lens - rejected
    new_state = {
        "anchor_token_ids": _put(state["anchor_token_ids"], written, acceptance["next_token_ids"]),
        "draft_token_ids": state["draft_token_ids"],
        "num_computed_tokens": _put(state["num_computed_tokens"], written, computed),
    }
    last = last_token_indices(cu_seqlens_q, rejected + 1)
    return {"acceptance": acceptance, "last_token_indices": last, "state": new_state}


def store_drafts(state: Tree, slots: np.ndarray, draft_token_ids: np.ndarray) -> Tree:
    """The drafter's output in the slots of its rows."""
    return state | {"draft_token_ids": _put(state["draft_token_ids"], slots, draft_token_ids)}


def schedule_verify_lens(
    confidence: np.ndarray, sps_table: np.ndarray, live: np.ndarray, *, early_stop: bool
) -> np.ndarray:
    """How many drafts of each row to verify."""
    rows, columns = confidence.shape
    clamped = np.clip(np.nan_to_num(confidence, nan=0), np.float32(0), np.float32(1))
    bits = min(20, 30 - (rows * columns + rows - 1).bit_length())
    survival = np.rint(np.multiply.accumulate(clamped, axis=1) * np.float32(2**bits)).astype(np.int32)
    count = int(live.sum())
    order = np.argsort(np.where(live[:, None], -survival, 1).ravel(), kind="stable")[: count * columns]
    tau = np.cumsum(np.concatenate([[count << bits], survival.ravel()[order]]), dtype=np.int32).astype(np.float32)
    place = np.minimum(count + np.arange(order.size + 1), sps_table.size - 1)
    theta = tau * np.where(sps_table >= np.float32(2**-126), sps_table, np.float32(0))[place]
    stops = np.flatnonzero(theta[1:] <= theta[:-1]) if early_stop else np.flatnonzero(theta == theta.max())
    admitted = order[: stops[0] if stops.size else order.size]
    return np.bincount(admitted // max(columns, 1), minlength=rows).astype(np.int32)


def bound_query_lens(
    verify_lens: np.ndarray, num_accepted_max: np.ndarray, scheduled_lens: np.ndarray, *, num_speculative_tokens: int
) -> Tree:
    """Lengths that hold what is verified and what could have been accepted."""
    most = np.int32(num_speculative_tokens)
    verified = np.where(verify_lens < 0, most, np.minimum(verify_lens, most))
    accepted = np.clip(num_accepted_max, 0, most)
    lens = np.maximum(verified, accepted) + np.int32(1)
    lens = np.where(scheduled_lens > 0, np.minimum(lens, scheduled_lens), lens)
    fits = ~((scheduled_lens > 0) & (scheduled_lens < accepted + 1)).any()
    return {"query_lens": np.where(scheduled_lens == 0, 0, lens), "representable": np.asarray(fits)}


def _owners(cu_seqlens_q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row and offset of the positions that have an owner."""
    lens = np.diff(cu_seqlens_q)
    row = np.repeat(np.arange(lens.size, dtype=np.int32), lens)
    return row, np.arange(row.size, dtype=np.int32) - np.repeat(cu_seqlens_q[:-1], lens)


def _counted(first: np.ndarray, ends: np.ndarray, capacity: int) -> np.ndarray:
    """`first`, `first + 1`, ... over the span of every row; 0 behind them."""
    out = np.zeros(capacity, np.int32)
    total = ends[-1]
    out[:total] = np.repeat(first - ends[:-1], np.diff(ends)) + np.arange(total, dtype=np.int32)
    return out


def _write(out: np.ndarray, table: np.ndarray, starts: np.ndarray, lens: np.ndarray) -> None:
    """The first entries of each row of the table, as many as its span has places, into its span."""
    column = np.arange(table.shape[1], dtype=np.int32)
    kept = column < lens[:, None]
    out[(starts[:, None] + column)[kept]] = table[kept]


def _put(table: np.ndarray, slots: np.ndarray, values: np.ndarray) -> np.ndarray:
    new, written = table.copy(), (slots >= 0) & (slots < len(table))
    new[slots[written]] = values[written]
    return new
