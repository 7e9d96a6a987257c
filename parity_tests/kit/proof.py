"""The main job: every case of every part through every implementation, against what the case expects."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache, partial
from itertools import pairwise
from multiprocessing import get_context
from time import perf_counter
from typing import NamedTuple

from parity_tests.kit import chain, doors, engines, on_device, subjects, traces, vectors, ways
from parity_tests.kit.cases import Case
from parity_tests.kit.contract import CHECK_STEP, OPERATIONS
from parity_tests.kit.devices import Choice
from parity_tests.kit.search import search_cases
from parity_tests.kit.subjects import ORACLE, Subject
from parity_tests.kit.trace_cases import trace_cases
from parity_tests.kit.trial import verdicts

# Differences that are told in full; the rest is counted.
TOLD = 20
# Recorded steps of each operation that a device is held to one after the other.
PAIRS = 5
# More would not be done sooner, and each holds its own frameworks in memory.
WORKERS = min(os.cpu_count() or 1, 8)

Comparison = tuple[str, str | None]


class Plan(NamedTuple):
    """What to prove: the implementations by name, random cases an operation, the seed they are drawn from, whether
    arguments that do not fit must be refused, and the device if one was asked for.
    """

    names: tuple[str, ...]
    cases: int
    seed: int
    faults: bool = True
    device: Choice | None = None


class Unit(NamedTuple):
    """One row of the table in one part of the proof; `compare` names a subject each time, and what differs."""

    part: str
    row: str
    compare: Callable[[str, Plan], Iterable[Comparison]]


class Tally(NamedTuple):
    """How often a subject was compared in a row of a part, and how often it differed."""

    part: str
    row: str
    subject: str
    comparisons: int
    differences: int


class Finding(NamedTuple):
    """A difference in a row of a part: what `describe` says of it."""

    part: str
    row: str
    subject: str
    text: str


class Proof(NamedTuple):
    """What the proof found; of its findings, the first."""

    tallies: list[Tally]
    findings: list[Finding]
    seconds: float


def units(plan: Plan) -> list[Unit]:
    """The parts of the proof, row by row."""
    rows = (*OPERATIONS, CHECK_STEP.name)
    return [
        *(Unit("on the device", row, _on_device) for row in OPERATIONS if plan.device),
        *(Unit("recorded steps", row, _replayed) for row in rows),
        *(Unit("golden vectors", row, _golden) for row in rows),
        *(Unit("random search", row, _searched) for row in OPERATIONS),
        *(Unit("whole runs", row, _chained) for row in chain.ways(())),
        *(Unit("other ways to call", row, partial(_by_names, ways.compare)) for row in ways.ways() if not plan.device),
        *(Unit("names of engines", row, partial(_by_names, engines.compare)) for row in engines.ROWS),
    ]


def prove(plan: Plan, progress: Callable[[int, int], None]) -> Proof:
    """Run all units, in a process for each core; `progress` is told how many of how many are done."""
    start = perf_counter()
    count = len(units(plan))
    found: dict[int, tuple[list[Tally], list[Finding]]] = {}
    # Not a fork: it would copy the locks of whatever threads a framework has started here.
    with ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
        # The last units take longest; started first, they leave no core idle at the end.
        futures = {pool.submit(run_unit, plan, number): number for number in reversed(range(count))}
        for future in as_completed(futures):
            found[futures[future]] = future.result()
            progress(len(found), count)
    tallies = [tally for number in range(count) for tally in found[number][0]]
    findings = [finding for number in range(count) for finding in found[number][1]]
    return Proof(tallies, findings[:TOLD], perf_counter() - start)


def gaps(plan: Plan, tallies: list[Tally]) -> dict[str, tuple[str, ...]]:
    """Operations that an implementation that is not ours should have been compared in and was not."""
    compared = {tally.subject for tally in tallies}
    outside = [doors.subject(name) for name in plan.names if not doors.parse(name).ours]
    found = {
        subject.name: subject.lacks if subject.name in compared else (*subject.operations, *subject.lacks)
        for subject in outside
    }
    return {name: operations for name, operations in found.items() if operations}


def run_unit(plan: Plan, number: int) -> tuple[list[Tally], list[Finding]]:
    """The tallies of a unit, and its first findings."""
    unit = units(plan)[number]
    comparisons, differences, findings = Counter(), Counter(), []
    for name, text in unit.compare(unit.row, plan):
        comparisons[name] += 1
        if text is not None:
            differences[name] += 1
            findings.append(Finding(unit.part, unit.row, name, text))
    tallies = [Tally(unit.part, unit.row, name, total, differences[name]) for name, total in comparisons.items()]
    return tallies, findings[:TOLD]


def _replayed(row: str, plan: Plan) -> Iterator[Comparison]:
    return _compared([case for case in _steps() if case.op == row], (ORACLE, *_chosen(plan)))


def _golden(row: str, plan: Plan) -> Iterator[Comparison]:
    cases = [case for case in _vectors() if case.op == row and (plan.faults or case.fault is None)]
    return _compared(cases, (ORACLE, *_hurried(plan)))


def _searched(row: str, plan: Plan) -> Iterator[Comparison]:
    return _compared(search_cases(OPERATIONS[row], plan.cases, plan.seed), _hurried(plan))


def _on_device(row: str, plan: Plan) -> Iterator[Comparison]:
    assert plan.device is not None
    columns = {name.partition("@")[0]: name for name in plan.names}
    steps = [case for case in _steps() if case.op == row]
    for pair in pairwise(steps[: PAIRS + 1]):
        for framework, check in on_device.CHECKS:
            if framework in columns:
                for text in check(pair, plan.device):
                    yield columns[framework], text


def _chained(row: str, plan: Plan) -> Iterator[Comparison]:
    for name, way in chain.ways(plan.names)[row]:
        for run in traces.load():
            for text in chain.comparisons(run, way(run)):
                yield name, text and f"{row}, {run.name}: {text}"


def _by_names(
    compare: Callable[[str, Sequence[str]], Iterator[Comparison]], row: str, plan: Plan
) -> Iterator[Comparison]:
    return compare(row, plan.names)


def _compared(cases: list[Case], chosen: tuple[Subject, ...]) -> Iterator[Comparison]:
    for subject in chosen:
        for text in verdicts(subject, cases):
            yield subject.name, text


@cache
def _steps() -> list[Case]:
    return list(trace_cases())


@cache
def _vectors() -> list[Case]:
    return vectors.load()


@cache
def _chosen(plan: Plan) -> tuple[Subject, ...]:
    return tuple(map(doors.subject, plan.names))


def _hurried(plan: Plan) -> tuple[Subject, ...]:
    return tuple(map(subjects.hurried, _chosen(plan)))
