"""The host's side of many decode steps: requests come, read their prompts, decode, sit out and go; nothing of JAX."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from parity_tests.bench import host
from parity_tests.bench.cases import LIKELY, PAGE, PAGES, VOCABULARY

ROWS, SLOTS, COLUMNS = 64, 96, 7
# The longest prompt and the longest chunk of it, the most decode steps, the most arrivals in a step.
PROMPT, PART, STEPS, ARRIVALS = 200, 64, 60, 4
# So many steps in which requests come, then as many in which none does: every bucket has its time.
WAVE = 80


class Request(NamedTuple):
    """What is left of a request: tokens of its prompt, then steps."""

    prompt: int
    steps: int


class Staged(NamedTuple):
    """One step as the host knows it, in arrays of its own; `total` is the tokens that it needs room for."""

    total: int
    cu_seqlens_q: np.ndarray
    source_rows: np.ndarray
    num_draft_tokens: np.ndarray
    num_computed_tokens: np.ndarray
    block_tables: np.ndarray
    slots: np.ndarray
    sampled_token_ids: np.ndarray
    draft_token_ids: np.ndarray
    arrived: int
    gone: int


def steps(count: int, largest: int, rng: np.random.Generator) -> Iterator[Staged]:
    """That many steps of at most `largest` tokens each.

    >>> made = list(steps(50, 128, np.random.default_rng(0)))
    >>> max(step.total for step in made) <= 128, sum(step.arrived for step in made) >= sum(step.gone for step in made)
    (True, True)
    """
    running: dict[int, Request] = {}
    for number in range(count):
        ended = [slot for slot, request in running.items() if request.steps == 0]
        running = {slot: request for slot, request in running.items() if request.steps > 0}
        coming = int(rng.integers(0, ARRIVALS + 1)) if number // WAVE % 2 == 0 else 0
        free = [slot for slot in range(SLOTS) if slot not in running][:coming]
        running |= {slot: Request(*map(int, rng.integers(1, (PROMPT, STEPS)))) for slot in free}
        lens = _scheduled(running, largest, rng)
        yield _staged(lens, running, (len(free), len(ended)), rng)
        running |= {slot: _after(running[slot], length) for slot, length in lens.items()}


def _scheduled(running: dict[int, Request], largest: int, rng: np.random.Generator) -> dict[int, int]:
    """The lengths of the rows of a step by slot, in any order; now and then a request sits out."""
    lens, room = {}, largest
    for slot in rng.permutation(list(running))[:ROWS].tolist():
        prompt = running[slot].prompt
        length = min(prompt, int(rng.integers(1, PART + 1))) if prompt else 1 + int(rng.binomial(COLUMNS, LIKELY))
        if length <= room and rng.random() < 0.9:
            lens[slot] = length
            room -= length
    return lens


def _staged(
    lens: dict[int, int], running: dict[int, Request], moved: tuple[int, int], rng: np.random.Generator
) -> Staged:
    slots, lengths = np.full(ROWS, -1, np.int32), np.zeros(ROWS, np.int32)
    slots[: len(lens)], lengths[: len(lens)] = list(lens), list(lens.values())
    decodes = np.array([slot >= 0 and running[slot].prompt == 0 for slot in slots.tolist()])
    return Staged(
        int(lengths.sum()),
        host.cu_seqlens(lengths),
        np.where(decodes, slots, np.int32(-1)),
        np.where(decodes, lengths - 1, 0).astype(np.int32),
        rng.integers(0, PAGES * PAGE - PROMPT, ROWS, np.int32),
        rng.integers(0, ROWS * PAGES, (ROWS, PAGES), np.int32),
        slots,
        rng.integers(0, VOCABULARY, ROWS * (COLUMNS + 1), np.int32),
        rng.integers(0, VOCABULARY, (ROWS, COLUMNS), np.int32),
        *moved,
    )


def _after(request: Request, length: int) -> Request:
    return Request(request.prompt - length, request.steps) if request.prompt else Request(0, request.steps - 1)
