"""The whole loop as one `jax.lax.while_loop`: requests in, all their tokens out, and no host in between."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from parity_tests.lossless.model import Sizes
from parity_tests.lossless.modes import Mode
from parity_tests.lossless.step import POISON, Engine, Memory, Staged, first_memory, lengths
from parity_tests.lossless.workload import Request

ON_DEVICE = "jax-while-loop"
"""What a report calls such a run; it has a schedule of its own, so that only its tokens can be compared."""


class Everything(NamedTuple):
    """All requests, on the device from the start."""

    prompts: Any
    """int32 `[R, L]`."""
    prompt_lens: Any
    """int32 `[R]`."""
    new_tokens: Any
    """int32 `[R]`."""


class Progress(NamedTuple):
    """Where the loop stands. Each row serves one request after another, and sits out a step now and then."""

    memory: Memory
    forwards: Any
    """int32 `[]`."""
    arrived: Any
    """int32 `[]`, requests that have had a row."""
    request: Any
    """int32 `[B]`, the row's request, R or more for none."""
    read: Any
    """int32 `[B]`, tokens of its prompt in the cache."""
    emitted: Any
    """int32 `[B]`, tokens that it has emitted."""
    outputs: Any
    """int32 `[R, N]`, tokens of every request, -1 behind them."""


class Done(NamedTuple):
    """The result of the loop."""

    tokens: tuple[tuple[int, ...], ...]
    forwards: int


def decode(engine: Engine, mode: Mode, requests: Sequence[Request]) -> Done:
    """Every request decoded in one dispatch.

    Args:
        engine: JAX's; the capacity must hold a chunk or K + 1 tokens of every row, the cache all pages of every slot.
        mode: how many drafts are verified.
        requests: their arrivals don't count: a row takes the next as soon as it is free.
    """
    sizes = engine.sizes
    places, blocks = sizes.rows * max(sizes.chunk, sizes.drafts + 1), sizes.slots * sizes.pages
    if places > sizes.capacity or blocks > sizes.blocks:
        raise ValueError(f"`engine`: got {sizes}, expected a capacity of at least {places} and {blocks} blocks")
    program = engine.framework.program(partial(whole, engine, mode))
    forwards, outputs = program(*arguments(engine, requests))
    told = zip(np.asarray(outputs).tolist(), requests, strict=True)
    return Done(tuple(tuple(row[: request.new_tokens]) for row, request in told), int(forwards))


def arguments(engine: Engine, requests: Sequence[Request]) -> tuple[Any, Progress, Everything]:
    """What `whole` takes: the model's parameters, the start, and all requests."""
    asked = Everything(*(engine.framework.put(table) for table in _tables(requests)))
    return engine.model.parameters, _start(engine, requests), asked


def whole(engine: Engine, mode: Mode, parameters: Any, start: Progress, asked: Everything) -> tuple[Any, Any]:
    """The loop as one function of arrays: how many forwards, and all tokens, -1 behind them."""
    from jax import lax

    most = 2 * (asked.prompts.size + start.outputs.size)

    def goes_on(now: Progress) -> Any:
        return (_runs(now, asked).any() | (now.arrived < asked.new_tokens.size)) & (now.forwards < most)

    end = lax.while_loop(goes_on, partial(_advance, engine, mode, parameters, asked), start)
    return end.forwards, end.outputs


