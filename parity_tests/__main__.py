"""`python -m parity_tests` proves that all implementations agree; its subcommands do what the proof needs."""

import argparse
import json
import sys
from pathlib import Path

from parity_tests.amd import command as amd
from parity_tests.kit import doctor, subjects


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 0 if all is well, 1 on any difference, 2 on bad usage."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except OSError as error:
        return _refuse(f"cannot write {error.filename}: {error.strerror}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m parity_tests", description="Prove that all implementations agree.")
    choices = f"one of {', '.join(subjects.NAMES)}"
    parser.add_argument("--impl", action="append", type=_known, metavar="NAME", help=f"{choices}; repeatable")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report as data, too")
    parser.add_argument("--cases", type=_natural, default=1000, metavar="N", help="random cases an operation (1000)")
    parser.add_argument("--seed", type=_natural, default=0, metavar="N", help="seed of the random search (0)")
    parser.set_defaults(run=_prove)
    commands = parser.add_subparsers(title="other commands")
    vectors = commands.add_parser("vectors", help="write the golden vectors from the named cases")
    vectors.add_argument("--check", action="store_true", help="write nothing: compare bytes and validate the schema")
    vectors.set_defaults(run=_vectors)
    amd.add_parser(commands)
    doctor.add_parser(commands)
    return parser


def _known(name: str) -> str:
    if name not in subjects.NAMES:
        raise argparse.ArgumentTypeError(
            f"unknown implementation {name!r}, expected one of {', '.join(subjects.NAMES)}"
        )
    return name


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a whole number of at least 0")
    return int(text)


def _prove(options: argparse.Namespace) -> int:
    from parity_tests.kit.host_reads import count_host_reads
    from parity_tests.kit.proof import Plan, prove
    from parity_tests.kit.report import as_data, make_console, print_report, progress_on

    absent = {name: framework for name in options.impl or subjects.DEFAULT if (framework := subjects.missing(name))}
    if options.impl and absent:
        return _refuse(" ".join(_without(name, framework) for name, framework in absent.items()))
    if options.json:
        options.json.open("a").close()
    console = make_console()
    for name, framework in absent.items():
        console.print(_without(name, framework))
    names = tuple(name for name in dict.fromkeys(options.impl or subjects.DEFAULT) if name not in absent)
    plan = Plan(names, options.cases, options.seed)
    with progress_on(console) as progress:
        proof = prove(plan, progress)
    host_reads = count_host_reads() if "torch" in names else None
    print_report(console, plan, proof, host_reads)
    if options.json:
        options.json.write_text(json.dumps(as_data(plan, proof, host_reads, absent), indent=1) + "\n")
    return int(any(tally.differences for tally in proof.tallies))


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


def _refuse(message: str) -> int:
    print(f"python -m parity_tests: {message}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
