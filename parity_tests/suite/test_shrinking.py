"""The random search once more, by Hypothesis: a difference is shrunk to a small case, printed as a vector to paste."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parity_tests.kit.cases import Case
from parity_tests.kit.contract import OPERATIONS
from parity_tests.kit.strategies import STEADY, cases, hostile_cases
from parity_tests.kit.subjects import Subject
from parity_tests.suite._running import hold

EXAMPLES, EXAMPLES_IN_FULL = 20, 500


@pytest.mark.parametrize("name", OPERATIONS)
def test_small_cases(subject: Subject, name: str) -> None:
    shrink(subject, name, EXAMPLES)


@pytest.mark.full
@pytest.mark.parametrize("name", OPERATIONS)
def test_small_cases_in_full(subject: Subject, name: str) -> None:
    shrink(subject, name, EXAMPLES_IN_FULL)


def shrink(subject: Subject, name: str, examples: int) -> None:
    if subject.fewest > 1:
        pytest.skip(f"{subject.name} is for many cases at once")

    @settings(STEADY, max_examples=examples)
    @given(st.one_of(cases(name), hostile_cases(name)))
    def agrees(case: Case) -> None:
        hold(subject, [case])

    agrees()
