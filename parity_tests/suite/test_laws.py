"""Laws between the results of an implementation, which need no oracle; a breach is shrunk to a small case."""

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parity_tests.kit.calls import operation_of
from parity_tests.kit.cases import Case
from parity_tests.kit.laws import DIMS, LAWS, Law
from parity_tests.kit.strategies import STEADY, cases
from parity_tests.kit.subjects import Subject
from parity_tests.kit.trees import Tree
from parity_tests.kit.trial import declined
from parity_tests.suite._running import hold

PAIRS = [pytest.param(law, name, id=f"{law.__name__}-{name}") for law, names in LAWS.items() for name in names]
EXAMPLES = 20


@pytest.mark.parametrize(("law", "name"), PAIRS)
def test_law(subject: Subject, law: Law, name: str) -> None:
    if subject.fewest > 1:
        pytest.skip(f"{subject.name} is for many cases at once")

    @settings(STEADY, max_examples=EXAMPLES)
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        following = law(data.draw(cases(name, DIMS)), partial(result_of, subject), data.draw)
        if not subject.takes(following):
            pytest.skip(f"{subject.name} has no {following.op}")
        hold(subject, [following])

    holds()


def result_of(subject: Subject, case: Case) -> Tree:
    (outcome,) = subject.run(operation_of(case.op), [case])
    if declined(subject, outcome):
        pytest.skip(f"not implemented: {outcome}")
    if isinstance(outcome, Exception):
        raise outcome
    return outcome
