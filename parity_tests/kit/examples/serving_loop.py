"""A serving loop in miniature: continuous batching with speculation on every device, and a host that never waits.

Requests come and go, read their prompts in chunks beside others that decode, sit out steps and lose their cache blocks
to older ones. Only the device knows how many drafts a step verifies and which are accepted; the host learns it `LAG`
steps late, from a copy that was begun then. `python -m parity_tests.kit.examples.serving_loop` serves forty requests.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import jax_spec
from parity_tests.kit.examples import toy_model

# Of each rank: rows of a step, slots of requests, drafts, blocks of the cache, of which a sequence has PAGES at most.
ROWS, SLOTS, K, BLOCKS, BLOCK_SIZE, PAGES = 4, 6, 3, 20, 4, 12
CHUNK, LAG = 6, 2
# The bound on a step's tokens that needs no device: prompt chunks are known, a row that decodes has K + 1 at most.
LADDER = jax_spec.bucket_ladder(8, ROWS * max(CHUNK, K + 1), step=8)
# Steps a second by number of tokens: beyond 10 tokens, a draft must be likely to be worth its place.
STEPS_A_SECOND: Any = np.array([1.0] * 10 + [0.8, 0.6, 0.5], np.float32)


class Kept(NamedTuple):
    """What stays on the device: state and confidence by slot, tokens by place in the cache."""

    state: jax_spec.StepState
    confidence: Any
    cache: Any


class Staged(NamedTuple):
    """What the host knows of a step, by row; rows that read their prompt come first, so it knows where they start."""

    input_ids: Any
    chunk_lens: Any
    source_rows: Any
    num_computed_tokens: Any
    block_tables: Any
    slots: Any


def step_donated(kept: Kept, staged: Staged) -> tuple[Kept, Any]:
    """One step of one rank, from staged rows to output tokens; `kept` is updated in place."""
    (ids, chunk_lens, sources, computed, tables, slots), state = staged, kept.state
    decodes = sources >= 0
    drafts = jax_spec.schedule_verify_lens(kept.confidence[jnp.maximum(sources, 0)], STEPS_A_SECOND, decodes)
    cu = jax_spec.cu_seqlens(jnp.where(decodes, drafts + 1, chunk_lens))
    inputs = jax_spec.prepare_step(ids, cu, sources, drafts, computed, state, tables, block_size=BLOCK_SIZE)
    cache = toy_model.write(kept.cache, inputs.slot_mapping, inputs.input_ids)
    row = jnp.minimum(jax_spec.token_rows(cu, capacity=ids.size).row, ROWS - 1)
    hidden = toy_model.target(cache, inputs.positions, tables[row], BLOCK_SIZE)
    sampled = toy_model.answer(hidden, inputs.positions)[inputs.verify.logits_indices]
    result = jax_spec.commit_step(state, inputs, cu, slots, sampled)
    last, accepted = result.last_token_indices, result.acceptance
    drafts, confidence = toy_model.drafter(hidden[last], inputs.positions[last], accepted.next_token_ids, K)
    state = jax_spec.store_drafts(result.state, slots, drafts)
    return Kept(state, toy_model.write(kept.confidence, slots, confidence), cache), accepted.output_token_ids


@dataclass(eq=False)
class Request:
    """A request as the host knows it: `tokens` as of `LAG` steps ago, and how much of its `text` it has had to read."""

    prompt: list[int]
    budget: int
    tokens: list[int] = field(default_factory=list)
    text: list[int] = field(default_factory=list)
    read: int = 0
    in_flight: int = 0
    slot: int = -1
    blocks: list[int] = field(default_factory=list)


@dataclass(eq=False)
class Rank:
    """One rank's requests, the oldest first, and its free slots and blocks."""

    waiting: deque[Request]
    running: list[Request] = field(default_factory=list)
    slots: list[int] = field(default_factory=lambda: [*range(SLOTS)])
    blocks: list[int] = field(default_factory=lambda: [*range(BLOCKS)])


# A request in a step, how many tokens of its prompt it reads there, 0 where it decodes, and whether a token follows.
Row = tuple[Request, int, bool]


def admit(rank: Rank) -> None:
    """Lets in who fits; one that was preempted reads its own tokens again, once the host knows them all."""
    while rank.waiting and rank.slots and not rank.waiting[0].in_flight:
        text = rank.waiting[0].prompt + rank.waiting[0].tokens
        if len(rank.blocks) * BLOCK_SIZE < len(text) + K + 1:
            return
        request = rank.waiting.popleft()
        request.text, request.read, request.slot = text, 0, rank.slots.pop()
        rank.running.append(request)


def leave(rank: Rank, request: Request) -> None:
    """Takes slot and blocks from a request: steps under way use them before anybody else does."""
    rank.running.remove(request)
    rank.slots.append(request.slot)
    rank.blocks += request.blocks
    request.blocks = []


