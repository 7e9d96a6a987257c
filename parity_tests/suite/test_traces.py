"""Every recorded step of every operation."""

from functools import cache

import pytest

from parity_tests.kit.cases import Case
from parity_tests.kit.contract import CHECK_STEP, OPERATIONS
from parity_tests.kit.subjects import Subject
from parity_tests.kit.trace_cases import trace_cases
from parity_tests.suite._running import hold


@cache
def recorded() -> list[Case]:
    return list(trace_cases())


@pytest.mark.parametrize("name", [*OPERATIONS, CHECK_STEP.name])
def test_recorded_steps(subject: Subject, name: str) -> None:
    hold(subject, [case for case in recorded() if case.op == name])
