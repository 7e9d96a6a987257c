"""A subject held to cases: those of one signature run together."""

from collections.abc import Iterator

from parity_tests.kit.calls import operation_of
from parity_tests.kit.cases import Case, group_key
from parity_tests.kit.compare import Outcome, compare, describe
from parity_tests.kit.subjects import Subject


def outcomes(subject: Subject, cases: list[Case]) -> Iterator[tuple[Case, Outcome]]:
    """Every case that the subject takes, with what became of it."""
    groups: dict[tuple, list[Case]] = {}
    for case in filter(subject.takes, cases):
        groups.setdefault(group_key(case), []).append(case)
    for group in groups.values():
        if len(group) >= subject.fewest:
            yield from zip(group, subject.run(operation_of(group[0].op), group), strict=True)


def declined(subject: Subject, outcome: Outcome) -> bool:
    """Whether an implementation that is not ours says that it does not do this."""
    return subject.outside and isinstance(outcome, NotImplementedError)


def verdict(case: Case, outcome: Outcome) -> str | None:
    """The difference as text, or None."""
    difference = compare(case, outcome)
    return None if difference is None else describe(case, difference)


def verdicts(subject: Subject, cases: list[Case]) -> Iterator[str | None]:
    """For every case that the subject takes and does not decline, the difference as text or None."""
    for case, outcome in outcomes(subject, cases):
        if not declined(subject, outcome):
            yield verdict(case, outcome)


def differences(subject: Subject, cases: list[Case]) -> list[str]:
    """What differs in any of the cases, those included that are too few of a signature to be worth the time."""
    return [text for text in verdicts(subject._replace(fewest=1), cases) if text is not None]
