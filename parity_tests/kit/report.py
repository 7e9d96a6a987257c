"""What the proof says to a reader, on a terminal or in a log, and the same as data."""

import platform
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from parity_tests.kit.contract import CHECK_STEP, OPERATIONS
from parity_tests.kit.proof import Plan, Proof, Tally
from parity_tests.kit.subjects import ORACLE

Counts = dict[tuple[str, str], tuple[int, int]]
HostReads = dict[str, dict[str, int]]

PACKAGES = ("jax-spec-decode", "jax", "jaxlib", "torch", "numpy")
# What a log is wide, where no terminal says.
LOG_WIDTH = 120


def make_console() -> Console:
    """A console that leaves control characters and line lengths alone where nobody watches."""
    console = Console(highlight=False, soft_wrap=False)
    return console if console.is_terminal else Console(highlight=False, width=LOG_WIDTH, no_color=True)


@contextmanager
def progress_on(console: Console) -> Iterator[Any]:
    """A function to tell how much of how much is done: a bar on a terminal, nothing in a log."""
    columns = TextColumn("comparing"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def print_report(console: Console, plan: Plan, proof: Proof, host_reads: HostReads | None) -> None:
    """The table, the host reads, the differences and the closing line."""
    console.print(_table(plan, proof.tallies))
    for part, cases in _cases_of_parts(proof.tallies).items():
        console.print(f"{part}: {cases:,} cases")
    if host_reads is not None:
        for when, counts in host_reads.items():
            told = ", ".join(f"{count} {event}" for event, count in counts.items())
            console.print(f"host reads in one step, {when}: {told}")
    for text in proof.differences:
        console.print(text, markup=False, soft_wrap=True)
    console.print(closing_line(plan, proof), soft_wrap=True)


def closing_line(plan: Plan, proof: Proof) -> str:
    """The result in one line."""
    comparisons = sum(tally.comparisons for tally in proof.tallies)
    differences = sum(tally.differences for tally in proof.tallies)
    operations = {tally.row for tally in proof.tallies} & {*OPERATIONS, CHECK_STEP.name}
    return (
        f"{'different' if differences else 'identical'}: {comparisons:,} comparisons, {differences:,} differences, "
        f"{len(operations)} operations, {len(plan.names)} implementations, {proof.seconds:.0f} s"
    )


def as_data(plan: Plan, proof: Proof, host_reads: HostReads | None, left_out: dict[str, str]) -> dict[str, Any]:
    """The report for machines."""
    return {
        "result": closing_line(plan, proof),
        "identical": not any(tally.differences for tally in proof.tallies),
        "plan": plan._asdict(),
        "seconds": round(proof.seconds, 1),
        "environment": {"python": platform.python_version(), "machine": platform.machine()} | _versions(),
        "left_out": left_out,
        "tallies": [tally._asdict() for tally in proof.tallies],
        "differences": proof.differences,
        "host_reads": host_reads,
    }


def _table(plan: Plan, tallies: list[Tally]) -> Table:
    counts, names = _by_row(tallies), (ORACLE.name, *plan.names)
    table = Table(caption="comparisons / differences")
    table.add_column("operation", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right")
    for row in dict.fromkeys(tally.row for tally in tallies):
        table.add_row(row, *(_cell(counts.get((row, name))) for name in names))
    return table


def _cell(count: tuple[int, int] | None) -> str:
    if count is None:
        return "-"
    comparisons, differences = count
    text = f"{comparisons:,} / {differences:,}"
    return f"[bold red]{text}[/]" if differences else text


def _by_row(tallies: list[Tally]) -> Counts:
    sums: Counts = defaultdict(lambda: (0, 0))
    for tally in tallies:
        comparisons, differences = sums[tally.row, tally.subject]
        sums[tally.row, tally.subject] = comparisons + tally.comparisons, differences + tally.differences
    return dict(sums)


def _cases_of_parts(tallies: list[Tally]) -> dict[str, int]:
    """How many cases each part has: as many as its busiest subject compared, row by row."""
    busiest: dict[tuple[str, str], int] = defaultdict(int)
    for tally in tallies:
        busiest[tally.part, tally.row] = max(busiest[tally.part, tally.row], tally.comparisons)
    parts: dict[str, int] = defaultdict(int)
    for (part, _), count in busiest.items():
        parts[part] += count
    return dict(parts)


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
