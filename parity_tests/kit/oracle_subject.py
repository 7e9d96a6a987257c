"""The oracle as one more subject: held to what was derived by hand and to what was recorded."""

from parity_tests.kit import oracle
from parity_tests.kit.cases import Case, Promise
from parity_tests.kit.compare import Outcome
from parity_tests.kit.contract import CHECK_STEP, Operation
from parity_tests.kit.trees import leaves


def answers(case: Case) -> bool:
    """Whether the oracle has something to say: it knows values, and the faults of `check_step` alone."""
    if case.fault is not None:
        return case.op == CHECK_STEP.name
    return not any(isinstance(leaf, Promise) for _, leaf in leaves(case.expected or {}))


def consult(case: Case) -> Outcome:
    """What the oracle says to a case."""
    try:
        if case.op != CHECK_STEP.name:
            return oracle.evaluate(case.op, case.inputs, case.static)
        oracle.check_step(**case.inputs, **case.static)
    except Exception as error:
        return error
    return {}


def run(_: Operation, cases: list[Case]) -> list[Outcome]:
    """The oracle, case by case."""
    return [consult(case) for case in cases]
