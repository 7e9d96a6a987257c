"""Runs sessions of measuring, each in a process of its own, and puts their samples together."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from parity_tests.bench import session
from parity_tests.bench.plan import Plan, as_json
from parity_tests.kit.processes import ended, last_words

Progress = Callable[[int, int], None]


class Block(NamedTuple):
    """The samples of one block in nanoseconds, in order."""

    row: tuple
    variant: str
    samples: tuple[int, ...]
    facts: dict[str, Any] | None


class Measured(NamedTuple):
    """What a session gave: its blocks, the machine as pytest-benchmark describes it, and JAX's devices."""

    blocks: tuple[Block, ...]
    machine: dict[str, Any]
    devices: tuple[str, ...]


class BrokenSessionError(Exception):
    """A session gave no figures."""


class DifferentError(Exception):
    """A variant does not give what the oracle gives."""


def measure(plan: Plan, progress: Progress) -> Measured:
    """Carries out a plan; `progress` is told of every turn. If its texts leave nothing, there are no blocks."""
    with tempfile.TemporaryDirectory() as folder:
        plan_file, result, log = (Path(folder, name) for name in ("plan.json", "result.json", "log"))
        plan_file.write_text(json.dumps(as_json(plan)))
        with log.open("w") as errors, _started(_command(result), plan_file, errors) as process:
            told = _follow(process, progress)
        if "difference" in told:
            raise DifferentError(told["difference"])
        if process.returncode:
            reason = told["last"] or last_words(log.read_text()) or ended(process.returncode)
            raise BrokenSessionError(f"the measuring broke off: {reason}")
        if not result.exists():
            return Measured((), {}, tuple(told["devices"]))
        data = json.loads(result.read_text())
    return Measured(tuple(map(_block, data["benchmarks"])), data["machine_info"], tuple(told["devices"]))


def _command(result: Path) -> list[str]:
    # No settings of whatever project this is started in, and no other plugins.
    options = [
        "-c",
        os.devnull,
        "--rootdir",
        str(result.parent),
        "-p",
        "pytest_benchmark.plugin",
        "-p",
        "no:cacheprovider",
    ]
    timing = ["--benchmark-disable-gc", f"--benchmark-json={result}"]
    return [sys.executable, "-m", "pytest", str(session.__file__), "-s", "-q", "-x", "--no-header", *options, *timing]


def _started(command: list[str], plan_file: Path, errors: TextIO) -> subprocess.Popen:
    environment = os.environ | {session.VARIABLE: str(plan_file), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)


def _follow(process: subprocess.Popen, progress: Progress) -> dict[str, Any]:
    """What a session tells; `last` is the last other line of its output that says what went wrong."""
    told: dict[str, Any] = {"last": ""}
    assert process.stdout is not None, "it was asked for"
    for line in process.stdout:
        kind, _, value = line.partition(" ")
        if kind == "@progress":
            progress(*json.loads(value))
        elif kind.startswith("@"):
            told[kind[1:]] = json.loads(value)
        elif line.startswith("E "):
            told["last"] = line[1:].strip()
    process.wait()
    return told


def _block(entry: dict[str, Any]) -> Block:
    told = entry["extra_info"]
    samples = tuple(round(seconds * 1e9) for seconds in entry["stats"]["data"])
    return Block(tuple(told["row"]), told["variant"], samples, told["facts"])
