"""`python -m parity_tests` proves that all implementations agree; its subcommands do what the proof needs."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from parity_tests.amd import command as amd
from parity_tests.bench import command as bench
from parity_tests.bench.overlap import command as overlap
from parity_tests.kit import devices, doctor, doors
from parity_tests.kit.bulk import command as bulk
from parity_tests.kit.facts import gather
from parity_tests.kit.options import at_least, refuse
from parity_tests.lossless import command as lossless

if TYPE_CHECKING:
    from parity_tests.kit.report_data import Report


# As a shell has it.
INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 0 if all is well, 1 on any difference, 2 on bad usage, 130 if interrupted."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except OSError as error:
        return refuse(f"cannot write {error.filename or 'the report'}: {error.strerror}")
    except ModuleNotFoundError as error:
        return refuse(f"{error.name} is not installed (pip install 'jax-spec-decode[parity]')")
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m parity_tests", description="Prove that all implementations agree.")
    choices = f"one of {', '.join(doors.SHORT)}, or a spec such as torch:their.module; repeatable"
    parser.add_argument("--impl", action="append", type=_known, metavar="SPEC", help=choices)
    parser.add_argument("--device", choices=devices.KINDS, help="where to run; refuses where there is no such device")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report as data, too")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write a summary for the page of a CI job, too")
    parser.add_argument("--cases", type=at_least(0), default=1000, metavar="N", help="random cases an operation (1000)")
    parser.add_argument("--seed", type=at_least(0), default=0, metavar="N", help="seed of the random search (0)")
    told = "leave out the arguments that must be refused, for an implementation that does not look at them"
    parser.add_argument("--without-faults", action="store_true", help=told)
    parser.set_defaults(run=_prove)
    commands = parser.add_subparsers(title="other commands")
    vectors = commands.add_parser("vectors", help="write the golden vectors from the named cases")
    vectors.add_argument("--check", action="store_true", help="write nothing: compare bytes and validate the schema")
    vectors.set_defaults(run=_vectors)
    for command in (lossless, bench, overlap, bulk, amd, doctor):
        command.add_parser(commands)
    return parser


def _known(text: str) -> str:
    try:
        return doors.parse(text).text
    except doors.SpecError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _prove(options: argparse.Namespace) -> int:
    try:
        device = _device(options.device)
    except devices.NoSuchDeviceError as error:
        return refuse(str(error))
    from parity_tests.kit.device_times import timings
    from parity_tests.kit.host_reads import count_host_reads
    from parity_tests.kit.proof import Plan, gaps, prove
    from parity_tests.kit.report import make_console, print_report, progress_on
    from parity_tests.kit.report_data import Report, is_identical

    asked = tuple(dict.fromkeys(options.impl or _default(device)))
    absent = {text: framework for text in asked if (framework := doors.missing(text))}
    if options.impl and absent:
        return refuse(" ".join(_without(text, framework) for text, framework in absent.items()))
    names = tuple(text for text in asked if text not in absent)
    plan = Plan(names, options.cases, options.seed, not options.without_faults, device)
    if fault := _fault(names):
        return refuse(fault)
    for path in filter(None, (options.json, options.markdown)):
        path.open("a").close()
    console = make_console()
    for text, framework in absent.items():
        console.print(_without(text, framework), markup=False)
    with progress_on(console) as progress:
        proof = prove(plan, progress)
    host_reads = count_host_reads() if "torch" in names else None
    report = Report(plan, proof, gaps(plan, proof.tallies), absent, host_reads, tuple(timings(device)))
    print_report(console, report)
    _write(report, options)
    return int(not is_identical(report))


def _device(kind: str | None) -> devices.Choice | None:
    """The device that was asked for; from here on, JAX has no other, in this process and in those it starts."""
    if kind is None:
        return None
    choice = devices.choose(kind, gather())
    os.environ |= devices.environment(choice)
    return choice


def _default(device: devices.Choice | None) -> tuple[str, ...]:
    if device is None or device.torch == "cpu":
        return doors.DEFAULT
    return ("jax", "jax-vmap", f"torch@{device.torch}:torch_ref")


def _fault(names: tuple[str, ...]) -> str:
    """Why one of the implementations cannot be loaded, before the work begins; of our own it is known that they can."""
    try:
        for text in names:
            if not doors.parse(text).ours:
                doors.subject(text)
    except doors.SpecError as error:
        return f"--impl {error}"
    return ""


def _write(report: "Report", options: argparse.Namespace) -> None:
    from parity_tests.kit.report_data import as_data
    from parity_tests.kit.report_markdown import as_markdown

    data = as_data(report)
    if options.json:
        options.json.write_text(json.dumps(data, indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text(as_markdown(data))


def _without(name: str, framework: str) -> str:
    return f"left out: {name}, because {framework} is not installed (pip install 'jax-spec-decode[parity]')."


def _vectors(options: argparse.Namespace) -> int:
    from parity_tests.kit import vectors

    if not options.check:
        vectors.write()
    found = vectors.problems()
    for problem in found:
        print(problem)
    count = len(vectors.load())
    print(
        f"{len(found)} problems"
        if found
        else f"{count} vectors of {len(vectors.OPERATION_NAMES)} operations are in order"
    )
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
