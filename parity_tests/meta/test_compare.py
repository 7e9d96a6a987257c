"""The comparison sees each kind of difference, names the first of them, and gives the case to paste."""

import json

import numpy as np
import pytest

from parity_tests.kit.cases import Case, Fault, Promise, load_cases
from parity_tests.kit.compare import compare, describe
from parity_tests.kit.trees import Tree


def int32(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


CASE = Case(
    "rows",
    "token_rows",
    "plain",
    "contract",
    {"capacity": 4},
    {"cu_seqlens_q": int32(0, 1, 1, 3)},
    {"row": int32(0, 2, 2, 3), "offset": int32(0, 0, 1, 0), "valid": np.array([True, True, True, False])},
)
RIGHT: Tree = CASE.expected or {}
REFUSED = CASE._replace(expected=None, fault=Fault(("capacity", "cu_seqlens_q"), ("-8",)))


def test_equal_is_no_difference() -> None:
    assert compare(CASE, {path: array.copy() for path, array in RIGHT.items()}) is None


@pytest.mark.parametrize(
    ("kind", "path", "outcome"),
    [
        ("structure", "", {"row": RIGHT["row"], "offset": RIGHT["offset"]}),
        ("structure", "", {**RIGHT, "extra": int32()}),
        ("structure", "", {name: RIGHT[name] for name in ("offset", "row", "valid")}),
        ("structure", "offset", {**RIGHT, "offset": [0, 0, 1, 0]}),
        ("dtype", "offset", {**RIGHT, "offset": RIGHT["offset"].astype(np.int64)}),
        ("dtype", "valid", {**RIGHT, "valid": RIGHT["valid"].astype(np.int32)}),
        ("shape", "row", {**RIGHT, "row": RIGHT["row"][:, None]}),
        ("shape", "row", {**RIGHT, "row": RIGHT["row"][:3]}),
        ("values", "offset", {**RIGHT, "offset": int32(0, 0, 1, 1)}),
        ("values", "valid", {**RIGHT, "valid": ~RIGHT["valid"]}),
        ("error", "", TypeError("no such argument")),
    ],
)
def test_each_kind_is_seen(kind: str, path: str, outcome: Tree | Exception) -> None:
    difference = compare(CASE, outcome)
    assert difference is not None
    assert (difference.kind, difference.path) == (kind, path)


def test_kinds_come_in_order() -> None:
    # Wrong in the value of its first field, the shape of its second and the dtype of its last: the dtype is told.
    outcome = {"row": int32(9, 9, 9, 9), "offset": int32(0), "valid": int32(1, 1, 1, 0)}
    difference = compare(CASE, outcome)
    assert difference is not None
    assert difference.kind == "dtype"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (int32(0, 1, 2, 3), "`row`[1] (flat 1, row 2): expected 2, got 1"),
        (int32(0, 2, 2, 2), "`row`[3] (flat 3, in the tail): expected 3, got 2"),
    ],
)
def test_first_difference_of_a_token_names_its_row(wrong: np.ndarray, told: str) -> None:
    difference = compare(CASE, {**RIGHT, "row": wrong})
    assert difference is not None
    assert difference.text == told


def test_first_difference_of_a_row_names_it() -> None:
    table = np.arange(6, dtype=np.int32).reshape(2, 3)
    wrong = table.copy()
    wrong[1, 1:] = 9
    state = {"anchor_token_ids": int32(1, 2), "draft_token_ids": table, "num_computed_tokens": int32(3, 4)}
    case = Case("store", "store_drafts", "plain", "contract", {}, {}, state)
    difference = compare(case, {**state, "draft_token_ids": wrong})
    assert difference is not None
    assert difference.text == "`draft_token_ids`[1, 1] (flat 4, row 1): expected 4, got 9"


def test_pasted_case_is_the_case() -> None:
    difference = compare(CASE, {**RIGHT, "row": int32(9, 9, 9, 9)})
    assert difference is not None
    line = describe(CASE, difference).splitlines()[-1]
    (pasted,) = load_cases(f'{{"cases":[{line}]}}')
    assert compare(pasted, RIGHT) is None
    assert json.loads(line)["id"] == CASE.id


def test_promise_keeps_dtype_and_shape_only() -> None:
    promise = CASE._replace(expected={"row": Promise("int32", (4,))})
    assert compare(promise, {"row": int32(7, 7, 7, 7)}) is None
    for kind, wrong in (("dtype", np.zeros(4)), ("shape", int32(7, 7, 7))):
        difference = compare(promise, {"row": wrong})
        assert difference is not None
        assert difference.kind == kind


def test_right_error_is_no_difference() -> None:
    assert compare(REFUSED, ValueError("`capacity`: got -8, expected a Python int of at least 0")) is None


@pytest.mark.parametrize(
    "outcome",
    [
        RIGHT,
        TypeError("`capacity`: got -8"),
        ValueError("capacity: got -8"),
        ValueError("`vocab_size`: got -8"),
        ValueError("`capacity`: got a negative number"),
    ],
)
def test_wrong_error_is_a_difference(outcome: Tree | Exception) -> None:
    difference = compare(REFUSED, outcome)
    assert difference is not None
    assert difference.kind == "error"
