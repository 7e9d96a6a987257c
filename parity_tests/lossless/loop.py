"""The decode loop: requests come, read their prompts in chunks, decode, sit out, change places, are preempted, go."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from parity_tests.lossless import batching
from parity_tests.lossless.model import Sizes
from parity_tests.lossless.modes import Mode
from parity_tests.lossless.step import Engine, Seen, Staged, first_memory, lengths
from parity_tests.lossless.workload import Request


class Step(NamedTuple):
    """One step when it is over: what the host staged, what it saw, and which request each row was."""

    number: int
    request: np.ndarray
    """int32 `[B]`, -1 for no row."""
    generated: np.ndarray
    """int32 `[B]`, tokens that the request had emitted before."""
    staged: Staged
    seen: Seen
    emitted: list[list[int]]
    """What each row gained."""


def steps(engine: Engine, mode: Mode, requests: Sequence[Request], seed: int) -> Iterator[Step]:
    """The steps of a run until every request has its tokens.

    Args:
        engine: from `make_engine`; one serves runs in all modes.
        mode: how many drafts are verified.
        requests: each must fit `sizes` alone; a run with a fault in it ends after `most_steps`.
        seed: of who sits out and where the rows stand; the tokens must not depend on it.
    """
    framework, sizes = engine.framework, engine.sizes
    query_lens = framework.program(partial(lengths, framework, sizes, mode))
    memory, book = first_memory(engine), batching.open_book(requests, sizes)
    rng = np.random.default_rng(seed)
    for number in range(most_steps(requests)):
        if batching.is_done(book):
            return
        book = batching.admitted(batching.preempted(book), requests, number, sizes)
        rows = batching.chosen(book, requests, sizes, rng) if book.live else []
        staged = batching.staged(rows, sizes)
        put = Staged(*map(framework.put, staged))
        memory, seen = engine.step(engine.model.parameters, memory, put, query_lens(memory, put))
        seen = Seen(*map(framework.get, seen))
        before = book
        book, gained = batching.settled(book, requests, rows, seen)
        yield _step(number, sizes, rows, before, staged, seen, gained)


def most_steps(requests: Sequence[Request]) -> int:
    """More steps than any run takes that gains a token for most rows that decode."""
    arrived = max((request.arrival for request in requests), default=0)
    return arrived + 8 * sum(len(request.prompt) + request.new_tokens for request in requests)


def _step(
    number: int,
    sizes: Sizes,
    rows: Sequence[batching.Row],
    before: batching.Book,
    staged: Staged,
    seen: Seen,
    gained: list[list[int]],
) -> Step:
    request, generated = (np.full(sizes.rows, filler, np.int32) for filler in (-1, 0))
    emitted: list[list[int]] = [[] for _ in range(sizes.rows)]
    for row, tokens in zip(rows, gained, strict=True):
        request[row.place] = row.live.request
        generated[row.place] = len(before.emitted[row.live.request])
        emitted[row.place] = tokens
    return Step(number, request, generated, staged, seen, emitted)
