"""`python -m parity_tests search`: a million random cases of each operation, batches of them at once."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from parity_tests.kit.bulk import VMAPPED, Found, search
from parity_tests.kit.contract import OPERATIONS
from parity_tests.kit.options import at_least

# A step is made of the operations that were searched before it.
CASES, CASES_OF_A_STEP = 1_000_000, 100_000
PLAIN = tuple(name for name, operation in OPERATIONS.items() if not operation.donates)


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command `search` to the subcommands of a parser."""
    parser = commands.add_parser("search", help="search a million random cases of every operation for a difference")
    told = f"of {', '.join(PLAIN)}; repeatable"
    parser.add_argument("--operation", action="append", choices=PLAIN, metavar="NAME", help=told)
    told = f"implementation, of {', '.join(VMAPPED)}; repeatable"
    parser.add_argument("--impl", action="append", choices=tuple(VMAPPED), metavar="NAME", help=told)
    told = f"cases of each operation ({CASES:,}; {CASES_OF_A_STEP:,} of a whole step)"
    parser.add_argument("--cases", type=at_least(1), metavar="N", help=told)
    parser.add_argument("--seed", type=at_least(0), default=0, metavar="N", help="seed of the cases (0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found as data, too")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command; 0 if all cases are alike, 1 on any difference, 2 if there is nothing to search."""
    from parity_tests.kit.doors import missing
    from parity_tests.kit.report import make_console, progress_on

    absent = [name for name in options.impl or VMAPPED if missing(name)]
    names = [name for name in dict.fromkeys(options.impl or VMAPPED) if name not in absent]
    if not names or (options.impl and absent):
        print(f"python -m parity_tests search: not installed: {', '.join(absent)}", file=sys.stderr)
        return 2
    if options.json:
        options.json.open("a").close()
    operations, found = tuple(dict.fromkeys(options.operation or PLAIN)), []
    console = make_console()
    with progress_on(console) as progress:
        for name in operations:
            progress(len(found), len(operations))
            found.append(search(name, names, options.cases or _usual(name), options.seed))
    console.print(_table(found, names))
    for text in (text for each in found for text in each.differences):
        console.print(text, markup=False, soft_wrap=True)
    console.print(_closing(found), soft_wrap=True)
    if options.json:
        options.json.write_text(json.dumps([each._asdict() for each in found], indent=1) + "\n")
    return int(any(each.differences for each in found))


def _usual(name: str) -> int:
    return CASES_OF_A_STEP if OPERATIONS[name].section == 8 else CASES


def _table(found: list[Found], names: list[str]) -> Any:
    from rich.table import Table

    table = Table(caption="cases a second, compilation included; seconds are those of everything")
    table.add_column("operation", no_wrap=True)
    for title in ("cases", *names, "seconds", "differences"):
        table.add_column(title, justify="right")
    for each in found:
        rates = [f"{each.cases / each.seconds[name]:,.0f}" for name in names]
        told = f"{each.seconds['all']:.1f}", f"{len(each.differences)}"
        table.add_row(each.operation, f"{each.cases:,}", *rates, *told)
    return table


def _closing(found: list[Found]) -> str:
    cases, seconds = sum(each.cases for each in found), sum(each.seconds["all"] for each in found)
    different = [each.operation for each in found if each.differences]
    verdict = f"different: {', '.join(different)}" if different else "identical"
    return f"{verdict}: {cases:,} cases, {len(found)} operations, {seconds:.0f} s"
