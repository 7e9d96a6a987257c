"""One step of the loop on the device: lengths, inputs, forward, acceptance, drafts."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from parity_tests.lossless.frameworks import Framework
from parity_tests.lossless.model import Batch, Model, Sizes
from parity_tests.lossless.modes import Asked, Mode, throughput

POISON = -7
"""Stands where the host must not know a value: it would be seen in whatever is derived from it."""


class Engine(NamedTuple):
    """A model in a framework at fixed shapes."""

    framework: Framework
    model: Model
    sizes: Sizes
    step: Callable[[Any, "Memory", "Staged", Any], tuple["Memory", "Seen"]]
    """`one_step` as one program of `(parameters, memory, staged, query_lens)`, whatever the mode."""


class Staged(NamedTuple):
    """What the host knows of a step, one entry a row."""

    chunks: Any
    """int32 `[B, C]`, tokens of a prompt, where the row reads one."""
    scheduled_lens: Any
    """int32 `[B]`, tokens of the chunk, or the most that a decoding row may forward; 0 for one that sits out."""
    source_rows: Any
    """int32 `[B]`, the slot that a decoding row continues, -1 for others."""
    num_computed_tokens: Any
    """int32 `[B]`, tokens in the cache, where the row reads a prompt."""
    slots: Any
    """int32 `[B]`, slot of the row's request, -1 for no row."""
    block_tables: Any
    """int32 `[B, P]`, -1 for no block."""


class Memory(NamedTuple):
    """What stays on the device from step to step."""

    cache: Any
    state: Any
    confidence: Any
    """float32 `[S, K]`, of the drafts in `state`."""
    num_accepted_max: Any
    """int32 `[]`, the most drafts that a row accepted in the last step."""
    sps_table: Any
    """float32 `[N]`, steps a second by tokens in the batch."""


class Seen(NamedTuple):
    """What the host may read of a step when it is over, one entry a row."""

    query_lens: Any
    num_draft_tokens: Any
    num_computed_tokens: Any
    input_ids: Any
    anchor_token_ids: Any
    draft_token_ids: Any
    sampled_token_ids: Any
    num_accepted: Any
    next_token_ids: Any
    output_token_ids: Any
    next_draft_token_ids: Any


def make_engine(framework: Framework, model: Model, sizes: Sizes) -> Engine:
    """An engine with its program."""
    return Engine(framework, model, sizes, framework.program_in_place(partial(one_step, framework, model, sizes)))


def first_memory(engine: Engine) -> Memory:
    """A cache and a state in which nothing has been written."""
    framework, model, sizes, _ = engine
    shapes = (sizes.slots,), (sizes.slots, sizes.drafts), (sizes.slots,)
    state = framework.package.StepState(*(framework.put(np.full(shape, POISON, np.int32)) for shape in shapes))
    confidence = framework.put(np.zeros((sizes.slots, sizes.drafts), np.float32))
    accepted = framework.put(np.zeros((), np.int32))
    return Memory(model.cache(sizes), state, confidence, accepted, framework.put(throughput(sizes)))


def one_step(
    framework: Framework, model: Model, sizes: Sizes, parameters: Any, memory: Memory, staged: Staged, query_lens: Any
) -> tuple[Memory, Seen]:
    """Everything from one forward to the next; nothing in it is read by the host."""
    package, xp, state = framework.package, framework.xp, memory.state
    batch = _prepared(framework, sizes, state, staged, query_lens)
    inputs = batch.inputs
    cache, sampled = model.forward(parameters, memory.cache, batch)
    result = package.commit_step(state, inputs, batch.cu_seqlens_q, staged.slots, sampled)
    drafts, confidence = model.draft(parameters, cache, batch, result)
    # What a row of length 0 drafts is nothing: its request keeps what it has.
    slots = xp.where(query_lens > 0, staged.slots, -1)
    kept = Memory(
        cache,
        package.store_drafts(result.state, slots, drafts),
        framework.write(memory.confidence, slots, confidence),
        xp.asarray(result.acceptance.num_accepted.max()),
        memory.sps_table,
    )
    source = xp.clip(staged.source_rows, 0, sizes.slots - 1)
    return kept, Seen(
        query_lens=query_lens,
        num_draft_tokens=inputs.verify.num_draft_tokens,
        num_computed_tokens=inputs.num_computed_tokens,
        input_ids=inputs.input_ids,
        anchor_token_ids=state.anchor_token_ids[source],
        draft_token_ids=state.draft_token_ids[source],
        sampled_token_ids=sampled,
        num_accepted=result.acceptance.num_accepted,
        next_token_ids=result.acceptance.next_token_ids,
        output_token_ids=result.acceptance.output_token_ids,
        next_draft_token_ids=drafts,
    )


def _prepared(framework: Framework, sizes: Sizes, state: Any, staged: Staged, query_lens: Any) -> Batch:
    """What the forward reads, the prompt chunks laid out first."""
    package, xp, tables = framework.package, framework.xp, staged.block_tables
    cu = package.cu_seqlens(query_lens)
    rows = package.token_rows(cu, capacity=sizes.capacity)
    ids, computed = _laid_out(xp, staged.chunks, rows), staged.num_computed_tokens
    drafts = xp.where(staged.source_rows >= 0, xp.clip(query_lens - 1, 0, sizes.drafts), 0)
    inputs = package.prepare_step(
        ids, cu, staged.source_rows, drafts, computed, state, tables, block_size=sizes.block_size
    )
    return Batch(inputs, rows, cu, staged.slots, tables)


def lengths(framework: Framework, sizes: Sizes, mode: Mode, memory: Memory, staged: Staged) -> Any:
    """The lengths that the mode wants of the rows that decode, the host's own of all others, int32 `[B]`."""
    xp = framework.xp
    carried = staged.source_rows >= 0
    live = carried & (staged.scheduled_lens > 0)
    source = xp.clip(staged.source_rows, 0, sizes.slots - 1)
    confidence = xp.where(live[:, None], memory.confidence[source], xp.zeros_like(memory.confidence[source]))
    asked = xp.where(carried, staged.scheduled_lens, 0)
    wanted = mode.query_lens(
        framework.package, xp, Asked(asked, live, confidence, memory.sps_table, memory.num_accepted_max, sizes)
    )
    return xp.where(carried, wanted, staged.scheduled_lens)


def _laid_out(xp: Any, chunks: Any, rows: Any) -> Any:
    """The chunks of all rows in the flat buffer; what is neither in a chunk nor in a row is poisoned."""
    height, width = chunks.shape
    known = rows.valid & (rows.offset < width)
    ids = chunks[xp.clip(rows.row, 0, height - 1), xp.clip(rows.offset, 0, width - 1)]
    return xp.where(known, ids, POISON)
