"""How the time for a token changes with the number of rows, and with which power of it the time of a call grows."""

from collections.abc import Iterable, Iterator
from math import log
from pathlib import Path
from typing import Any, NamedTuple

from parity_tests.bench.cases import STEP, Row

BATCHES = tuple(2**power for power in range(3, 14))
COLUMNS = 7
OPERATIONS = (
    "assemble_input_ids",
    "overlay_input_ids",
    "token_positions",
    "slot_mapping",
    "verify_indices",
    "accept_greedy",
    "schedule_verify_lens",
    "prepare_step",
    "commit_step",
    STEP.name,
)
# From here on, a call costs more than being made.
LARGE = 1024
# What grows with a higher power is called more than linear; sorting grows with one of 1.1.
LINEAR = 1.35
# The limit of the last doubling alone, which is not so sure: where results outgrow a cache, or memory comes fresh from
# the system, linear work shows powers up to 1.65 in one doubling.
STEEP_AT_LAST = 1.75
SUFFIXES = (".svg", ".png", ".pdf")

Data = dict[str, Any]


class Curve(NamedTuple):
    """An operation: nanoseconds a token at each number of rows, the power at large sizes, and at the last two of them.

    What is constant or linear at first hides a quadratic part from the first power, but not so long from the other.
    """

    operation: str
    per_token: dict[int, float]
    power: float
    last_power: float


def rows(batches: Iterable[int], operations: Iterable[str]) -> tuple[Row, ...]:
    """What is measured."""
    sizes = tuple(batches)
    return tuple(Row(name, batch, COLUMNS, "drawn") for name in operations for batch in sizes)


def curves(data: Data) -> list[Curve]:
    """The curves of the jitted functions, from the data of a run with at least two large sizes."""
    found: dict[str, list[Data]] = {}
    for program in data["programs"]:
        found.setdefault(program["operation"], []).append(program)
    return [_curve(name, programs) for name, programs in found.items()]


def power(sizes: Iterable[float], times: Iterable[float]) -> float:
    """The power with which times grow: the slope of the least squares in logarithms.

    >>> round(power([1, 2, 4], [3, 12, 48]), 6)
    2.0
    """
    points = [(log(size), log(time)) for size, time in zip(sizes, times, strict=True)]
    middle, height = (sum(column) / len(points) for column in zip(*points, strict=True))
    steep = sum((size - middle) * (time - height) for size, time in points)
    return steep / sum((size - middle) ** 2 for size, _ in points)


def is_steep(curve: Curve) -> bool:
    """Whether it grows more than linearly."""
    return curve.power > LINEAR or curve.last_power > STEEP_AT_LAST


def lines(found: list[Curve]) -> Iterator[str]:
    """The verdict, a line for what is more than linear and one for all."""
    steep = [curve for curve in found if is_steep(curve)]
    for curve in steep:
        yield (
            f"MORE THAN LINEAR: {curve.operation} grows with the power {curve.power:.2f} of B, "
            f"{curve.last_power:.2f} in the last doubling"
        )
    powers, last = [curve.power for curve in found], [curve.last_power for curve in found]
    yield (
        f"from B = {LARGE:,} on, time grows with a power of B from {min(powers):.2f} to {max(powers):.2f}, from "
        f"{min(last):.2f} to {max(last):.2f} in the last doubling ({len(found) - len(steep)} of {len(found)} at most "
        f"{LINEAR} and {STEEP_AT_LAST}; 1 is linear, 2 quadratic)"
    )


def plot(found: list[Curve], path: Path) -> None:
    """The curves as a picture, in the format that the name of the file says."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    for curve in found:
        axes.plot(list(curve.per_token), list(curve.per_token.values()), marker=".", label=curve.operation)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel(f"rows of the batch, B (K = {COLUMNS}, drawn lengths)")
    axes.set_ylabel("ns a token")
    axes.grid(visible=True, which="both", alpha=0.2)
    axes.legend(fontsize="small")
    figure.savefig(path)


def _curve(name: str, programs: list[Data]) -> Curve:
    times = {program["B"]: program["blocked_ns"] for program in programs}
    tokens = {program["B"]: program["tokens"] or program["B"] * (COLUMNS + 1) for program in programs}
    large = [batch for batch in times if batch >= LARGE]
    overall, last = (power(sizes, [times[batch] for batch in sizes]) for sizes in (large, large[-2:]))
    return Curve(name, {batch: times[batch] / tokens[batch] for batch in times}, overall, last)
