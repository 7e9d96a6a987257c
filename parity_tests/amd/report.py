"""What the compilation says to a reader, to the README and to machines."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from typing import Any, NamedTuple

from parity_tests.amd.budget import Finding, nonzero
from parity_tests.amd.compilation import Outcome, Program
from parity_tests.amd.counts import Counts
from parity_tests.amd.environment import Environment
from parity_tests.amd.shapes import SHAPES
from parity_tests.amd.targets import TARGETS

Rows = list[list[str]]


class Report(NamedTuple):
    """Everything that a run found."""

    environment: Environment
    outcomes: list[Outcome]
    findings: list[Finding]
    seconds: float


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int], None]]:
    """A function to tell how much of how much is done: a bar on a terminal if `rich` is there, else a line at times."""
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        yield _line
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _line
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("compiling", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _line(done: int, total: int) -> None:
    if done % 10 == 0 or done == total:
        print(f"compiled {done} of {total}", file=sys.stderr, flush=True)


def as_text(report: Report) -> str:
    """The table, aligned, what it means, the findings and the closing line."""
    rows = _rows(report.outcomes, report.findings)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    told = [f"{' '.join(finding.program)}: {finding.text}" for finding in report.findings]
    return "\n".join([*table, "", _legend(report.outcomes), *told, closing_line(report)])


def as_markdown(report: Report) -> str:
    """The table and where it comes from, for the README."""
    header, *rows = _rows(report.outcomes, report.findings)
    lines = [header, ["---"] * len(header), *([f"`{name}`", *cells] for name, *cells in rows)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{table}\n\n{_legend(report.outcomes)}\n\n{closing_line(report)}\n"


def as_data(report: Report) -> dict[str, Any]:
    """The report for machines."""
    return {
        "result": closing_line(report),
        "date": date.today().isoformat(),
        "python": report.environment.python_version,
        "versions": report.environment.versions,
        "seconds": round(report.seconds, 1),
        "programs": [_datum(outcome) for outcome in report.outcomes],
        "findings": [{**finding.program._asdict(), "text": finding.text} for finding in report.findings],
    }


def closing_line(report: Report) -> str:
    """The result in one line, and no more than was done: nothing here was executed."""
    compiled = sum(outcome.counts is not None for outcome in report.outcomes)
    operations = len(_distinct(report.outcomes, "operation"))
    targets = ", ".join(f"{name} ({TARGETS[name].card})" for name in _distinct(report.outcomes, "target"))
    result = f"not as budgeted ({len(report.findings)} findings)" if report.findings else "within budget"
    done = f"{compiled} of {len(report.outcomes)} programs of {operations} operations compiled to linked machine code"
    by = f"jax {report.environment.versions['jax']} and its ROCm plugin"
    when = date.today().isoformat()
    return f"{result}: {done} for {targets} on {when} by {by} in {report.seconds:.0f} s; nothing was executed"


def _datum(outcome: Outcome) -> dict[str, Any]:
    counts = None if outcome.counts is None else outcome.counts._asdict()
    said = {"counts": counts, "error": outcome.error, "seconds": round(outcome.seconds, 2)}
    return {**outcome.program._asdict(), **said}


def _distinct(outcomes: list[Outcome], field: str) -> list[str]:
    return list(dict.fromkeys(getattr(outcome.program, field) for outcome in outcomes))


def _legend(outcomes: list[Outcome]) -> str:
    shapes = ", ".join(f"{name} ({SHAPES[name].serves})" for name in _distinct(outcomes, "shape"))
    return (
        f"Kernels, and behind a plus copies and memsets, of one call at {shapes}; once where all agree. "
        "`!` is above the budget or not compiled, `?` below it."
    )


def _rows(outcomes: list[Outcome], findings: list[Finding]) -> Rows:
    cells = {outcome.program: _said(outcome.counts) for outcome in outcomes}
    for finding in findings:
        cells[finding.program] += "?" if finding.spare else "!"
    targets, shapes = _distinct(outcomes, "target"), _distinct(outcomes, "shape")
    rows = [["operation", *targets]]
    for operation in _distinct(outcomes, "operation"):
        of_targets = ([cells[Program(operation, target, shape)] for shape in shapes] for target in targets)
        rows.append([operation, *(" ".join(said if len(set(said)) > 1 else said[:1]) for said in of_targets)])
    return rows


def _said(counts: Counts | None) -> str:
    if counts is None:
        return ""
    kernels, rest = counts.kernels, sum(nonzero(counts).values()) - counts.kernels
    return f"{kernels}+{rest}" if rest else str(kernels)
