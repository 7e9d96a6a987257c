"""Any int32 in any array: nothing raises, dtypes and shapes are kept, values agree wherever the contract has them."""

import numpy as np
import pytest

from parity_tests.kit import oracle
from parity_tests.kit.cases import Case
from parity_tests.kit.contract import OPERATIONS, Operation
from parity_tests.kit.draw import SHAPES, draw_wild
from parity_tests.kit.shapes import promised
from parity_tests.kit.subjects import Subject, hurried
from parity_tests.suite._running import hold

CASES_A_SHAPE = 25
# A few rows, a page for every token, no drafts, no rows, no slots and no pages, no capacity.
CHOSEN = [dims for dims in SHAPES if dims["B"] <= 4]


@pytest.mark.parametrize("name", OPERATIONS)
def test_wild_values(subject: Subject, name: str) -> None:
    rng = np.random.default_rng(list(OPERATIONS).index(name))
    cases = [wild_case(OPERATIONS[name], dims, rng) for dims in CHOSEN for _ in range(CASES_A_SHAPE)]
    hold(hurried(subject), cases)


def wild_case(operation: Operation, dims: dict[str, int], rng: np.random.Generator) -> Case:
    inputs, static = draw_wild(operation, dims, rng)
    if oracle.is_defined(operation.name, inputs):
        expected = oracle.evaluate(operation.name, inputs, static)
    else:
        expected = promised(operation, inputs, static)
    return Case("wild", operation.name, "any values", "contract", static, inputs, expected)
