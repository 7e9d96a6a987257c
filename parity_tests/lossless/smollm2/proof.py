"""The same prompts in every mode: the same tokens, and those that another implementation recorded."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from parity_tests.lossless import on_device
from parity_tests.lossless.exact.sweep import ON_DEVICE
from parity_tests.lossless.frameworks import jax_framework
from parity_tests.lossless.loop import Step, steps
from parity_tests.lossless.model import Model, Sizes
from parity_tests.lossless.modes import PLAIN, RAGGED, RECTANGULAR
from parity_tests.lossless.record import Counts, Run, collect
from parity_tests.lossless.report_data import Acceptance, Outcome, acceptance
from parity_tests.lossless.smollm2.divergence import Divergence, divergences
from parity_tests.lossless.smollm2.weights import Shape
from parity_tests.lossless.step import Engine, make_engine
from parity_tests.lossless.workload import Request

Tokens = Sequence[Sequence[int]]
Progress = Callable[[int, int], None]

MODES = (PLAIN, RECTANGULAR, RAGGED)
FRAMEWORK, RECORDED = "jax", "torch, recorded"
ROWS, SLOTS, CAPACITY, BLOCK_SIZE, CHUNK = 8, 10, 64, 16, 8

NEAR_TIE = 1e-2
"""Logits so close are ordered by rounding: another implementation may choose the other one."""


class Proof(NamedTuple):
    """What came of one number of drafts."""

    sizes: Sizes
    outcomes: list[Outcome]
    acceptance: Acceptance
    near_ties: list[str]
    """Where the recording parts from ours in a near tie."""
    plain: Run
    ragged: list[Step]


def sizes_for(requests: Sequence[Request], drafts: int) -> Sizes:
    """The shapes of a run: one buffer whatever the mode, so that each product has one shape."""
    longest = max(len(request.prompt) + request.new_tokens for request in requests) + drafts
    pages = -(-longest // BLOCK_SIZE)
    capacity = max(CAPACITY, ROWS * (drafts + 1))
    return Sizes(ROWS, SLOTS, drafts, capacity, pages, SLOTS * pages, BLOCK_SIZE, CHUNK)


def prove(
    model: Model, shape: Shape, requests: Sequence[Request], recorded: Tokens, drafts: int, seed: int, told: Progress
) -> Proof:
    """Decode the requests plainly, with rectangular and with ragged drafts, and these once more without a host.

    With a host, all modes run the same compiled step.

    Args:
        model: from `target`.
        shape: numbers of the model.
        requests: what to decode.
        recorded: what another implementation said to each request, fewer or more tokens of it.
        drafts: K.
        seed: of the host's doings, as in `loop.steps`.
        told: called with how many tokens there are of how many.
    """
    engine = make_engine(jax_framework(), model, sizes_for(requests, drafts))
    total, runs, outcomes, seen = sum(request.new_tokens for request in requests), [], [], []
    parted = partial(divergences, model.parameters, shape, requests)
    for number, mode in enumerate(MODES):
        watched = _watched(steps(engine, mode, requests, seed), told, number * total, len(MODES) * total)
        seen = list(watched)
        runs.append(run := collect(seen, requests))
        differing = [_said(each, model) for each in parted(runs[0].tokens, run.tokens)]
        outcomes.append(Outcome(drafts, mode.name, FRAMEWORK, run.counts, len(requests), differing))
    plain, rectangular, ragged = runs
    outcomes.append(_without_host(engine, requests, plain, parted))
    theirs, ours = _as_far_as_both_go(recorded, plain.tokens)
    elsewhere = list(parted(theirs, ours))
    apart = [_said(each, model) for each in elsewhere if each.margin > NEAR_TIE]
    counts = Counts(emitted=sum(map(len, theirs)))
    outcomes.append(Outcome(drafts, PLAIN.name, RECORDED, counts, len(requests), apart))
    near = [_said(each, model) for each in elsewhere if each.margin <= NEAR_TIE]
    return Proof(engine.sizes, outcomes, acceptance(FRAMEWORK, drafts, rectangular, ragged), near, plain, seen)


def _without_host(
    engine: Engine, requests: Sequence[Request], plain: Run, parted: Callable[[Tokens, Tokens], Iterable[Divergence]]
) -> Outcome:
    done = on_device.decode(engine, RAGGED, requests)
    counts = Counts(forwards=done.forwards, emitted=sum(map(len, done.tokens)))
    differing = [_said(each, engine.model) for each in parted(plain.tokens, done.tokens)]
    return Outcome(engine.sizes.drafts, RAGGED.name, ON_DEVICE, counts, len(requests), differing)


def _watched(run: Iterable[Step], told: Progress, before: int, total: int) -> Iterator[Step]:
    for step in run:
        before += sum(map(len, step.emitted))
        told(before, total)
        yield step


def _as_far_as_both_go(one: Tokens, other: Tokens) -> tuple[Tokens, Tokens]:
    lens = [min(map(len, pair)) for pair in zip(one, other, strict=True)]
    first, second = ([text[:length] for text, length in zip(texts, lens, strict=True)] for texts in (one, other))
    return first, second


def _said(each: Divergence, model: Model) -> str:
    expected, got = ("none" if token is None else repr(model.text([token])) for token in (each.expected, each.got))
    lead = f"the best logit {each.margin:.1e} ahead of the second"
    return f"request {each.request}: token {each.place}: expected {expected}, got {got}, {lead}"
