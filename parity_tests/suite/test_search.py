"""The seeded random search: a small part always, the size of the main job when asked for."""

import pytest

from parity_tests.kit.contract import OPERATIONS
from parity_tests.kit.search import search_cases
from parity_tests.kit.subjects import Subject, hurried
from parity_tests.suite._running import hold


@pytest.mark.parametrize("name", OPERATIONS)
def test_search(subject: Subject, name: str) -> None:
    hold(hurried(subject), search_cases(OPERATIONS[name], count=100, seed=1))


@pytest.mark.full
@pytest.mark.parametrize("name", OPERATIONS)
def test_search_in_full(subject: Subject, name: str) -> None:
    hold(hurried(subject), search_cases(OPERATIONS[name], count=1000, seed=2))
