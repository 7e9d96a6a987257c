"""Every golden vector, one test each: an id names the implementation and the vector."""

import pytest

from parity_tests.kit import vectors
from parity_tests.kit.cases import Case
from parity_tests.kit.subjects import Subject
from parity_tests.suite._running import chosen, hold


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    pairs = [
        pytest.param(subject, case, id=f"{subject.name}-{case.id}", marks=[pytest.mark.faults] if case.fault else [])
        for subject in chosen(metafunc.config)
        for case in filter(subject.takes, vectors.load())
    ]
    metafunc.parametrize(("subject", "case"), pairs)


def test_vector(subject: Subject, case: Case) -> None:
    hold(subject, [case])
