"""A subject held to cases: those of one signature run together."""

from collections.abc import Iterator

from parity_tests.kit.calls import operation_of
from parity_tests.kit.cases import Case, group_key
from parity_tests.kit.compare import compare, describe
from parity_tests.kit.subjects import Subject


def verdicts(subject: Subject, cases: list[Case]) -> Iterator[str | None]:
    """For every case that the subject takes, the difference as text or None."""
    groups: dict[tuple, list[Case]] = {}
    for case in filter(subject.takes, cases):
        groups.setdefault(group_key(case), []).append(case)
    for group in groups.values():
        if len(group) < subject.fewest:
            continue
        outcomes = subject.run(operation_of(group[0].op), group)
        for case, outcome in zip(group, outcomes, strict=True):
            difference = compare(case, outcome)
            yield None if difference is None else describe(case, difference)


def differences(subject: Subject, cases: list[Case]) -> list[str]:
    """What differs in any of the cases, those included that are too few of a signature to be worth the time."""
    return [text for text in verdicts(subject._replace(fewest=1), cases) if text is not None]
