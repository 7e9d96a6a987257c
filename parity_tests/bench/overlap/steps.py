"""The step between two forwards, built on the host and built on the device: the same programs but for what differs.

How many drafts a row verifies is decided on the device, as confidence scheduling does: one more than it just accepted.
So lengths, anchors and drafts are all on the device when the next step is due.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from parity_tests.bench.overlap import model
from parity_tests.bench.overlap.host import ASSEMBLE, DISPATCH, Host, noted, read, schedule
from parity_tests.bench.overlap.model import Sizes, Weights, capacity_of
from parity_tests.bench.overlap.stacks import Stack


class Carry(NamedTuple):
    """What one step leaves to the next, on the device."""

    state: Any
    num_draft_tokens: Any
    cu_seqlens_q: Any


class Constants(NamedTuple):
    """What the host put on the device before the first step: every row is carried, and is its own slot."""

    weights: Weights
    rows: Any
    no_ids: Any
    no_counts: Any


class Programs(NamedTuple):
    """What is compiled; `stage` and `finish_bounded` serve the step on the host, `prepare` and `finish` the other."""

    prepare: Callable[..., Any]
    stage: Callable[..., Any]
    forward: Callable[..., Any]
    finish: Callable[..., Any]
    finish_bounded: Callable[..., Any]


class Loop(NamedTuple):
    """All that a step needs besides what is carried; the block tables go to the device anew in every step."""

    stack: Stack
    sizes: Sizes
    constants: Constants
    programs: Programs
    block_tables: np.ndarray


Step = Callable[[Loop, Carry, Host], tuple[Carry, Any]]


def step_before(loop: Loop, carry: Carry, host: Host) -> tuple[Carry, Any]:
    """The old way: anchors, drafts and lengths come to the host, rows are packed in Python, the buffer goes back.

    Its scheduler works on what was read, so behind the reads.
    """
    stack, state = loop.stack, carry.state
    anchors, drafts = read(host, stack.fetch, state.anchor_token_ids), read(host, stack.fetch, state.draft_token_ids)
    bounds, total = read(host, stack.fetch, carry.cu_seqlens_q), read(host, stack.fetch_last, carry.cu_seqlens_q)
    schedule(host)
    with noted(host, ASSEMBLE):
        ids = assembled(bounds, anchors, drafts, capacity_of(loop.sizes))
    with noted(host, DISPATCH):
        bound = stack.put(np.array(max(total, 1) - 1, np.int32))
        inputs = loop.programs.stage(stack.put(ids), carry, stack.put(loop.block_tables))
        sampled, hidden = loop.programs.forward(loop.constants.weights, inputs)
        return loop.programs.finish_bounded(loop.constants, carry, inputs, sampled, hidden, bound)


def step_after(loop: Loop, carry: Carry, host: Host) -> tuple[Carry, Any]:
    """This project's way: nothing is read, so the scheduler works for a step that has yet to come to the device."""
    schedule(host)
    with noted(host, DISPATCH):
        inputs = loop.programs.prepare(loop.constants, carry, loop.stack.put(loop.block_tables))
        sampled, hidden = loop.programs.forward(loop.constants.weights, inputs)
        return loop.programs.finish(loop.constants, carry, inputs, sampled, hidden)


def assembled(bounds: np.ndarray, anchors: np.ndarray, drafts: np.ndarray, capacity: int) -> np.ndarray:
    """The ragged buffer, row by row, as it is written where nobody thought of the device."""
    ids = np.zeros(capacity, np.int32)
    for row, anchor in enumerate(anchors):
        start, end = int(bounds[row]), int(bounds[row + 1])
        ids[start] = anchor
        ids[start + 1 : end] = drafts[row, : end - start - 1]
    return ids