def grow(rank: Rank) -> None:
    """Blocks for as far as each request can be after this step; the youngest are preempted for the oldest."""
    for request in [*rank.running]:
        length = len(request.prompt + request.tokens) + (request.in_flight + 1) * (K + 1)
        while request in rank.running and len(request.blocks) * BLOCK_SIZE < length:
            if rank.blocks:
                request.blocks.append(rank.blocks.pop())
            else:
                rank.waiting.appendleft(rank.running[-1])
                leave(rank, rank.running[-1])


def choose(rank: Rank, number: int) -> list[Row]:
    """Who is in the step; where there are too many, they take turns."""
    first = number % max(len(rank.running), 1)
    turn = (rank.running[first:] + rank.running[:first])[:ROWS]
    rows = ((r, min(CHUNK, len(r.text) - r.read), len(r.text) <= r.read + CHUNK) for r in turn)
    return sorted(rows, key=lambda row: row[1] == 0)


def stage(rows: list[Row], bucket: int) -> Staged:
    """The rows of one rank as arrays of their own; of a row that decodes, the device has the rest."""
    shapes = (bucket, 0), (ROWS, 0), (ROWS, -1), (ROWS, 0), ((ROWS, PAGES), -1), (ROWS, -1)
    staged, place = Staged(*(np.full(shape, value, np.int32) for shape, value in shapes)), 0
    for row, (request, length, _) in enumerate(rows):
        staged.input_ids[place : place + length] = request.text[request.read : request.read + length]
        staged.chunk_lens[row], staged.num_computed_tokens[row] = length, request.read
        staged.source_rows[row], staged.slots[row] = -1 if length else request.slot, request.slot
        staged.block_tables[row, : len(request.blocks)] = request.blocks
        place, request.read, request.in_flight = place + length, request.read + length, request.in_flight + 1
    return staged


def collect(ranks: list[Rank], batch: list[list[Row]], tokens: jax.Array) -> None:
    """Takes in what a step of `LAG` steps ago said; who has all that it wanted, or more, leaves."""
    for rank, rows, lines in zip(ranks, batch, np.asarray(tokens).reshape(len(ranks), ROWS, K + 1), strict=True):
        for (request, _, speaks), line in zip(rows, lines, strict=False):
            request.in_flight -= 1
            request.tokens += line[line >= 0].tolist() if speaks else []
            if len(request.tokens) >= request.budget and request in rank.running:
                leave(rank, request)


def empty(ranks: int) -> Kept:
    """What all ranks keep before the first step."""
    slots, places = ranks * SLOTS, ranks * BLOCKS * BLOCK_SIZE
    state = jax_spec.StepState(*(jnp.zeros(shape, jnp.int32) for shape in (slots, (slots, K), slots)))
    return Kept(state, jnp.zeros((slots, K), jnp.float32), jnp.zeros(places, jnp.int32))


def serve(requests: list[Request], mesh: Mesh) -> Iterator[tuple[list[Rank], list[list[Row]], int]]:
    """Serves all requests; of each step, the ranks, the rows they chose and the bucket."""
    by_rank = NamedSharding(mesh, PartitionSpec("data"))

    def placed(batch: list[list[Row]], bucket: int) -> Staged:
        parts = [stage(rows, bucket) for rows in batch]
        return jax.device_put(Staged(*map(np.concatenate, zip(*parts, strict=True))), by_rank)

    def arguments(_: object, bucket: int) -> jax_spec.StepShapes:
        return jax_spec.StepShapes((kept, placed([[]] * mesh.size, bucket)), {})

    kept = jax.jit(empty, static_argnums=0, out_shardings=by_rank)(mesh.size)
    programs = jax_spec.precompile([jax_spec.shard_rows(step_donated, mesh, "data")], LADDER, arguments)
    ranks, flights = [Rank(deque(requests[place :: mesh.size])) for place in range(mesh.size)], deque()
    for number in count():
        if len(flights) == LAG:
            collect(ranks, *flights.popleft())
        if not any(rank.waiting or rank.running for rank in ranks):
            return
        for rank in ranks:
            admit(rank)
            grow(rank)
        batch = [choose(rank, number) for rank in ranks]
        bucket = jax_spec.pick_bucket(LADDER, [sum(length or K + 1 for _, length, _ in rows) for rows in batch])
        with jax.no_tracing():
            kept, tokens = programs["step_donated", bucket](kept, placed(batch, bucket))
        tokens.copy_to_host_async()
        flights.append((batch, tokens))
        yield ranks, batch, bucket


if __name__ == "__main__":
    FORTY = [Request([n * (place + 3) % 97 for n in range(3 + place % 11)], 4 + place % 10) for place in range(40)]
    steps = len([*serve(FORTY, jax.make_mesh((len(jax.devices()),), ("data",)))])
    print(f"{steps} steps, {len(FORTY)} requests, {sum(len(request.tokens) for request in FORTY)} tokens")
