"""Which implementations the tests run on, and how one is held to its cases."""

from functools import cache

import pytest

from parity_tests.kit import subjects
from parity_tests.kit.cases import Case
from parity_tests.kit.subjects import Subject
from parity_tests.kit.trial import differences


def chosen(config: pytest.Config) -> list[str]:
    """The names given with `--impl`, or all that are installed; without the plugin there is no such option."""
    named = dict.fromkeys(config.getoption("impl", None) or [])
    return list(named) or [name for name in subjects.DEFAULT if subjects.missing(name) is None]


@cache
def load(name: str) -> Subject:
    """The subject of that name, the same one for all tests."""
    return subjects.load(name)


def hold(subject: Subject, cases: list[Case]) -> None:
    """Fail with the first difference, and with the case that shows it; skip what the subject does not have."""
    taken = [case for case in cases if subject.takes(case)]
    if not taken:
        pytest.skip(f"{subject.name} has no {cases[0].op}")
    found = differences(subject, taken)
    if found:
        pytest.fail(f"{len(found)} of {len(taken)} cases differ, the first:\n{found[0]}", pytrace=False)
