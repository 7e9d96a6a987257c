"""What the proof says to a reader, on a terminal or in a log."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from parity_tests.kit.device_times import Timing
from parity_tests.kit.report_data import Report, by_row, cases_of_parts, closing_line
from parity_tests.kit.subjects import ORACLE

# What a log is wide, where no terminal says.
LOG_WIDTH = 120


def make_console() -> Console:
    """A console that leaves control characters and line lengths alone where nobody watches."""
    console = Console(highlight=False, soft_wrap=False)
    return console if console.is_terminal else Console(highlight=False, width=LOG_WIDTH, no_color=True)


@contextmanager
def progress_on(console: Console, doing: str = "comparing") -> Iterator[Callable[[int, int], None]]:
    """A function to tell how much of how much is done: a bar on a terminal, nothing in a log."""
    columns = TextColumn(doing), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def print_report(console: Console, report: Report) -> None:
    """The table, the host reads, the times, the findings, the gaps and the closing line."""
    console.print(_table(report))
    for part, cases in cases_of_parts(report.proof.tallies).items():
        console.print(f"{part}: {cases:,} cases")
    for when, counts in (report.host_reads or {}).items():
        told = ", ".join(f"{count} {event}" for event, count in counts.items())
        console.print(f"host reads in one step, {when}: {told}")
    if report.timings:
        console.print(_times(report))
    for finding in report.proof.findings:
        console.print(f"{finding.subject}: {finding.text}", markup=False, soft_wrap=True)
    for name, operations in report.gaps.items():
        console.print(f"{name}: not compared: {', '.join(operations)}", markup=False, soft_wrap=True)
    console.print(closing_line(report), soft_wrap=True)


def _table(report: Report) -> Table:
    counts, names = by_row(report.proof.tallies), (ORACLE.name, *report.plan.names)
    table = Table(caption="comparisons / differences")
    table.add_column("operation", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", overflow="fold")
    for row in dict.fromkeys(row for row, _ in counts):
        table.add_row(row, *(_cell(counts.get((row, name))) for name in names))
    return table


def _times(report: Report) -> Table:
    table = Table(caption="microseconds a call, medians: until the result is there / between two events of the device")
    names = list(dict.fromkeys(timing.variant for timing in report.timings))
    table.add_column("last recorded step", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", overflow="fold")
    for operation in dict.fromkeys(timing.operation for timing in report.timings):
        found = {timing.variant: timing for timing in report.timings if timing.operation == operation}
        table.add_row(operation, *(_time(found.get(name)) for name in names))
    return table


def _time(timing: Timing | None) -> str:
    if timing is None:
        return "-"
    return f"{timing.blocked:.0f} / {'-' if timing.device is None else f'{timing.device:.0f}'}"


def _cell(count: tuple[int, int] | None) -> str:
    if count is None:
        return "-"
    comparisons, differences = count
    text = f"{comparisons:,} / {differences:,}"
    return f"[bold red]{text}[/]" if differences else text
