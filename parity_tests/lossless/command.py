"""`python -m parity_tests lossless`: whatever is verified, the tokens are those of plain decoding."""

import argparse
import importlib.util
import json
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from parity_tests.kit.options import at_least, refuse
from parity_tests.lossless.exact.sweep import SUBJECTS
from parity_tests.lossless.smollm2 import command as smollm2

if TYPE_CHECKING:
    from rich.console import Console

    from parity_tests.lossless.report_data import Report

DRAFTS = (1, 3, 7)
MODES = (
    "Modes: plain, one token a row and forward; rectangular, K + 1; ragged, an anchor and as many drafts as their "
    "confidence is worth; floored, ragged, but no row shorter than what the best row accepted in the last step."
)


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command `lossless` to the subcommands of a parser."""
    told = "decode with a model: the same tokens, however much is verified"
    parser = commands.add_parser("lossless", help=told, description=MODES)
    told = "n-grams of a real text, in every framework, or SmolLM2-135M, in JAX (exact)"
    parser.add_argument("--model", choices=("exact", "smollm2"), default="exact", help=told)
    told = f"framework, of {', '.join(SUBJECTS)}; repeatable"
    parser.add_argument("--impl", action="append", choices=tuple(SUBJECTS), metavar="NAME", help=told)
    told = f"drafts of a request; repeatable ({', '.join(map(str, DRAFTS))})"
    parser.add_argument("--drafts", action="append", type=at_least(0), metavar="K", help=told)
    parser.add_argument("--requests", type=at_least(1), default=16, metavar="N", help="requests (16)")
    parser.add_argument("--tokens", type=at_least(1), default=64, metavar="N", help="most tokens of a request (64)")
    told = "seed of the requests and of the host's schedule (0)"
    parser.add_argument("--seed", type=at_least(0), default=0, metavar="N", help=told)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report as data, too")
    smollm2.add_arguments(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command; 0 if every run emitted the same tokens, 1 if one did not, 2 if what it needs is not there."""
    if options.model == "smollm2":
        return smollm2.run(options)
    if options.weights or options.record:
        return refuse("--weights and --record go with --model smollm2", "lossless")
    return _run_exact(options)


def _run_exact(options: argparse.Namespace) -> int:
    from parity_tests.kit.report import make_console
    from parity_tests.lossless.report import print_report
    from parity_tests.lossless.report_data import as_data, is_identical

    absent = _absent(tuple(options.impl or SUBJECTS))
    if options.impl and absent:
        told = ", ".join(f"{name} needs {needed}" for name, needed in absent.items())
        return refuse(f"{told}, which is not installed (pip install 'jax-spec-decode[parity]')", "lossless")
    if options.json:
        options.json.open("a").close()
    console = make_console()
    report = _swept(options, absent, console)
    for name, needed in absent.items():
        console.print(f"left out: {name}, because {needed} is not installed.")
    print_report(console, report)
    if options.json:
        options.json.write_text(json.dumps(as_data(report), indent=1) + "\n")
    return int(not is_identical(report.found))


def _absent(names: tuple[str, ...]) -> dict[str, str]:
    """What each of these frameworks needs and has not."""
    needs = {name: SUBJECTS[name].needs for name in names}
    return {name: needed for name, needed in needs.items() if needed and importlib.util.find_spec(needed) is None}


def _swept(options: argparse.Namespace, absent: dict[str, str], console: "Console") -> "Report":
    from parity_tests.kit.report import progress_on
    from parity_tests.lossless.exact.sweep import Plan, sweep
    from parity_tests.lossless.exact.text import documentation, prompts
    from parity_tests.lossless.report_data import Report
    from parity_tests.lossless.workload import requests_from

    start, text = perf_counter(), documentation()
    requests = requests_from(prompts(text, options.requests, options.seed), options.tokens, options.seed)
    drafts = tuple(dict.fromkeys(options.drafts or DRAFTS))
    names = tuple(name for name in dict.fromkeys(options.impl or SUBJECTS) if name not in absent)
    with progress_on(console) as progress:
        found = sweep(Plan(text, requests, drafts, names, options.seed), progress)
    return Report("exact", options.seed, found, absent, perf_counter() - start)
