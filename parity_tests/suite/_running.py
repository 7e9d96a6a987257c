"""Which implementations the tests run on, how one is held to its cases, and which failures are expected."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from parity_tests.kit import doors
from parity_tests.kit.cases import Case
from parity_tests.kit.subjects import Subject
from parity_tests.kit.trial import declined, outcomes, verdict

UNCHECKED = "(an implementation that does not check its arguments runs with `-m 'not faults'`)"


def chosen(config: pytest.Config) -> list[Subject]:
    """The subjects of `--impl`, or all of our own that are installed; without the plugin there is no such option."""
    named = dict.fromkeys(config.getoption("parity_impl", None) or [])
    return [doors.subject(text) for text in named or doors.DEFAULT if doors.missing(text) is None]


def hold(subject: Subject, cases: list[Case]) -> None:
    """Fail with the first difference, and with the case that shows it; skip what the subject does not do."""
    pairs = list(outcomes(subject._replace(fewest=1), cases))
    if not pairs:
        pytest.skip(f"{subject.name} takes none of the cases")
    refused = [outcome for _, outcome in pairs if declined(subject, outcome)]
    judged = [(case, verdict(case, outcome)) for case, outcome in pairs if not declined(subject, outcome)]
    differing = [(case, text) for case, text in judged if text is not None]
    if differing:
        case, text = differing[0]
        advice = f"\n{UNCHECKED}" if case.fault and subject.outside else ""
        pytest.fail(f"{len(differing)} of {len(judged)} cases differ, the first:\n{text}{advice}", pytrace=False)
    if refused:
        agreeing = f"{len(judged)} cases agree, " if judged else ""
        pytest.skip(f"{agreeing}{len(refused)} not implemented: {refused[0]}")


def expect_failures(config: pytest.Config, items: Iterable[pytest.Item]) -> None:
    """Mark the tests whose ids stand in the files of `--xfails`; an id that no test has is an error."""
    by_id = {exact_id(item.nodeid): item for item in items}
    for path in config.getoption("parity_xfails", None) or ():
        for place, text in ids_of(path):
            if exact_id(text) not in by_id:
                raise pytest.UsageError(f"{place}: no test has the id {text}")
            by_id[exact_id(text)].add_marker(pytest.mark.xfail(strict=True, reason=f"listed in {place}"))


def ids_of(path: Path) -> Iterator[tuple[str, str]]:
    """The ids of a file, one a line, each with its place; what follows a `#` is a comment."""
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise pytest.UsageError(f"--xfails {path}: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        if text := re.split(r"(?:^|\s)#", line)[0].strip():
            yield f"{path}:{number}", text


def exact_id(nodeid: str) -> str:
    """The id from the name of the file on: the folders before it depend on where pytest was started.

    >>> exact_id("../lib/parity_tests/suite/test_vectors.py::test_vector[proc:./binary-cu-empty]")
    'test_vectors.py::test_vector[proc:./binary-cu-empty]'
    """
    path, _, test = nodeid.partition("::")
    return f"{Path(path).name}::{test}"
