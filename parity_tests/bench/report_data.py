"""What a run found, as data for machines: `report.schema.json` says what stands where."""

import os
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from parity_tests.bench.cases import Row
from parity_tests.bench.results import Aim, Cell, Key, Ratio, aims, beaten, is_unstable
from parity_tests.bench.variants import JAX
from parity_tests.kit import probe

SCHEMA = 1
PACKAGES = ("jax-spec-decode", "jax", "jaxlib", "torch", "numpy", "pytest-benchmark")

Data = dict[str, Any]


class Found(NamedTuple):
    """Everything about a run: its figures, the calls that were not waited for, and the circumstances.

    `load` is the load average of a minute before and after the run, `left_out` what was not measured and why.
    """

    cells: dict[Key, Cell]
    launched: dict[Key, Cell]
    machine: Data
    devices: tuple[str, ...]
    load: tuple[float, float]
    left_out: tuple[str, ...]
    seconds: float


def as_data(found: Found) -> Data:
    """The run as JSON has it."""
    return {
        "schema": SCHEMA,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(found.seconds, 1),
        "environment": environment(found.machine.get("cpu", {}).get("brand_raw", ""), found.devices, found.load),
        "left_out": list(found.left_out),
        "aims": [_aim(aim) for aim in aims(found.cells)],
        "numpy_is_faster": [_row(row) | {"times": _ratio(times)} for row, times in beaten(found.cells).items()],
        "figures": [_figure(cell) for cell in found.cells.values()],
        "programs": [_program(cell, found) for cell in found.cells.values() if cell.variant == JAX and cell.facts],
    }


def environment(cpu: str, devices: Iterable[str], load: tuple[float, float]) -> Data:
    """The machine, what is installed, and how busy it was before and after."""
    known = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": cpu,
        "cores": os.cpu_count(),
        "devices": list(devices),
        "packages": {name: version for name in PACKAGES if (version := probe.version_of(name))},
        "load_before": round(load[0], 2),
        "load_after": round(load[1], 2),
    }
    return known | {"noisy": is_noisy(known)}


def is_noisy(environment: Data) -> bool:
    """Whether others were at work: one process keeps itself to a load of about one."""
    before, after = environment["load_before"], environment["load_after"]
    return before > 1 or after > 2


def _row(row: Row) -> Data:
    return {"operation": row.operation, "B": row.batch, "K": row.columns, "lengths": row.lengths}


def _ratio(ratio: Ratio | None) -> Data | None:
    return None if ratio is None else {name: round(value, 3) for name, value in ratio._asdict().items()}


def _aim(aim: Aim) -> Data:
    figures = {"wanted": aim.wanted, "reached": _ratio(aim.reached)}
    return _row(aim.row) | {"than": aim.other} | figures | {"met": aim.reached.median >= aim.wanted}


def _figure(cell: Cell) -> Data:
    figures = {"median_ns": cell.median, "spread_ns": cell.spread, "to_floor": _ratio(cell.to_floor)}
    samples = {"blocks_ns": [list(block) for block in cell.blocks]}
    return _row(cell.row) | {"variant": cell.variant} | figures | {"unstable": is_unstable(cell)} | samples


def _program(cell: Cell, found: Found) -> Data:
    launched = found.launched.get((cell.row, cell.variant))
    dispatch = {
        "dispatch_ns": launched.median if launched else None,
        "dispatch_blocks_ns": [list(block) for block in launched.blocks] if launched else None,
    }
    return _row(cell.row) | (cell.facts or {}) | {"blocked_ns": cell.median} | dispatch