def make_loop(stack: Stack, sizes: Sizes) -> tuple[Loop, Carry]:
    """The loop with its programs, and what its first step starts from."""
    rows, drafts = sizes.rows, sizes.drafts

    def put(values: Any) -> Any:
        return stack.put(np.array(values, np.int32))

    weights = model.make_weights(sizes)
    weights = weights._replace(layers=tuple(map(stack.put, weights.layers)))
    weights = Weights(*(stack.put(leaf) if isinstance(leaf, np.ndarray) else leaf for leaf in weights))
    constants = Constants(weights, put(range(rows)), put([0] * capacity_of(sizes)), put([0] * rows))
    random = np.random.default_rng(1)
    anchors, guesses = (random.integers(sizes.vocabulary, size=size) for size in (rows, (rows, drafts)))
    state = stack.package.StepState(put(anchors), put(guesses), put(random.integers(100, size=rows)))
    carry = Carry(state, put([drafts] * rows), put(np.arange(rows + 1) * (drafts + 1)))
    tables = np.arange(rows * sizes.blocks, dtype=np.int32).reshape(rows, sizes.blocks)
    return Loop(stack, sizes, constants, _programs(stack, sizes), tables), carry


def _programs(stack: Stack, sizes: Sizes) -> Programs:
    package, xp = stack.package, stack.xp

    def prepare(constants: Constants, carry: Carry, tables: Any) -> Any:
        arrays = constants.no_ids, carry.cu_seqlens_q, constants.rows, carry.num_draft_tokens, constants.no_counts
        return package.prepare_step(*arrays, carry.state, tables, block_size=sizes.block_size)

    def stage(ids: Any, carry: Carry, tables: Any) -> Any:
        return staged(package, sizes, ids, carry, tables)

    def forward(weights: Weights, inputs: Any) -> tuple[Any, Any]:
        return model.forward(xp, weights, inputs)

    def finish(constants: Constants, carry: Carry, inputs: Any, sampled: Any, hidden: Any) -> tuple[Carry, Any]:
        result = package.commit_step(carry.state, inputs, carry.cu_seqlens_q, constants.rows, sampled)
        return _next(stack, constants, result, hidden[result.last_token_indices])

    def finish_bounded(
        constants: Constants, carry: Carry, inputs: Any, sampled: Any, hidden: Any, bound: Any
    ) -> tuple[Carry, Any]:
        result = package.commit_step(carry.state, inputs, carry.cu_seqlens_q, constants.rows, sampled)
        place = carry.cu_seqlens_q[1:] - 1 - result.acceptance.num_rejected
        return _next(stack, constants, result, hidden[xp.minimum(xp.clip(place, 0), bound)])

    return Programs(*map(stack.compile, (prepare, stage, forward, finish, finish_bounded)))


def staged(package: Any, sizes: Sizes, ids: Any, carry: Carry, tables: Any) -> Any:
    """`prepare_step` for ids that came from the host."""
    cu, computed = carry.cu_seqlens_q, carry.state.num_computed_tokens
    verify = package.verify_indices(cu, carry.num_draft_tokens, num_speculative_tokens=sizes.drafts)
    size = {"capacity": capacity_of(sizes)}
    return package.StepInputs(
        input_ids=ids,
        positions=package.token_positions(cu, computed, **size),
        num_computed_tokens=computed,
        seq_lens=package.seq_lens(cu, computed),
        slot_mapping=package.slot_mapping(cu, computed, tables, **size, block_size=sizes.block_size),
        verify=verify,
        draft_token_ids=package.gather_draft_token_ids(ids, verify),
    )


def _next(stack: Stack, constants: Constants, result: Any, seeds: Any) -> tuple[Carry, Any]:
    """The drafter's guesses stored, the next lengths decided; and the tokens that this step emitted."""
    package, state, acceptance = stack.package, result.state, result.acceptance
    drafts = state.draft_token_ids.shape[1]
    anchors, positions = state.anchor_token_ids, state.num_computed_tokens
    guesses = model.draft(stack.xp, constants.weights, anchors, positions, seeds, drafts)
    wanted = stack.xp.clip(acceptance.num_accepted + 1, 0, drafts)
    carry = Carry(package.store_drafts(state, constants.rows, guesses), wanted, package.cu_seqlens(wanted + 1))
    return carry, acceptance.output_token_ids
