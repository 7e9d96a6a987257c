"""The pytest plugin of the kit: it adds an option for choosing the subject, and does nothing unless that is used."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--impl`, which `parity_tests.suite` reads."""
    group = parser.getgroup("parity_tests", "conformance of speculative-decoding step functions")
    told = "implementation under test (repeatable); all that are installed, if not given"
    group.addoption("--impl", action="append", default=[], metavar="NAME", help=told)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse an implementation that nobody knows or that cannot be loaded here."""
    for name in config.getoption("impl") or []:
        # Not at the top: every run of pytest where this package is installed would pay for it.
        from parity_tests.kit.subjects import NAMES, missing

        if name not in NAMES:
            raise pytest.UsageError(f"--impl {name}: unknown, expected one of {', '.join(NAMES)}")
        if framework := missing(name):
            raise pytest.UsageError(f"--impl {name}: {framework} is not installed")
