"""One recorded step in the names of the engines that run on torch."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from parity_tests.kit.engines._recorded import Found, Recorded, in_rows, packed_decodes


def atom(recorded: Recorded) -> Iterator[Found]:
    """Every row, under a graph of as many rows as the batch can have and K + 1 tokens each."""
    from torch_ref.engines import atom as theirs

    run, step = recorded.run, recorded.step
    cu, drafts = _tensor(step.cu_seqlens_q), _tensor(step.num_draft_tokens)
    tables = _tensor(step.state["anchor_token_ids"]), _tensor(step.state["draft_token_ids"])
    staged, src, graph = _tensor(step.staged_input_ids), _tensor(step.source_rows), run.rows * (run.k + 1)
    filled = theirs.fill_deferred_decode_ids(staged, cu, src, *tables, graph_bs=run.rows, max_seqlen_q=run.k + 1)
    end = max(int(step.cu_seqlens_q[-1]), graph)
    yield Found("out", np.append(step.input_ids[:end], step.staged_input_ids[end:]), filled)
    positions = theirs.decode_positions(cu, _tensor(recorded.lens_after), capacity=run.capacity)
    yield Found("positions", recorded.positions, positions)
    metadata = theirs.calc_spec_decode_metadata(_tensor(step.input_ids), cu, drafts, mtp_k=run.k)
    counted = np.cumsum(step.num_draft_tokens, dtype=np.int32)
    yield Found("cu_num_draft_tokens", counted, metadata.cu_num_draft_tokens)
    counts = theirs.verification_counts(_acceptance(recorded, filled), mtp_k=run.k)
    yield Found("num_bonus", step.num_accepted, counts.num_bonus)
    anchors = theirs.anchor_token_indices(cu, counts.num_reject, mtp_k=run.k)[_tensor(recorded.decodes)]
    yield Found("anchors", (step.cu_seqlens_q[:-1] + step.num_accepted)[recorded.decodes], anchors)


def vllm(recorded: Recorded) -> Iterator[Found]:
    """Every row by its request state; a row that emits nothing is a token short of its prompt's end."""
    from torch_ref.engines import vllm as theirs

    run, step = recorded.run, recorded.step
    cu, idx, live = _tensor(step.cu_seqlens_q), _tensor(step.slots), step.slots >= 0
    prefill, computed = np.zeros(run.num_slots, np.int32), step.state["num_computed_tokens"].copy()
    computed[step.slots[live]] = step.num_computed_tokens[live]
    reading = live & ~recorded.decodes
    prefill[step.slots[reading]] = (recorded.lens_after + ~recorded.emits)[reading]
    found = theirs.prepare_pos_seq_lens(idx, cu, _tensor(computed), capacity=run.capacity, max_num_reqs=run.rows + 3)
    yield Found("positions", recorded.positions.astype(np.int64), found.positions)
    yield Found("seq_lens", np.append(recorded.lens_after, np.zeros(3, np.int32)), found.seq_lens)
    anchors, drafts = _tensor(step.state["anchor_token_ids"]), _tensor(step.state["draft_token_ids"])
    wanted = np.where(step.query_lens > 0, step.num_draft_tokens + 1, 0)
    cu_num_logits, lens = _tensor(np.cumsum([0, *wanted], dtype=np.int32)), found.seq_lens[: run.rows]
    rows = _tensor(step.staged_input_ids), idx, anchors, cu, lens, _tensor(prefill), drafts, cu_num_logits
    ids, logits = theirs.combine_sampled_and_draft_tokens(*rows, num_logits=len(recorded.logits))
    yield Found("input_ids", step.input_ids, ids)
    yield Found("logits_indices", np.array(recorded.logits, np.int64), logits)
    acceptance = _acceptance(recorded, ids)
    counts = theirs.get_num_sampled_and_rejected(acceptance, cu_num_logits, lens, idx, _tensor(prefill))
    yield Found("num_sampled", np.where(recorded.emits, step.num_accepted + 1, 0).astype(np.int32), counts.num_sampled)
    tables = theirs.RequestTables(_tensor(computed), anchors)
    new = theirs.post_update(tables, idx, acceptance.output_token_ids, counts, cu)
    yield Found("num_computed_tokens", step.committed["num_computed_tokens"], new.num_computed_tokens)
    sampled = step.state["anchor_token_ids"].copy()
    sampled[step.slots[recorded.emits]] = step.next_token_ids[recorded.emits]
    yield Found("last_sampled_tokens", sampled, new.last_sampled_tokens)


def sglang(recorded: Recorded) -> Iterator[Found]:
    """The decode rows alone, as int64, with a cache place for each position that no other position has."""
    from torch_ref.engines import sglang as theirs

    run, step, decodes = recorded.run, recorded.step, recorded.decodes
    anchors, drafts = _wide(step.anchors)[:, None], _wide(step.drafts)
    lens = _tensor(np.where(decodes, step.query_lens, 0).astype(np.int32))
    ids = theirs.compact_verify_ids(anchors, drafts, lens, padded_total=run.capacity)
    yield Found("verify_ids", packed_decodes(recorded, step.input_ids).astype(np.int64), ids)
    longest = int(recorded.lens_after.max())
    pool = (1 + np.arange(run.num_slots * longest, dtype=np.int32)).reshape(run.num_slots, longest)
    computed, slots = _wide(step.num_computed_tokens), _wide(step.source_rows)
    window = theirs.ragged_verify_window(computed, lens, slots, _tensor(pool), padded_total=run.capacity)
    yield Found("positions", packed_decodes(recorded, recorded.positions).astype(np.int64), window.positions)
    owners = np.repeat(step.source_rows, step.query_lens)
    places = np.zeros(run.capacity, np.int32)
    places[: owners.size] = pool[owners, recorded.positions[: owners.size]]
    yield Found("cache_loc", packed_decodes(recorded, places).astype(np.int64), window.verify_cache_loc)
    candidates = np.concatenate([step.anchors[:, None], step.drafts], 1)
    accepted = theirs.accept_greedy(_wide(candidates), _wide(in_rows(recorded)), lens, computed)
    yield Found("correct_len", np.where(decodes, step.num_accepted, 0).astype(np.int32), accepted.correct_len)
    yield Found("bonus", np.where(decodes, step.next_token_ids, 0).astype(np.int64), accepted.bonus)
    after = np.where(decodes, recorded.lens_after - recorded.num_rejected, step.num_computed_tokens)
    yield Found("new_seq_lens", after.astype(np.int64), accepted.new_seq_lens)
    kept = np.pad(step.drafts, ((0, 0), (0, 1)))
    out = np.where((step.output_token_ids >= 0) & decodes[:, None], step.output_token_ids, kept)
    yield Found("out_tokens", out.astype(np.int64), accepted.out_tokens)


def _acceptance(recorded: Recorded, input_ids: Any) -> Any:
    """What greedy verification makes of the drafts in `input_ids`."""
    import torch_ref

    step = recorded.step
    rows = _tensor(step.cu_seqlens_q), _tensor(step.num_draft_tokens)
    indices = torch_ref.verify_indices(*rows, num_speculative_tokens=recorded.run.k)
    drafts = torch_ref.gather_draft_token_ids(input_ids, indices)
    return torch_ref.accept_greedy(indices, drafts, _tensor(step.sampled_token_ids))


def _tensor(array: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(array.copy())


def _wide(array: np.ndarray) -> Any:
    return _tensor(array.astype(np.int64))
