"""What the main command found, in one piece, and as data for machines: `report.schema.json` says what stands where."""

import json
import platform
from collections import defaultdict
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

from parity_tests.kit.device_times import Timing
from parity_tests.kit.proof import Finding, Plan, Proof, Tally
from parity_tests.kit.vectors import OPERATION_NAMES

SCHEMA = 1
PACKAGES = ("jax-spec-decode", "jax", "jaxlib", "torch", "numpy")
# The part of the proof whose size is chosen.
SEARCH = "random search"

Counts = dict[tuple[str, str], tuple[int, int]]


class Report(NamedTuple):
    """A proof, what it could not compare, how often one step waits for the device before and after, and its times.

    `gaps` are operations that an implementation should have, `left_out` implementations with the framework they need;
    `timings` are there only for a device that was asked for.
    """

    plan: Plan
    proof: Proof
    gaps: dict[str, tuple[str, ...]]
    left_out: dict[str, str]
    host_reads: dict[str, dict[str, int]] | None
    timings: tuple[Timing, ...] = ()


def is_identical(report: Report) -> bool:
    """Whether everything was compared and nothing differs."""
    return not report.gaps and not any(tally.differences for tally in report.proof.tallies)


def closing_line(report: Report) -> str:
    """The result in one line."""
    comparisons, differences = total(report.proof.tallies)
    operations = {tally.row for tally in report.proof.tallies} & set(OPERATION_NAMES)
    result = "identical" if is_identical(report) else "different" if differences else "incomplete"
    return (
        f"{result}: {comparisons:,} comparisons, {differences:,} differences, {len(operations)} operations, "
        f"{len(report.plan.names)} implementations, {report.proof.seconds:.0f} s"
    )


def total(tallies: Iterable[Tally]) -> tuple[int, int]:
    """Comparisons and differences of all of them."""
    counts = [(tally.comparisons, tally.differences) for tally in tallies]
    return sum(count for count, _ in counts), sum(count for _, count in counts)


def by_row(tallies: Iterable[Tally]) -> Counts:
    """Comparisons and differences of each row and subject, over all parts."""
    groups: dict[tuple[str, str], list[Tally]] = defaultdict(list)
    for tally in tallies:
        groups[tally.row, tally.subject].append(tally)
    return {key: total(group) for key, group in groups.items()}


def cases_of_parts(tallies: Iterable[Tally]) -> dict[str, int]:
    """How many cases each part has: as many as its busiest subject compared, row by row."""
    busiest: dict[tuple[str, str], int] = defaultdict(int)
    for tally in tallies:
        busiest[tally.part, tally.row] = max(busiest[tally.part, tally.row], tally.comparisons)
    parts: dict[str, int] = defaultdict(int)
    for (part, _), count in busiest.items():
        parts[part] += count
    return dict(parts)


def as_data(report: Report) -> dict[str, Any]:
    """The report as JSON has it."""
    plan, proof = report.plan, report.proof
    return {
        "schema": SCHEMA,
        "result": closing_line(report),
        "identical": is_identical(report),
        "seconds": round(proof.seconds, 1),
        "implementations": list(plan.names),
        "seed": plan.seed,
        "faults": plan.faults,
        "environment": {"python": platform.python_version(), "machine": platform.machine(), "packages": _versions()},
        "left_out": report.left_out,
        "gaps": {name: list(operations) for name, operations in report.gaps.items()},
        "rows": [_row(row, report) for row in dict.fromkeys(tally.row for tally in proof.tallies)],
        "host_reads": report.host_reads,
        "timings": [timing._asdict() for timing in report.timings],
    }


def _row(row: str, report: Report) -> dict[str, Any]:
    tallies = [tally for tally in report.proof.tallies if tally.row == row]
    comparisons, differences = total(tallies)
    return {
        "name": row,
        "comparisons": comparisons,
        "differences": differences,
        "search_cases": cases_of_parts(tallies).get(SEARCH, 0),
        "tallies": [
            {
                "part": tally.part,
                "implementation": tally.subject,
                "comparisons": tally.comparisons,
                "differences": tally.differences,
            }
            for tally in tallies
        ],
        "findings": [_finding(finding) for finding in report.proof.findings if finding.row == row],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    # `describe` puts the case on a line of its own; a whole run has none.
    text, _, case = finding.text.partition("\n")
    told = {"part": finding.part, "implementation": finding.subject, "text": text}
    return told | ({"case": json.loads(case)} if case else {})


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
