"""`python -m parity_tests overlap`: one decode loop, its steps built on the host and built on the device."""

import argparse
import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from parity_tests.bench.overlap import experiment
from parity_tests.bench.overlap.cores import divided_cores
from parity_tests.bench.overlap.measure import WAYS, DifferentTokensError, Lanes, Plan
from parity_tests.bench.overlap.picture import draw
from parity_tests.bench.overlap.report import Report, as_data, closing_lines, faults, table
from parity_tests.bench.overlap.traces import as_trace
from parity_tests.bench.overlap.watched import HiddenReadError
from parity_tests.bench.refusal import wrong
from parity_tests.kit import devices
from parity_tests.kit.facts import gather
from parity_tests.kit.options import at_least, refuse

NAME = "overlap"
FILES = ("overlap.svg", "overlap.json", *(f"{way}.trace.json" for way in WAYS))
# Steps of a run, rounds that are timed, rounds under the profiler.
USUAL, QUICK = (24, 8, 6), (12, 2, 1)

ABOUT = """
One decode loop on JAX's default device, in turns: the step between two forwards built on the host, which reads anchors,
drafts and lengths, and built on the device, which reads nothing. Both must emit the same tokens. The host may be two
steps ahead of the device; what was emitted is fetched when the clock has stopped, where an engine would fetch it late.
"Reads nothing" is watched in a run of its own: no use of an array but to hand it on, and no call of the host in a
program. A wait that names no array, such as jax.effects_barrier(), is not seen. In torch it is what its profiler
counts: `item()` and the like, and copies from a card; on a CPU, `numpy()` is no event.
"""


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command `overlap` to the subcommands of a parser."""
    told = "time and draw a decode loop, its steps built on the host and on the device"
    parser = commands.add_parser(NAME, help=told, description=ABOUT)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the picture and the traces")
    told = f"steps of a timed run ({USUAL[0]}; {QUICK[0]} with --quick)"
    parser.add_argument("--steps", type=at_least(3), metavar="N", help=told)
    told = "milliseconds of host work a step that stand for an engine's scheduler (2); runs without it are made, too"
    parser.add_argument("--host-ms", type=at_least(0), default=2, metavar="N", help=told)
    parser.add_argument("--quick", action="store_true", help="a few short runs: the files, but no figures to quote")
    parser.add_argument("--device", choices=devices.KINDS, help="where to run; refuses where there is no such device")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command; 0 if both ways emit the same and only the old one reads, 1 if not, 2 if nothing can be run."""
    if not find_spec("matplotlib"):
        return refuse("matplotlib is not installed (pip install 'jax-spec-decode[bench]')", NAME)
    if error := _unwritable(options.out):
        return refuse(f"--out: {error}", NAME)
    steps, rounds, observed = QUICK if options.quick else USUAL
    plan = Plan(options.steps or steps, rounds, observed, options.host_ms)
    try:
        # Before JAX starts: its device may have been chosen.
        torch_on = _torch_on(options.device)
        with divided_cores():
            report, drawn = experiment.experiment(plan, experiment.usual_sizes(), torch_on)
    except devices.NoSuchDeviceError as error:
        return refuse(str(error), NAME)
    except (DifferentTokensError, HiddenReadError) as error:
        return wrong(str(error))
    _tell(report)
    write(options.out, report, drawn)
    found = faults(report)
    for fault in found:
        print(f"not as claimed: {fault}")
    return int(bool(found))


def write(folder: Path, report: Report, drawn: list[Lanes]) -> None:
    """Write the two traces, the picture and the data."""
    where = report.environment
    for lanes in drawn:
        _write_json(folder / f"{lanes.way}.trace.json", as_trace(lanes, where), None)
    work = f"{report.plan.host_ms} ms of scheduling a step" if report.plan.host_ms else "no scheduling"
    which = f"the shortest of {report.plan.observed} runs each way" if report.plan.observed > 1 else "one run each way"
    versions = f"jax {where['packages']['jax']} on {where['device']}, load average {where['load_average']}"
    draw(folder / "overlap.svg", drawn, f"milliseconds   ({work}; {which}; {versions})")
    _write_json(folder / "overlap.json", as_data(report), 1)


def _unwritable(folder: Path) -> OSError | None:
    """What speaks against writing there; nothing stays behind but the folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            path, new = folder / name, not (folder / name).exists()
            path.open("a").close()
            if new:
                path.unlink()
    except OSError as error:
        return error
    return None


def _torch_on(kind: str | None) -> str | None:
    """The device of torch; if one was asked for, JAX has no other from here on."""
    if kind is None:
        return experiment.torch_device()
    choice = devices.choose(kind, gather())
    os.environ |= devices.environment(choice)
    return choice.torch if find_spec("torch") else None


def _tell(report: Report) -> None:
    from parity_tests.kit.report import make_console

    console = make_console()
    console.print(table(report))
    for line in closing_lines(report):
        console.print(line, markup=False, soft_wrap=True)


def _write_json(path: Path, data: dict[str, Any], indent: int | None) -> None:
    path.write_text(json.dumps(data, indent=indent) + "\n")
