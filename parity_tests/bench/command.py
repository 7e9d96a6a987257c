"""`python -m parity_tests bench`: how long everything takes, beside torch, NumPy and a call that does nothing."""

import argparse
import json
import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from parity_tests.bench import recompile_command, scaling_command, selection
from parity_tests.bench.compare import changes, load, told
from parity_tests.bench.plan import Plan
from parity_tests.bench.refusal import missing, wrong
from parity_tests.bench.variants import FLOOR, JAX
from parity_tests.kit import doors
from parity_tests.kit.options import refuse

NAME = "bench"
QUICK = {"blocks": 3, "rounds": 40, "block_ns": 10_000_000}
# Launching is measured once more by itself, with fewer samples.
LAUNCHED = {"dispatch": True, "torch": False, "implementations": (), "variants": (FLOOR, JAX), "blocks": 3}


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the commands `bench`, `scaling` and `recompile` to the subcommands of a parser."""
    _add_bench(commands)
    scaling_command.add_parser(commands)
    recompile_command.add_parser(commands)


def _add_bench(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser(NAME, help="time every operation beside torch, NumPy and a call that does nothing")
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--quick", action="store_true", help="the operations with a speed aim and the step, half a minute"
    )
    size.add_argument("--all", action="store_true", help="every size, all lengths, all compiled by torch: hours")
    told = "only what has TEXT in /OPERATION/B=N/K=N/LENGTHS/VARIANT/, such as /B=64/; repeatable, all must be there"
    parser.add_argument("--filter", action="append", default=[], metavar="TEXT", help=told)
    told = "a function of yours beside ours, such as cu_seqlens=jax:module:function; repeatable"
    parser.add_argument("--impl", action="append", default=[], metavar="SPEC", help=told)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the samples and the figures as data")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write a table for a page")
    told = "tell what changed since the run that wrote FILE with --json, as ratios to the floor"
    parser.add_argument("--compare", type=Path, metavar="FILE", help=told)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command; 0 if it measured, 1 if a result is wrong and nothing counts, 2 if it cannot measure."""
    if problem := missing(*(("jsonschema",) if options.compare else ())):
        return refuse(problem, NAME)
    from parity_tests.bench.measure import BrokenSessionError, DifferentError

    try:
        plan, left_out = _plan(options, _operations(options.impl))
        earlier = load(options.compare, plan) if options.compare else None
        for path in filter(None, (options.json, options.markdown)):
            path.open("a").close()
        return _measured(options, plan, left_out, earlier)
    except DifferentError as error:
        return wrong(str(error))
    except (ValueError, BrokenSessionError, OSError) as error:
        return refuse(str(error), NAME)


def _operations(texts: list[str]) -> set[str] | None:
    """What other people's functions are about; None where there are none, and all is measured."""
    offered: set[str] = set()
    for text in texts:
        spec = doors.parse(text)
        if framework := doors.missing(text):
            raise doors.SpecError(f"--impl {text}: {framework} is not installed")
        if spec.ours or spec.kind not in ("jax", "torch", "numpy"):
            raise doors.SpecError(f"--impl {text}: give a function of yours, as jax:..., torch:... or numpy:...")
        rows = set(doors.subject(text).operations) & set(selection.OPERATION_NAMES)
        if not rows:
            what = spec.operation or "anything in it"
            raise doors.SpecError(f"--impl {text}: bench has no row of {what}")
        _try_device(spec)
        offered |= rows
    if texts and {"prepare_step", "commit_step", "store_drafts"} <= offered:
        offered.add("whole_step")
    return offered if texts else None


def _try_device(spec: doors.Spec) -> None:
    if not spec.device:
        return
    import torch

    try:
        torch.empty(0, device=spec.device)
    # Without CUDA, torch raises an AssertionError.
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise doors.SpecError(f"--impl {spec.text}: torch has no device {spec.device!r} here: {reason}") from error


def _plan(options: argparse.Namespace, operations: set[str] | None) -> tuple[Plan, tuple[str, ...]]:
    """What is measured, and in words what is not."""
    chosen = selection.quick(operations or ()) if options.quick else selection.usual()
    chosen = selection.everything() if options.all else chosen
    left_out = [chosen.left_out] if chosen.left_out else []
    compiled = chosen.compiled_by_torch
    if (torch := find_spec("torch") is not None) is False:
        left_out.append("torch, which is not installed")
    elif compiled and shutil.which(os.environ.get("CXX", "g++")) is None:
        left_out.append("torch-compiled, for which there is no C++ compiler")
        compiled = frozenset()
    rows = tuple(row for row in chosen.rows if operations is None or row.operation in operations)
    plan = Plan(rows, compiled, tuple(options.filter), tuple(options.impl), torch=torch)
    return plan._replace(**QUICK) if options.quick else plan, tuple(left_out)


def _measured(options: argparse.Namespace, plan: Plan, left_out: tuple[str, ...], earlier: dict | None) -> int:
    from parity_tests.bench.markdown import as_markdown
    from parity_tests.bench.running import run_plans
    from parity_tests.bench.tables import print_report
    from parity_tests.kit.report import make_console, progress_on

    console = make_console()
    with progress_on(console, "measuring") as progress:
        data = run_plans(plan, plan._replace(**LAUNCHED), left_out, progress)
    if options.json:
        options.json.write_text(json.dumps(data, separators=(",", ":")) + "\n")
    if options.markdown:
        options.markdown.write_text(as_markdown(data))
    print_report(console, data)
    for line in told(changes(earlier, data)) if earlier else ():
        console.print(line, markup=False, soft_wrap=True)
    return 0
