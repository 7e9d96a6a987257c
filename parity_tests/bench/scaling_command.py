"""`python -m parity_tests scaling`: the time for a token from 8 rows to 8,192, as a table and a picture."""

import argparse
import json
from pathlib import Path

from parity_tests.bench import scaling
from parity_tests.bench.plan import Plan
from parity_tests.bench.refusal import missing, wrong
from parity_tests.bench.variants import FLOOR, JAX
from parity_tests.kit.options import at_least, refuse

NAME = "scaling"


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command `scaling` to the subcommands of a parser."""
    parser = commands.add_parser(NAME, help="time for a token from 8 rows to 8,192: nothing may be quadratic")
    told = f"of {', '.join(scaling.OPERATIONS)}; repeatable"
    parser.add_argument("--operation", action="append", choices=scaling.OPERATIONS, metavar="NAME", help=told)
    largest = scaling.BATCHES[-1]
    # Two sizes are the fewest that have a power.
    told, least = f"most rows ({largest:,}, at least {2 * scaling.LARGE:,})", at_least(2 * scaling.LARGE)
    parser.add_argument("--largest", type=least, default=largest, metavar="B", help=told)
    told = f"draw it, as {', '.join(scaling.SUFFIXES)} (needs matplotlib)"
    parser.add_argument("--plot", type=Path, metavar="FILE", help=told)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the samples and the figures as data")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command; 0 if nothing grows faster than linearly, 1 if something does, 2 if it cannot measure."""
    if options.plot and options.plot.suffix.lower() not in scaling.SUFFIXES:
        return refuse(f"--plot {options.plot}: expected a name that ends in one of {', '.join(scaling.SUFFIXES)}", NAME)
    if problem := missing(*(("matplotlib",) if options.plot else ())):
        return refuse(problem, NAME)
    from parity_tests.bench.measure import BrokenSessionError, DifferentError

    try:
        for path in filter(None, (options.json, options.plot)):
            path.open("a").close()
        return _measured(options)
    except DifferentError as error:
        return wrong(str(error))
    except (BrokenSessionError, OSError) as error:
        return refuse(str(error), NAME)


def _measured(options: argparse.Namespace) -> int:
    from parity_tests.bench.running import run_plans
    from parity_tests.bench.tables import circumstances, print_scaling
    from parity_tests.kit.report import make_console, progress_on

    batches = [batch for batch in scaling.BATCHES if batch <= options.largest]
    rows = scaling.rows(batches, dict.fromkeys(options.operation or scaling.OPERATIONS))
    console = make_console()
    with progress_on(console, "measuring") as progress:
        plan = Plan(rows, frozenset(), torch=False, variants=(FLOOR, JAX))
        data = run_plans(plan, None, (), progress)
    found = scaling.curves(data)
    print_scaling(console, found, batches)
    for line in (*scaling.lines(found), *circumstances(data)):
        console.print(line, markup=False, soft_wrap=True)
    if options.json:
        options.json.write_text(json.dumps(data, separators=(",", ":")) + "\n")
    if options.plot:
        scaling.plot(found, options.plot)
    return int(any(scaling.is_steep(curve) for curve in found))
