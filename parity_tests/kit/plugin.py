"""The pytest plugin of the kit: its options exist where the suite is on the command line, and nowhere else.

Every run of pytest where this package is installed loads this file. It imports nothing then, and takes no name of an
option from a project that has a `--impl` of its own.
"""

import re
from pathlib import Path

import pytest

# By the name of the module, by path, or the package with all that is in it.
SUITE = re.compile(r"parity_tests([./]suite|/?$)")


def pytest_load_initial_conftests(parser: pytest.Parser, args: list[str]) -> None:
    """`--impl` and `--xfails`, which `parity_tests.suite` reads."""
    if not any(SUITE.search(argument) for argument in args):
        return
    group = parser.getgroup("parity_tests", "conformance of speculative-decoding step functions")
    told = "implementation under test: a name, or a spec such as torch:their.module (repeatable); else all of our own"
    group.addoption("--impl", dest="parity_impl", action="append", default=[], metavar="SPEC", help=told)
    told = "expected failures, an id a line: strict, and an error where no test has the id (repeatable)"
    group.addoption("--xfails", dest="parity_xfails", action="append", default=[], type=Path, metavar="FILE", help=told)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse an implementation that nobody knows or that cannot be loaded here."""
    for text in config.getoption("parity_impl", None) or ():
        # Not at the top: every run of pytest where this package is installed would pay for it.
        from parity_tests.kit import doors

        try:
            if framework := doors.missing(text):
                raise pytest.UsageError(f"--impl {text}: {framework} is not installed")
            doors.subject(text)
        except doors.SpecError as error:
            raise pytest.UsageError(f"--impl {error}") from error
