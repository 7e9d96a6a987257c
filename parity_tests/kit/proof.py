"""The main job: every case of every part through every implementation, against what the case expects."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from multiprocessing import get_context
from time import perf_counter
from typing import NamedTuple

from parity_tests.kit import chain, subjects, traces, vectors
from parity_tests.kit.cases import Case
from parity_tests.kit.contract import CHECK_STEP, OPERATIONS
from parity_tests.kit.search import search_cases
from parity_tests.kit.subjects import ORACLE, Subject
from parity_tests.kit.trace_cases import trace_cases
from parity_tests.kit.trial import verdicts

# Differences that are told in full; the rest is counted.
TOLD = 20
# More would not be done sooner, and each holds its own frameworks in memory.
WORKERS = min(os.cpu_count() or 1, 8)

Comparison = tuple[str, str | None]


class Plan(NamedTuple):
    """What to prove: the implementations by name, random cases an operation, and the seed they are drawn from."""

    names: tuple[str, ...]
    cases: int
    seed: int


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


class Proof(NamedTuple):
    """What the proof found."""

    tallies: list[Tally]
    differences: list[str]
    seconds: float


def units() -> list[Unit]:
    """The parts of the proof, row by row."""
    rows = (*OPERATIONS, CHECK_STEP.name)
    return [
        *(Unit("recorded steps", row, _replayed) for row in rows),
        *(Unit("golden vectors", row, _golden) for row in rows),
        *(Unit("random search", row, _searched) for row in OPERATIONS),
        *(Unit("whole runs", row, _chained) for row in chain.ways(())),
    ]


def prove(plan: Plan, progress: Callable[[int, int], None]) -> Proof:
    """Run all units, in a process for each core; `progress` is told how many of how many are done."""
    start = perf_counter()
    count = len(units())
    found: dict[int, tuple[list[Tally], list[str]]] = {}
    # Not a fork: it would copy the locks of whatever threads a framework has started here.
    with ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
        # The last units take longest; started first, they leave no core idle at the end.
        futures = {pool.submit(run_unit, plan, number): number for number in reversed(range(count))}
        for future in as_completed(futures):
            found[futures[future]] = future.result()
            progress(len(found), count)
    tallies = [tally for number in range(count) for tally in found[number][0]]
    differences = [text for number in range(count) for text in found[number][1]]
    return Proof(tallies, differences[:TOLD], perf_counter() - start)


def run_unit(plan: Plan, number: int) -> tuple[list[Tally], list[str]]:
    """The tallies of a unit, and its first differences as text."""
    unit = units()[number]
    comparisons, differences, texts = Counter(), Counter(), []
    for name, text in unit.compare(unit.row, plan):
        comparisons[name] += 1
        if text is not None:
            differences[name] += 1
            texts.append(f"{name}: {text}")
    tallies = [Tally(unit.part, unit.row, name, total, differences[name]) for name, total in comparisons.items()]
    return tallies, texts[:TOLD]


def _replayed(row: str, plan: Plan) -> Iterator[Comparison]:
    return _compared([case for case in _steps() if case.op == row], (ORACLE, *_chosen(plan)))


def _golden(row: str, plan: Plan) -> Iterator[Comparison]:
    return _compared([case for case in _vectors() if case.op == row], (ORACLE, *_hurried(plan)))


def _searched(row: str, plan: Plan) -> Iterator[Comparison]:
    return _compared(search_cases(OPERATIONS[row], plan.cases, plan.seed), _hurried(plan))


def _chained(row: str, plan: Plan) -> Iterator[Comparison]:
    for name, way in chain.ways(plan.names)[row]:
        for run in traces.load():
            for text in chain.comparisons(run, way(run)):
                yield name, text and f"{row}, {run.name}: {text}"


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
    return tuple(map(subjects.load, plan.names))


def _hurried(plan: Plan) -> tuple[Subject, ...]:
    return tuple(map(subjects.hurried, _chosen(plan)))
