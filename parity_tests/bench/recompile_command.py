"""`python -m parity_tests recompile`: after a warm-up, thousands of steps compile nothing; what the warm-up costs."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from parity_tests.bench import recompile
from parity_tests.bench.recompile import STEP, Task
from parity_tests.bench.report_data import environment
from parity_tests.kit.contract import OPERATIONS
from parity_tests.kit.options import at_least, refuse
from parity_tests.kit.processes import last_words

NAME = "recompile"
# Of the data, which `recompile.schema.json` describes.
SCHEMA = 1
SMALLEST, LARGEST = 64, 512

Data = dict[str, Any]


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command `recompile` to the subcommands of a parser."""
    parser = commands.add_parser(NAME, help="count what thousands of steps compile after a warm-up: nothing")
    told = f"beside {', '.join(STEP)}, of {', '.join(OPERATIONS)}; repeatable, all of them if not given"
    parser.add_argument("--operation", action="append", choices=OPERATIONS, metavar="NAME", help=told)
    told = f"the largest bucket of a ladder that begins with {SMALLEST} ({LARGEST})"
    parser.add_argument("--largest", type=at_least(SMALLEST), default=LARGEST, metavar="T", help=told)
    parser.add_argument("--steps", type=at_least(1), default=10_000, metavar="N", help="steps to serve (10,000)")
    parser.add_argument("--seed", type=at_least(0), default=0, metavar="N", help="seed of the requests (0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found as data, too")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command; 0 if nothing was traced or compiled after the warm-up, 1 if anything was, 2 if it broke off."""
    from jax_spec import bucket_ladder

    operations = dict.fromkeys((*STEP, *(options.operation or OPERATIONS)))
    ladder = tuple(bucket_ladder(SMALLEST, options.largest))
    task = Task(tuple(operations), ladder, options.steps, options.seed)
    try:
        if options.json:
            options.json.open("a").close()
        data = measured(task)
    except subprocess.CalledProcessError as error:
        return refuse(last_words(error.stderr), NAME)
    except OSError as error:
        return refuse(str(error), NAME)
    for line in lines(data):
        print(line)
    if options.json:
        options.json.write_text(json.dumps(data, indent=1) + "\n")
    return int(not is_warm(data))


def measured(task: Task) -> Data:
    """What the task finds in a process with an empty compilation cache, and how long the next one takes to warm up."""
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as cache:
        first, again = _process(task, cache), _process(task._replace(steps=0), cache)
    return {
        "schema": SCHEMA,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "environment": environment(_cpu(), first["devices"], (before, os.getloadavg()[0])),
        "task": task._asdict(),
        **{name: first[name] for name in ("warm_up", "served")},
        "second_process": again["warm_up"],
    }


def is_warm(data: Data) -> bool:
    """Whether the steps found everything compiled."""
    return data["served"]["traces"] == data["served"]["compilations"] == 0


def lines(data: Data) -> Iterator[str]:
    """What was found, for a reader."""
    warm, again, served = data["warm_up"], data["second_process"], data["served"]
    yield (
        f"warm-up: {len(data['task']['operations'])} operations at capacities {data['task']['ladder']}, "
        f"{warm['programs']} programs in {warm['seconds']:.1f} s, {warm['not_found']} compiled (equal ones once)"
    )
    yield (
        f"warm-up of a second process, from the persistent compilation cache: {again['seconds']:.1f} s, "
        f"{again['not_found']} compiled, {again['found']} found, {warm['seconds'] / again['seconds']:.1f}x faster"
    )
    taken = ", ".join(f"{count:,} of {capacity}" for capacity, count in served["buckets"].items())
    yield (
        f"{served['steps']:,} steps in {served['seconds']:.1f} s, {taken} places, {served['arrived']:,} requests came "
        f"and {served['gone']:,} went"
    )
    verdict = "nothing was traced or compiled" if is_warm(data) else "NOT WARM"
    yield f"after the warm-up: {verdict}: {served['traces']} traces, {served['compilations']} compilations"


def _cpu() -> str:
    """Its name, where what pytest-benchmark asks for it is installed."""
    return import_module("cpuinfo").get_cpu_info().get("brand_raw", "") if find_spec("cpuinfo") else ""


def _process(task: Task, cache: str) -> Data:
    """The task in a process of its own that keeps what it compiles in a folder, however small."""
    settings = {
        "JAX_ENABLE_COMPILATION_CACHE": "true",
        "JAX_COMPILATION_CACHE_DIR": cache,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    command = [sys.executable, "-m", recompile.__name__, json.dumps(task._asdict())]
    done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])
