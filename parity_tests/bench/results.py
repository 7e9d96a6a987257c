"""Samples to figures: medians with their spread, and ratios that are taken within each block."""

from collections import defaultdict
from collections.abc import Iterable
from statistics import median, quantiles
from typing import Any, NamedTuple

from parity_tests.bench.cases import STEP, Row
from parity_tests.bench.measure import Block
from parity_tests.bench.variants import FLOOR, JAX, NUMPY, TORCH, TORCH_HOST_SYNC

# Half of the samples lie in a range of this part of the median, or the figure is marked.
STEADY = 0.2


class Ratio(NamedTuple):
    """The median of the ratios of several blocks, and the lowest and the highest of them."""

    median: float
    low: float
    high: float


class Cell(NamedTuple):
    """One variant of one row: samples in nanoseconds by block, their median and the range of the middle half."""

    row: Row
    variant: str
    blocks: tuple[tuple[int, ...], ...]
    median: float
    spread: float
    to_floor: Ratio | None
    facts: dict[str, Any] | None


class Aim(NamedTuple):
    """How many times faster than `other` the jitted call of a row should be, and how many times it is."""

    row: Row
    other: str
    wanted: float
    reached: Ratio


Key = tuple[Row, str]


def cells(blocks: Iterable[Block]) -> dict[Key, Cell]:
    """The figures of every variant, in the order in which they were measured."""
    grouped: dict[Key, list[Block]] = defaultdict(list)
    for block in blocks:
        grouped[Row(*block.row), block.variant].append(block)
    return {key: _cell(key, group, grouped.get((key[0], FLOOR), [])) for key, group in grouped.items()}


def ratio(over: Iterable[Iterable[int]], under: Iterable[Iterable[int]]) -> Ratio:
    """How many times the samples of one are those of the other, block by block.

    >>> ratio([[20, 30, 20], [40, 40, 41]], [[10, 10, 12], [10, 11, 10]])
    Ratio(median=3.0, low=2.0, high=4.0)
    """
    ratios = [median(above) / median(below) for above, below in zip(over, under, strict=True)]
    return Ratio(median(ratios), min(ratios), max(ratios))


def spread(samples: Iterable[int]) -> float:
    """The range of the middle half."""
    known = list(samples)
    if len(known) < 2:
        return 0.0
    first, _, third = quantiles(known, n=4, method="inclusive")
    return third - first


def is_unstable(cell: Cell) -> bool:
    """Whether the samples scatter too much to be believed."""
    return cell.spread > STEADY * cell.median


def aims(found: dict[Key, Cell]) -> list[Aim]:
    """The speed that is wanted with seven drafts, wherever both sides were measured."""
    wanted = [("assemble_input_ids", batch, TORCH, 3.0) for batch in (64, 256)]
    wanted += [("assemble_input_ids", batch, TORCH_HOST_SYNC, least) for batch, least in ((64, 4.0), (256, 10.0))]
    wanted += [(STEP.name, batch, TORCH, 5.0) for batch in (64, 256)]
    return [
        Aim(row, other, least, ratio(slow.blocks, fast.blocks))
        for name, batch, other, least in wanted
        if (row := Row(name, batch, 7, "drawn"))
        if (slow := found.get((row, other))) and (fast := found.get((row, JAX)))
    ]


def beaten(found: dict[Key, Cell]) -> dict[Row, Ratio]:
    """The rows in which NumPy on the host takes less time than the jitted call, and how many times less."""
    pairs = {row: (found.get((row, JAX)), found.get((row, NUMPY))) for row, _ in found}
    ratios = {row: ratio(ours.blocks, host.blocks) for row, (ours, host) in pairs.items() if ours and host}
    return {row: times for row, times in ratios.items() if times.median > 1}


def _cell(key: Key, group: list[Block], floor: list[Block]) -> Cell:
    row, variant = key
    blocks = tuple(block.samples for block in group)
    merged = [sample for block in blocks for sample in block]
    to_floor = ratio(blocks, [block.samples for block in floor]) if floor and variant != FLOOR else None
    return Cell(row, variant, blocks, median(merged), spread(merged), to_floor, group[0].facts)
