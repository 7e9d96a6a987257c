"""Both ways in turns: what a step costs the host and the device, and every run emitting the same tokens."""

from collections.abc import Iterator
from typing import NamedTuple

from parity_tests.bench.overlap.device import idle_share, observed
from parity_tests.bench.overlap.host import ASSEMBLE, DISPATCH, PACE, READ, SCHEDULE, Span, rounds_in, seconds_in
from parity_tests.bench.overlap.loop import Run, difference, run_loop
from parity_tests.bench.overlap.steps import Carry, Loop, Step, step_after, step_before

WAYS: dict[str, Step] = {"before": step_before, "after": step_after}
# Steps of a run under the profiler: as many as can be drawn.
DRAWN = 12


class Plan(NamedTuple):
    """How much to run: timed rounds of so many steps, then rounds under the profiler."""

    steps: int
    rounds: int
    observed: int
    host_ms: int


class Sample(NamedTuple):
    """One run; milliseconds are those of one step. A run under the profiler tells how idle the device was."""

    stack: str
    way: str
    host_ms: int
    observed: bool
    steps: int
    step_ms: float
    blocked_ms: float
    scheduling_ms: float
    assembly_ms: float
    dispatch_ms: float
    waiting_ms: float
    idle_share: float | None


class Lanes(NamedTuple):
    """What host and device did in one run, in seconds from its beginning."""

    way: str
    seconds: float
    host: list[Span]
    device: list[Span]


class DifferentTokensError(Exception):
    """The two ways did not emit the same; the text says where."""


def timed(loop: Loop, first: Carry, plan: Plan) -> Iterator[Sample]:
    """The samples without the profiler; raises `DifferentTokensError`."""
    expected = None
    for way, host_ms, rounds in _turns(plan, plan.rounds):
        run = run_loop(loop, first, WAYS[way], plan.steps, rounds)
        expected = _checked(loop, run, expected)
        yield _sample(loop, way, host_ms, run, None)


def profiled(loop: Loop, first: Carry, plan: Plan) -> Iterator[tuple[Sample, Lanes]]:
    """The samples under the profiler of JAX, with what was seen; raises `DifferentTokensError`."""
    expected = None
    for way, host_ms, rounds in _turns(plan, plan.observed):
        run, device = observed(lambda way=way, rounds=rounds: run_loop(loop, first, WAYS[way], DRAWN, rounds))
        expected = _checked(loop, run, expected)
        begin = run.spans[0].start
        lanes = Lanes(way, run.seconds, _since(begin, run.spans), _since(begin, device))
        yield _sample(loop, way, host_ms, run, lanes), lanes


def warm_up(loop: Loop, first: Carry, steps: int) -> None:
    """Run either way once, so that everything is compiled; raises `DifferentTokensError`."""
    expected = None
    for step in WAYS.values():
        expected = _checked(loop, run_loop(loop, first, step, steps, 0), expected)


def least_disturbed(seen: list[tuple[Sample, Lanes]], host_ms: int) -> list[Lanes]:
    """For each way the shortest run with this much host work: the others show more of what its neighbours did."""
    chosen = []
    for way in WAYS:
        runs = [lanes for sample, lanes in seen if (sample.way, sample.host_ms) == (way, host_ms)]
        chosen.append(min(runs, key=lambda lanes: lanes.seconds))
    return chosen


def _turns(plan: Plan, count: int) -> Iterator[tuple[str, int, int]]:
    """Way, milliseconds and rounds of host work: without it and with it, and the ways by turns first."""
    works = [(0, 0)] + ([(plan.host_ms, rounds_in(plan.host_ms))] if plan.host_ms else [])
    for number in range(count):
        for host_ms, rounds in works:
            for way in list(WAYS)[:: -1 if number % 2 else 1]:
                yield way, host_ms, rounds


def _checked(loop: Loop, run: Run, expected: Run | None) -> Run:
    if expected and (found := difference(expected, run)):
        raise DifferentTokensError(f"{loop.stack.name}, {found}")
    return expected or run


def _sample(loop: Loop, way: str, host_ms: int, run: Run, lanes: Lanes | None) -> Sample:
    steps = len(run.tokens)
    spent = [seconds_in(run.spans, name) for name in (READ, SCHEDULE, ASSEMBLE, DISPATCH, PACE)]
    each = [round(1e3 * seconds / steps, 4) for seconds in (run.seconds, *spent)]
    idle = idle_share(lanes.device) if lanes else None
    return Sample(loop.stack.name, way, host_ms, lanes is not None, steps, *each, idle_share=idle)


def _since(begin: float, spans: list[Span]) -> list[Span]:
    return [Span(span.name, span.start - begin, span.end - begin) for span in spans]
