"""`python -m parity_tests amd`: every operation compiled for AMD GPUs that are not there, and held to its budget."""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from time import perf_counter

from parity_tests.amd import budget
from parity_tests.amd.compilation import Plan, compile_all
from parity_tests.amd.environment import Environment, build, choose, look_at, missing_tools, problems
from parity_tests.amd.report import Report, as_data, as_markdown, as_text, progress_bar
from parity_tests.amd.shapes import SHAPES
from parity_tests.amd.targets import TARGETS
from parity_tests.kit.contract import OPERATIONS
from parity_tests.kit.options import at_least


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command `amd` to the subcommands of a parser."""
    parser = commands.add_parser("amd", help="compile every operation for AMD GPUs, and hold it to its budget")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--env", type=Path, metavar="DIR", help="the virtual environment that compiles")
    where.add_argument("--build-env", type=Path, metavar="DIR", help="make that environment first, or complete it")
    for name, known in (("operation", OPERATIONS), ("target", TARGETS), ("shape", SHAPES)):
        parser.add_argument(
            f"--{name}", action="append", choices=known, metavar="NAME", help=f"of {', '.join(known)}; repeatable"
        )
    parser.add_argument("--processes", type=at_least(1), default=2, metavar="N", help="how many at a time (2)")
    parser.add_argument("--tighten", action="store_true", help="lower the budgets to what was measured")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report as data, too")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command; 0 if every program is as budgeted, 1 if one is not, 2 if nothing could be compiled."""
    try:
        if options.build_env:
            build(options.build_env)
        if options.json:
            options.json.open("a").close()
        environment = look_at(choose(options.env or options.build_env))
        found = problems(environment, missing_tools())
        if found or environment.plugin is None:
            return _refuse(found)
        report = _measured(options, environment, environment.plugin)
    except OSError as error:
        return _refuse([str(error)])
    except subprocess.CalledProcessError as error:
        return _refuse([f"{error} {error.stderr or ''}"])
    print(as_markdown(report) if options.markdown else as_text(report))
    if options.json:
        options.json.write_text(json.dumps(as_data(report), indent=1) + "\n")
    return int(bool(report.findings))


def _measured(options: argparse.Namespace, environment: Environment, plugin: Path) -> Report:
    operations, targets, shapes = (
        tuple(dict.fromkeys(chosen or known))
        for chosen, known in ((options.operation, OPERATIONS), (options.target, TARGETS), (options.shape, SHAPES))
    )
    plan = Plan(environment.python, plugin, operations, targets, shapes, options.processes)
    start = perf_counter()
    with progress_bar() as progress:
        outcomes = compile_all(plan, progress)
    budgets = budget.load(budget.TABLE.read_text())
    if options.tighten:
        budgets = budget.tightened(outcomes, budgets)
        budget.TABLE.write_text(budget.dump(budgets))
    return Report(environment, outcomes, budget.judge(outcomes, budgets), perf_counter() - start)


def _refuse(messages: list[str]) -> int:
    for message in messages:
        print(f"python -m parity_tests amd: {message}", file=sys.stderr)
    return 2
