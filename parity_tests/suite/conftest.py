"""Which implementations the suite runs on, which tests are only run when asked for, and which are expected to fail."""

from collections.abc import Callable
from pathlib import Path

import pytest

from parity_tests.kit.subjects import Subject
from parity_tests.suite._running import chosen, expect_failures

HERE = Path(__file__).parent
MARKERS = (
    "full: the search at its full size (minutes); chosen with `-m full`",
    "faults: arguments that do not fit and must be refused; left out with `-m 'not faults'`",
)
# A test runs once for each implementation, for each that is called as its users call it, or for each that is not ours.
ROLES: dict[str, Callable[[Subject], bool]] = {
    "subject": lambda _: True,
    "caller": lambda subject: subject.functions is not None,
    "outsider": lambda subject: subject.functions is not None and subject.outside,
}


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for role, plays in ROLES.items():
        if role in metafunc.fixturenames and "case" not in metafunc.fixturenames:
            subjects = [subject for subject in chosen(metafunc.config) if plays(subject)]
            metafunc.parametrize(role, subjects, ids=[subject.name for subject in subjects])


# First, so that an id is looked for among all tests and not only among those that `-k` and `-m` leave.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # The hook sees the tests of the whole session, and others may be in it than ours.
    ours = {item for item in items if item.path.parent == HERE}
    void = {item for item in ours if not has_its_operation(item)}
    expect_failures(config, ours - void)
    asked = "full" in (config.getoption("markexpr") or "")
    left_out = set() if asked else {item for item in ours - void if item.get_closest_marker("full")}
    items[:] = [item for item in items if item not in void | left_out]
    config.hook.pytest_deselected(items=list(left_out))


def has_its_operation(item: pytest.Item) -> bool:
    """Whether the test is about an operation that its implementation has: pytest makes every pair of the two."""
    given = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    for role in ROLES.keys() & given.keys():
        subject = given[role]
        # Where no implementation plays the role, pytest has put a mark of its own here.
        if not isinstance(subject, Subject):
            return False
        known = (*subject.operations, *subject.lacks) if role == "outsider" else subject.operations
        if "name" in given and given["name"] not in known:
            return False
    return True
