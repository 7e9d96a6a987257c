"""The strategies draw good steps and every kind of row, and what differs is shrunk to a small vector to paste."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from parity_tests.kit import oracle, strategies
from parity_tests.kit.cases import Case, load_cases
from parity_tests.kit.draw import Rows
from parity_tests.kit.strategies import SHAPES, STEADY, hostile_cases, hostile_lengths, hostile_rows, rows
from parity_tests.kit.subjects import of_operations
from parity_tests.kit.trees import leaves
from parity_tests.kit.trial import differences
from parity_tests.suite.test_shrinking import shrink

DIMS = SHAPES[-1]
K = DIMS["K"]
UNSHRUNK = settings(STEADY, max_examples=2000, phases=[Phase.generate])


@settings(STEADY, max_examples=200)
@given(strategies.dims().flatmap(lambda dims: st.tuples(st.just(dims), rows(dims))))
def test_step_that_is_not_hostile_is_a_good_one(drawn: tuple[dict[str, int], Rows]) -> None:
    dims, step = drawn
    oracle.check_step(
        step.cu_seqlens_q,
        capacity=dims["T"],
        num_speculative_tokens=dims["K"],
        source_rows=step.source_rows,
        num_slots=dims["S"],
        slots=step.slots,
        num_draft_tokens=step.num_draft_tokens,
    )


KINDS: dict[str, Callable[[Rows], bool]] = {
    "a carried row with all drafts": lambda step: bool((lens(step)[step.source_rows >= 0] == K + 1).any()),
    "a prompt chunk longer than K + 1": lambda step: bool((lens(step)[step.source_rows < 0] > K + 1).any()),
    "an empty row between others": lambda step: lens(step)[1] == 0 < min(lens(step)[[0, 2]]),
    "two rows without tokens": lambda step: (lens(step) == 0).sum() == 2,
    "a row that reads another one's slot": lambda step: 1 in step.source_rows and step.source_rows[1] == 0,
    "a row without a slot beside one that has one": lambda step: {-1, 1} <= set(step.slots.tolist()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_row_is_drawn(kind: str) -> None:
    assert found(rows(DIMS), KINDS[kind])


def test_hostile_twins_leave_what_serving_would_hold() -> None:
    found(hostile_rows(DIMS), lambda step: step.source_rows.max() > DIMS["S"])
    found(hostile_lengths(DIMS), lambda drawn: drawn.min() < 0)
    found(strategies.hostile_token_ids(DIMS, (2, 2)), lambda ids: ids.min() < -1)
    found(hostile_cases("token_rows"), lambda case: case.inputs["cu_seqlens_q"][-1] > case.static["capacity"])


def found(strategy: st.SearchStrategy, condition: Callable) -> Any:
    return find(strategy, condition, settings=UNSHRUNK, random=Random(0))


def test_simplest_step_does_nothing() -> None:
    simplest = find(rows(DIMS), lambda _: True, settings=STEADY)
    assert [array.tolist() for array in simplest] == [[1] * 3, [0, 1, 2, 3], [-1] * 3, [0] * 3, [-1] * 3]
    assert not find(strategies.token_ids(DIMS, (2, 2)), lambda _: True, settings=STEADY).any()


def neighbours_anchor(case: Case) -> dict[str, np.ndarray]:
    inputs = case.inputs | {"anchor_token_ids": np.roll(case.inputs["anchor_token_ids"], 1)}
    return oracle.evaluate(case.op, inputs, case.static)


def untidy_tail(case: Case) -> dict[str, np.ndarray]:
    out = oracle.evaluate(case.op, case.inputs, case.static)["out"]
    total = case.inputs["cu_seqlens_q"][-1]
    return {"out": np.where(np.arange(len(out)) >= max(total, 2), 9, out).astype(np.int32)}


def bonus_dropped(case: Case) -> dict[str, np.ndarray]:
    right = oracle.evaluate(case.op, case.inputs, case.static)
    all_accepted = (right["num_rejected"] == 0) & (right["num_accepted"] > 0)
    return right | {"next_token_ids": np.where(all_accepted, -1, right["next_token_ids"])}


# How many of the numbers in the smallest case are not 0.
MISTAKES = [
    ("assemble_input_ids", neighbours_anchor, 4),
    ("assemble_input_ids", untidy_tail, 1),
    ("accept_greedy", bonus_dropped, 8),
]


@pytest.mark.parametrize(("name", "mistake", "most"), MISTAKES, ids=lambda value: getattr(value, "__name__", None))
def test_difference_is_shrunk_and_can_be_pasted(name: str, mistake: Callable, most: int) -> None:
    subject = of_operations("wrong", [name], lambda _, several: [mistake(case) for case in several])
    with pytest.raises(pytest.fail.Exception) as failure:
        shrink(subject, name, examples=300)
    (case,) = pasted(str(failure.value))
    assert differences(subject, [case])
    assert sum(np.count_nonzero(leaf) for _, leaf in leaves(case.inputs)) <= most


def pasted(printed: str) -> list[Case]:
    line = next(line for line in printed.splitlines() if line.startswith("{"))
    return load_cases(json.dumps({"cases": [json.loads(line)]}))


def lens(step: Rows) -> np.ndarray:
    return np.diff(step.cu_seqlens_q)