def _advance(engine: Engine, mode: Mode, parameters: Any, asked: Everything, now: Progress) -> Progress:
    xp, sizes = engine.framework.xp, engine.sizes
    now = _with_arrivals(xp, asked, now)
    staged = _staged(xp, sizes, asked, now)
    query_lens = lengths(engine.framework, sizes, mode, now.memory, staged)
    memory, seen = engine.step(parameters, now.memory, staged, query_lens)
    request = xp.clip(now.request, 0, asked.new_tokens.size - 1)
    read = now.read + xp.where(staged.source_rows < 0, staged.scheduled_lens, 0)
    speaks = (staged.scheduled_lens > 0) & (read == asked.prompt_lens[request])
    count = xp.minimum(seen.num_accepted + 1, asked.new_tokens[request] - now.emitted)
    count = xp.where(speaks, count, 0)
    column = xp.arange(sizes.drafts + 1, dtype=xp.int32)
    width = now.outputs.shape[1]
    place = request[:, None] * width + now.emitted[:, None] + column
    place = xp.where(column < count[:, None], place, -1)
    outputs = engine.framework.write(now.outputs.reshape(-1), place, seen.output_token_ids)
    return Progress(
        *(memory, now.forwards + 1, now.arrived, now.request),
        *(read, now.emitted + count, outputs.reshape(now.outputs.shape)),
    )


def _runs(now: Progress, asked: Everything) -> Any:
    """Whether each row has a request that is not done."""
    last = asked.new_tokens.size - 1
    return (now.request <= last) & (now.emitted < asked.new_tokens[now.request.clip(0, last)])


def _with_arrivals(xp: Any, asked: Everything, now: Progress) -> Progress:
    """The next requests in the rows that have none that runs."""
    free = ~_runs(now, asked)
    turn = now.arrived + xp.cumsum(free, dtype=xp.int32) - 1
    starts = free & (turn < asked.new_tokens.size)
    return now._replace(
        arrived=now.arrived + starts.sum(dtype=xp.int32),
        request=xp.where(starts, turn, now.request),
        read=xp.where(starts, 0, now.read),
        emitted=xp.where(starts, 0, now.emitted),
    )


def _staged(xp: Any, sizes: Sizes, asked: Everything, now: Progress) -> Staged:
    """What a host would hand over: the next chunk of every prompt, K + 1 tokens at most for every row that decodes."""
    runs, row = _runs(now, asked), xp.arange(sizes.rows, dtype=xp.int32)
    rests = (now.forwards + 3 * row) % 7 == 0
    request = xp.clip(now.request, 0, asked.new_tokens.size - 1)
    unread = asked.prompt_lens[request] - now.read
    decodes = runs & (unread == 0)
    column = now.read[:, None] + xp.arange(sizes.chunk, dtype=xp.int32)
    chunks = asked.prompts[request[:, None], xp.clip(column, 0, asked.prompts.shape[1] - 1)]
    wanted = xp.minimum(asked.new_tokens[request] - now.emitted, sizes.drafts + 1)
    lens = xp.where(decodes, wanted, xp.minimum(unread, sizes.chunk))
    # Neither slots nor blocks stand in the order of the rows, so that one taken for the other is seen.
    slot = sizes.slots - 1 - row
    block = xp.arange(sizes.pages, dtype=xp.int32) * sizes.slots + slot[:, None]
    return Staged(
        xp.where(decodes[:, None], POISON, chunks),
        xp.where(runs & ~rests, lens, 0),
        xp.where(decodes, slot, -1),
        xp.where(decodes, POISON, now.read),
        xp.where(runs, slot, -1),
        block,
    )


def _start(engine: Engine, requests: Sequence[Request]) -> Progress:
    put, rows = engine.framework.put, engine.sizes.rows
    longest = max(request.new_tokens for request in requests)
    zeros = (put(np.zeros(shape, np.int32)) for shape in ((), (), rows, rows))
    forwards, arrived, read, emitted = zeros
    nobody = put(np.full(rows, len(requests), np.int32))
    outputs = put(np.full((len(requests), longest), -1, np.int32))
    return Progress(first_memory(engine), forwards, arrived, nobody, read, emitted, outputs)


def _tables(requests: Sequence[Request]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    lens = np.array([len(request.prompt) for request in requests], np.int32)
    prompts = np.zeros((len(requests), lens.max()), np.int32)
    for row, request in zip(prompts, requests, strict=True):
        row[: len(request.prompt)] = request.prompt
    return prompts, lens, np.array([request.new_tokens for request in requests], np.int32)
