"""One recorded step in the names of the engines that run on JAX."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

from parity_tests.kit.engines._recorded import Found, Recorded, packed_decodes, padded
from parity_tests.kit.jax_subject import quick_options


def tpu_inference(recorded: Recorded) -> Iterator[Found]:
    """Staged as by a host that has not heard of the last rejections yet; the positions in three rows, for M-RoPE."""
    from jax_spec.engines import tpu_inference as theirs

    run, step = recorded.run, recorded.step
    too_far = np.where(recorded.decodes, recorded.rejected_before[step.source_rows], 0).astype(np.int32)
    early = recorded.positions + padded(np.repeat(too_far, step.query_lens), run.capacity)
    cu, tables = _put(step.cu_seqlens_q), (step.state["anchor_token_ids"], step.state["draft_token_ids"])
    new = _hurried(theirs.substitute_spec_tokens)(
        _put(step.staged_input_ids),
        _put(recorded.lens_after + too_far),
        _put(np.stack([early, early + 1, early])),
        cu,
        *map(_put, (*tables, recorded.rejected_before, step.source_rows)),
    )
    yield Found("input_ids", step.input_ids, new.input_ids)
    yield Found("seq_lens", recorded.lens_after, new.seq_lens)
    positions = recorded.positions
    yield Found("positions", np.stack([positions, positions + 1, positions]), new.positions)
    room = run.rows * (run.k + 1)
    statics = ("num_speculative_tokens", run.k), ("capacity", room)
    metadata = _hurried(theirs.spec_metadata, *statics)(cu, _put(step.num_draft_tokens))
    yield Found("draft_lengths", step.num_draft_tokens, metadata.draft_lengths)
    yield Found("final_logits_indices", padded(np.array(recorded.logits), room), metadata.final_logits_indices)
    kept = _hurried(theirs.compact_accepted, ("capacity", run.capacity))(cu, _put(recorded.num_rejected))
    ends = zip(pairwise(step.cu_seqlens_q), recorded.num_rejected, strict=True)
    places = np.concatenate([np.arange(start, end - lost) for (start, end), lost in ends])
    yield Found("token_indices", padded(places, run.capacity), kept.token_indices)


def sglang_jax(recorded: Recorded) -> Iterator[Found]:
    """The decode rows alone, which is all that it speculates on, with their state in its relay buffers."""
    from jax_spec.engines import sglang_jax as theirs

    run, step, decodes = recorded.run, recorded.step, recorded.decodes
    fields = "draft_token_ids", "anchor_token_ids", "num_computed_tokens"
    relay = theirs.RelayBuffers(*(_put(step.state[field]) for field in fields))
    slots = _put(step.source_rows)
    drafts, anchors, computed = _hurried(theirs.gather_relay)(relay, slots)
    lens = _put(np.where(decodes, step.query_lens, 0).astype(np.int32))
    chain = _hurried(theirs.ragged_chain_verify, ("capacity", run.capacity))(anchors, drafts, computed, lens)
    yield Found("draft_tokens", packed_decodes(recorded, step.input_ids), chain.draft_tokens)
    yield Found("positions", packed_decodes(recorded, recorded.positions), chain.positions)
    predict = np.zeros(run.capacity, np.int32)
    predict[recorded.logits] = step.sampled_token_ids[: len(recorded.logits)]
    predict = _put(packed_decodes(recorded, predict))
    accept = _hurried(theirs.ragged_chain_accept, ("num_speculative_tokens", run.k))
    accepted = accept(chain.draft_tokens, chain.cu_q_lens, predict)
    yield Found("accept_lens", np.where(decodes, step.num_accepted + 1, 0).astype(np.int32), accepted.accept_lens)
    yield Found("verified_id", np.where(decodes, step.next_token_ids, 0).astype(np.int32), accepted.verified_id)
    after = recorded.lens_after - recorded.num_rejected
    new = _hurried(theirs.update_relay)(
        relay, slots, *map(_put, (step.next_draft_token_ids, step.next_token_ids, after))
    )
    written = step.source_rows[decodes]
    for name, field in zip(new._fields, fields, strict=True):
        expected = step.state[field].copy()
        expected[written] = step.stored[field][written]
        yield Found(name, expected, getattr(new, name))


def _put(array: np.ndarray) -> Any:
    import jax.numpy as jnp

    # A copy: the CPU may read a NumPy buffer after the call has returned.
    return jnp.array(array)


@cache
def _hurried(function: Callable, *statics: tuple[str, int]) -> Callable:
    """The function with its statics, compiled with less care: all the time here is the compiler's."""
    import jax

    return jax.jit(partial(function, **dict(statics)), compiler_options=quick_options())
