"""The loop around a step, and what tells two of its runs apart."""

from time import perf_counter
from typing import NamedTuple

import numpy as np

from parity_tests.bench.overlap.host import PACE, Host, Span, noted, open_door
from parity_tests.bench.overlap.steps import Carry, Loop, Step

# Steps that the host may be ahead of the device: an engine must see the tokens at some time, and ATOM does so late.
AHEAD = 2


class Run(NamedTuple):
    """One run of the loop: its seconds, what the host did, and what the steps emitted, `[steps, B, K + 1]`."""

    seconds: float
    spans: list[Span]
    tokens: np.ndarray
    last: list[np.ndarray]


def run_loop(loop: Loop, first: Carry, step: Step, steps: int, rounds: int) -> Run:
    """So many steps; the tokens are fetched when the clock has stopped."""
    host, carry, emitted, marks = Host([], open_door, rounds), first, [], []
    start = perf_counter()
    for number in range(steps):
        if number >= AHEAD:
            with noted(host, PACE):
                loop.stack.wait(marks[number - AHEAD])
        carry, tokens = step(loop, carry, host)
        emitted.append(tokens)
        marks.append(loop.stack.mark(tokens))
    loop.stack.wait(marks[-1])
    seconds = perf_counter() - start
    fetched = np.stack([loop.stack.fetch(tokens) for tokens in emitted])
    last = [*carry.state, carry.num_draft_tokens, carry.cu_seqlens_q]
    return Run(seconds, host.spans, fetched, [loop.stack.fetch(array) for array in last])


def difference(one: Run, other: Run) -> str | None:
    """Where two runs first differ in what they emitted or left behind; None if they are identical."""
    if differs := np.argwhere(one.tokens != other.tokens).tolist():
        step, row, column = differs[0]
        values = one.tokens[step, row, column], other.tokens[step, row, column]
        return f"step {step}, row {row}, token {column}: expected {values[0]}, got {values[1]}"
    alike = all(np.array_equal(left, right) for left, right in zip(one.last, other.last, strict=True))
    return None if alike else "the last states differ"
