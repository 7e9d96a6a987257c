"""Cases are the same before and after they were text, and a call sees only what its case says."""

import numpy as np
import pytest

from parity_tests.kit.calls import ArgumentChanged, checked
from parity_tests.kit.cases import Case, Fault, Promise, dump_case, dump_cases, laid_out, load_cases
from parity_tests.kit.contract import OPERATIONS
from parity_tests.kit.trees import Tree

ARRAYS = [
    np.array([[1, -(2**31)], [2**31 - 1, 0]], np.int32),
    np.zeros((0, 3), np.int32),
    np.array(7, np.int32),
    np.array([True, False]),
    np.array([2**32 + 5], np.int64),
    np.array([0.1, -0.0, np.nan, np.inf, -np.inf, 1e-45, 3.4028235e38], np.float32),
]


def case_of(inputs: Tree, **layouts: str) -> Case:
    return Case("id", "cu_seqlens", "mistake", "contract", {"capacity": 8}, inputs, {}, layouts=layouts)


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{list(array.shape)}")
def test_array_comes_back_bit_for_bit(array: np.ndarray) -> None:
    (back,) = load_cases(dump_cases([case_of({"record": {"field": array}})]))
    field = back.inputs["record"]["field"]
    assert (field.dtype, field.shape, field.tobytes()) == (array.dtype, array.shape, array.tobytes())


def test_text_is_that_of_the_published_format() -> None:
    case = case_of({"query_lens": np.array([1, 4], np.int32), "raw": [1, 2]}, query_lens="strided")
    assert dump_case(case) == (
        '{"id":"id","op":"cu_seqlens","comment":"mistake","source":"contract","static":{"capacity":8},"inputs":{'
        '"query_lens":{"dtype":"int32","shape":[2],"data":[1,4],"layout":"strided"},"raw":[1,2]},"expected":{}}'
    )


@pytest.mark.parametrize(
    "change",
    [
        {"expected": {"out": Promise("int32", (3,))}},
        {"expected": None, "fault": Fault(("query_lens",))},
        {"expected": None, "fault": Fault(("query_lens", "capacity"), ("-8",))},
    ],
)
def test_case_comes_back(change: dict) -> None:
    case = case_of({"query_lens": ARRAYS[2]}, query_lens="strided")._replace(**change)
    (back,) = load_cases(dump_cases([case]))
    assert (back.fault, back.expected, back.layouts) == (case.fault, case.expected, case.layouts)
    assert dump_case(back) == dump_case(case)


@pytest.mark.parametrize("layout", [None, "strided", "transposed"])
def test_layout_keeps_values_and_shares_nothing(layout: str | None) -> None:
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    view = laid_out(array, layout)
    assert np.array_equal(view, array)
    assert not np.shares_memory(view, array)
    assert view.flags.c_contiguous == (layout is None)


def written(inputs: Tree) -> Tree:
    inputs["input_ids"][...] = 9
    return {"out": inputs["input_ids"]}


def test_write_into_an_argument_is_an_outcome_of_its_own() -> None:
    case = case_of({"input_ids": np.array([1, 2], np.int32)})
    plain = checked(written, OPERATIONS["overlay_input_ids"], case)
    donating = checked(written, OPERATIONS["overlay_input_ids_donated"], case)
    assert isinstance(plain, ArgumentChanged)
    assert "`input_ids`" in str(plain)
    assert isinstance(donating, dict)
    assert case.inputs["input_ids"].tolist() == [1, 2]
