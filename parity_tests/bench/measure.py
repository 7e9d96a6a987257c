"""Runs sessions of measuring, each in a process of its own, and puts their samples together."""

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
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
    """What a session gave: its blocks, the machine as pytest-benchmark describes it, and JAX's devices.

    `unimplemented` are the implementations that raised `NotImplementedError`, each with an operation.
    """

    blocks: tuple[Block, ...]
    machine: dict[str, Any]
    devices: tuple[str, ...]
    unimplemented: tuple[tuple[str, str], ...]


class BrokenSessionError(Exception):
    """A session gave no figures."""


class DifferentError(Exception):
    """A variant does not give what the oracle gives."""


def measure(plan: Plan, progress: Progress) -> Measured:
    """Carries out a plan; `progress` is told of every turn. If its texts leave nothing, there are no blocks."""
    with tempfile.TemporaryDirectory() as folder:
        plan_file, result, log = (Path(folder, name) for name in ("plan.json", "result.json", "log"))
        plan_file.write_text(json.dumps(as_json(plan)))
        with log.open("w") as output:
            status, told = _followed(_command(result), plan_file, output, progress)
        if told["difference"]:
            raise DifferentError(told["difference"][0])
        if status:
            raise BrokenSessionError(f"the measuring broke off: {_reason(log.read_text()) or ended(status)}")
        data = json.loads(result.read_text()) if result.exists() else {"benchmarks": [], "machine_info": {}}
    unimplemented = dict.fromkeys((name, operation) for name, operation in told["unimplemented"])
    return Measured(
        tuple(map(_block, data["benchmarks"])), data["machine_info"], tuple(told["devices"][0]), tuple(unimplemented)
    )


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


def _followed(
    command: list[str], plan_file: Path, output: TextIO, progress: Progress
) -> tuple[int, dict[str, list[Any]]]:
    """The status of a session, and all that it tells, by kind.

    It has a pipe of its own for that: what is measured may print whatever it likes.
    """
    receiving, sending = os.pipe()
    settings = {session.VARIABLE: str(plan_file), session.CHANNEL: str(sending), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    told: dict[str, list[Any]] = defaultdict(list)
    with os.fdopen(receiving) as lines:
        try:
            process = subprocess.Popen(
                command, env=os.environ | settings, stdout=output, stderr=output, pass_fds=(sending,)
            )
        finally:
            os.close(sending)
        with process:
            for kind, value in map(json.loads, lines):
                if kind == "progress":
                    progress(*value)
                else:
                    told[kind].append(value)
    return process.returncode, told


def _reason(log: str) -> str:
    """What went wrong: the last line that pytest marks as an error, or else the last words."""
    marked = [line[1:].strip() for line in log.splitlines() if line.startswith("E ")]
    return marked[-1] if marked else last_words(log)


def _block(entry: dict[str, Any]) -> Block:
    told = entry["extra_info"]
    samples = tuple(round(seconds * 1e9) for seconds in entry["stats"]["data"])
    return Block(tuple(told["row"]), told["variant"], samples, told["facts"])
