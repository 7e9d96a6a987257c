"""What the experiment says to a reader and, as data, to machines: `overlap.schema.json` says what stands where."""

import os
import platform
from datetime import date
from itertools import groupby
from statistics import median
from typing import Any, NamedTuple

from parity_tests.bench.overlap.measure import WAYS, Plan, Sample
from parity_tests.bench.overlap.model import Sizes, capacity_of
from parity_tests.kit.facts import PACKAGES
from parity_tests.kit.probe import version_of

SCHEMA = 2
COLUMNS = ("step_ms", "blocked_ms", "scheduling_ms", "assembly_ms", "dispatch_ms", "waiting_ms")


class Report(NamedTuple):
    """Everything that was found; the events of torch's profiler are None without torch."""

    plan: Plan
    sizes: Sizes
    environment: dict[str, Any]
    reads: dict[str, int]
    torch_events: dict[str, dict[str, float]] | None
    samples: list[Sample]
    seconds: float


class Gain(NamedTuple):
    """How many steps come after for each one before: the median of the rounds' ratios, the lowest, the highest."""

    stack: str
    host_ms: int
    median: float
    low: float
    high: float


def describe_environment(device: str) -> dict[str, Any]:
    """Where the experiment ran, and how busy that machine was in the minute before."""
    return {
        "date": date.today().isoformat(),
        "device": device,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 2),
        "packages": {name: found for name in PACKAGES if (found := version_of(name))},
    }


def table(report: Report) -> Any:
    """The medians, a row for each way and amount of host work."""
    from rich.table import Table

    shown = Table(caption="medians of the timed runs, milliseconds of one step; idle: medians of the profiled runs")
    shown.add_column("", no_wrap=True)
    for title in ("steps/s", "step", "in reads", "scheduling", "assembly", "dispatch", "waiting", "device idle"):
        shown.add_column(title, justify="right")
    for (stack, host_ms, way), samples in _groups(report.samples).items():
        measured = [_median(samples, column) for column in COLUMNS]
        idle = [sample.idle_share for sample in samples if sample.idle_share is not None]
        told = [f"{1e3 / measured[0]:.1f}", *(f"{value:.2f}" for value in measured)]
        shown.add_row(f"{stack}, scheduling {host_ms} ms, {way}", *told, f"{median(idle):.0%}" if idle else "-")
    return shown


def closing_lines(report: Report) -> list[str]:
    """What is the same, what was counted, and what the new way gains."""
    lines = ["tokens: identical in every run, and so is the state behind the last step"]
    lines += [f"host reads in one step, {way}: {count}" for way, count in report.reads.items()]
    for way, counts in (report.torch_events or {}).items():
        told = ", ".join(f"{count:g} {event}" for event, count in counts.items())
        lines.append(f"torch, in one step, {way}: {told}")
    lines += [
        f"{gain.stack}, scheduling {gain.host_ms} ms: {gain.median:.2f} times the steps a second "
        f"({gain.low:.2f} to {gain.high:.2f})"
        for gain in gains(report.samples)
    ]
    where = report.environment
    if where["device"] == "cpu":
        lines.append("a CPU stands in for a card: the first core is the host's, the others are the device's")
    lines.append(
        f"{where['device']}, {where['cpus']} CPUs, load average {where['load_average']}, {report.seconds:.0f} s"
    )
    return lines


def faults(report: Report) -> list[str]:
    """What was counted and contradicts that only the old way reads the device, in words; nothing if it holds."""
    counts: dict[str, dict[str, Any]] = {"jax": report.reads}
    if report.torch_events:
        counts["torch"] = {way: max(events.values()) for way, events in report.torch_events.items()}
    found = []
    for stack, of in counts.items():
        if of["after"]:
            found.append(f"{stack}: the step built on the device reads it, too ({of['after']:g} in one step)")
        if not of["before"]:
            found.append(f"{stack}: the step built on the host reads nothing, so that nothing is compared")
    return found


def gains(samples: list[Sample]) -> list[Gain]:
    """For each stack and amount of host work, what the new way gains, each round against itself."""
    groups, found = _groups(samples), []
    for stack, host_ms in dict.fromkeys((stack, host_ms) for stack, host_ms, _ in groups):
        before, after = ([one.step_ms for one in groups[stack, host_ms, way] if not one.observed] for way in WAYS)
        ratios = [old / new for old, new in zip(before, after, strict=True)]
        found.append(Gain(stack, host_ms, median(ratios), min(ratios), max(ratios)))
    return found


def as_data(report: Report) -> dict[str, Any]:
    """The report as JSON has it, every sample in it."""
    return {
        "schema": SCHEMA,
        "environment": report.environment,
        "plan": report.plan._asdict(),
        "sizes": report.sizes._asdict() | {"capacity": capacity_of(report.sizes)},
        "identical": True,
        "reads": report.reads,
        "torch_events": report.torch_events,
        "gains": [gain._asdict() for gain in gains(report.samples)],
        "seconds": round(report.seconds, 1),
        "samples": [sample._asdict() for sample in report.samples],
    }


def _median(samples: list[Sample], column: str) -> float:
    return median(getattr(sample, column) for sample in samples if not sample.observed)


def _groups(samples: list[Sample]) -> dict[tuple[str, int, str], list[Sample]]:
    def key(sample: Sample) -> tuple[str, int, str]:
        return sample.stack, sample.host_ms, sample.way

    order = sorted(samples, key=lambda sample: (*key(sample)[:2], sample.way == "after"))
    return {name: list(group) for name, group in groupby(order, key)}
