"""What a run says to a reader on a terminal; made from its data."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table

from parity_tests.bench.results import STEADY
from parity_tests.bench.scaling import Curve
from parity_tests.bench.variants import JAX, JAX_AOT, JAX_DONATED, in_order_of_tables

Data = dict[str, Any]


def print_report(console: Console, data: Data) -> None:
    """A table an operation, the programs, where NumPy is faster, the aims, and under which circumstances it was."""
    variants = in_order_of_tables(figure["variant"] for figure in data["figures"])
    for operation, group in groupby(data["figures"], key=lambda figure: figure["operation"]):
        figures = list(group)
        measured = {figure["variant"] for figure in figures}
        console.print(_figures(operation, figures, [name for name in variants if name in measured]))
    if data["programs"]:
        console.print(_programs(data["programs"]))
    for line in (*_legend(data), *_faster(data), *aim_lines(data), *circumstances(data)):
        console.print(line, markup=False, soft_wrap=True)


def print_scaling(console: Console, curves: list[Curve], batches: list[int]) -> None:
    """Nanoseconds a token, a line a number of rows, and the powers at the end."""
    table = Table(
        caption="ns a token of the jitted call, and the power of B with which its time grows, in all and last"
    )
    table.add_column("B", justify="right", no_wrap=True)
    for curve in curves:
        table.add_column(curve.operation, justify="right", overflow="fold")
    for batch in batches:
        table.add_row(f"{batch:,}", *(_short(curve.per_token[batch]) for curve in curves))
    table.add_row("power", *(f"{curve.power:.2f}" for curve in curves))
    table.add_row("last", *(f"{curve.last_power:.2f}" for curve in curves))
    console.print(table)


def aim_lines(data: Data) -> Iterator[str]:
    """Whether the jitted functions are as fast as they should be, a line an aim."""
    for aim in data["aims"]:
        reached, verdict = aim["reached"], "reached" if aim["met"] else "MISSED"
        yield (
            f"aim: {aim['operation']} at B = {aim['B']}, K = {aim['K']} at least {aim['wanted']:g}x faster than "
            f"{aim['than']}: {verdict}, {reached['median']:.1f}x ({reached['low']:.1f} to {reached['high']:.1f})"
        )


def circumstances(data: Data) -> Iterator[str]:
    """What was left out, and the machine."""
    environment = data["environment"]
    for text in data["left_out"]:
        yield f"left out: {text}"
    packages = ", ".join(f"{name} {version}" for name, version in environment["packages"].items())
    yield (
        f"{len(data['figures'])} figures in {data['seconds']:.0f} s on {environment['cores']} cores of "
        f"{environment['cpu'] or environment['system']}, {', '.join(environment['devices'])}, Python "
        f"{environment['python']}, {packages}, load average {environment['load_before']} before and "
        f"{environment['load_after']} after{', NOISY: others were at work' if environment['noisy'] else ''}"
    )


def _figures(operation: str, figures: list[Data], variants: list[str]) -> Table:
    table = Table(title=operation, title_justify="left", title_style="bold")
    for title in ("B", "K", "lengths"):
        table.add_column(title, justify="right", no_wrap=True)
    for variant in variants:
        table.add_column(variant, justify="right", overflow="fold")
    for row, group in groupby(figures, key=lambda figure: (figure["B"], figure["K"], figure["lengths"])):
        cells = {figure["variant"]: _cell(figure) for figure in group}
        table.add_row(*map(str, row), *(cells.get(variant, "-") for variant in variants))
    return table


def _cell(figure: Data) -> str:
    median, spread = figure["median_ns"] / 1e3, figure["spread_ns"] / 1e3
    text = f"{'~' if figure['unstable'] else ''}{_short(median)} ±{_short(spread)}"
    return text if figure["to_floor"] is None else f"{text}\n{figure['to_floor']['median']:.1f}x"


def _programs(programs: list[Data]) -> Table:
    table = Table(title="jitted functions", title_justify="left", title_style="bold")
    table.add_column("operation", no_wrap=True)
    for title in ("B", "K", "lengths", "lower ms", "compile ms", "dispatch µs", "blocked µs", "device µs", "peak kB"):
        table.add_column(title, justify="right")
    for program in programs:
        memory = program["temporary_bytes"], program["output_bytes"]
        table.add_row(
            program["operation"],
            *(str(program[name]) for name in ("B", "K", "lengths")),
            *(_scaled(program[name], 1e6) for name in ("lower_ns", "compile_ns")),
            *(_scaled(program[name], 1e3) for name in ("dispatch_ns", "blocked_ns", "device_ns")),
            "-" if None in memory else f"{sum(memory) / 1e3:.1f}",
        )
    return table


def _scaled(value: float | None, unit: float) -> str:
    return "-" if value is None else _short(value / unit)


def _short(value: float) -> str:
    """Three digits are as many as such a figure has."""
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.3g}"


def _legend(data: Data) -> Iterator[str]:
    yield (
        "median microseconds until the result is there ± the range of the middle half, and how many times the floor, "
        f"a jitted call with the same arguments that gives zeros; ~ scatters more than {STEADY:.0%}"
    )
    if data["programs"]:
        yield (
            "lowered and compiled once, with empty caches; dispatch is until the call returns, with asynchronous "
            "dispatch, which blocked times do without: on a CPU, handing a call over can take longer than making it; "
            "peak is temporary plus output memory as XLA plans it, without the arguments"
        )
    ratios = [figure["to_floor"] for figure in data["figures"] if figure["variant"] in (JAX, JAX_AOT, JAX_DONATED)]
    if any(ratio and ratio["high"] < 1 for ratio in ratios):
        yield (
            "below 1.0x: a floor with many results can cost more than the program, "
            "since XLA may hand its fills to several threads"
        )


def _faster(data: Data) -> Iterator[str]:
    rows = data["numpy_is_faster"]
    for operation, group in groupby(rows, key=lambda row: row["operation"]):
        sizes = (f"B={row['B']} K={row['K']} {row['lengths']} ({row['times']['median']:.1f}x)" for row in group)
        yield f"NumPy on the host is faster in {operation}: {', '.join(sizes)}"
