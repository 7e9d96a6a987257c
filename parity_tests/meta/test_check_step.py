"""`check_step` finds every fault that the contract names, and what it accepts is what all implementations agree on."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jax_spec
from parity_tests.kit import doors, oracle, reference
from parity_tests.kit.cases import Case
from parity_tests.kit.contract import OPERATIONS
from parity_tests.kit.draw import SHAPES, draw
from parity_tests.kit.shapes import promised
from parity_tests.kit.strategies import SHAPES as FITTING
from parity_tests.kit.strategies import STEADY, Draw, rows
from parity_tests.kit.subjects import hurried
from parity_tests.kit.trees import map_leaves
from parity_tests.kit.trial import differences

torch_ref = pytest.importorskip("torch_ref", reason="needs torch")

CHECKS = {"oracle": oracle.check_step, "jax": jax_spec.check_step, "torch": torch_ref.check_step}
DIMS = FITTING[-1]
K, SLOTS, VOCABULARY = DIMS["K"], DIMS["S"], 1000
INT_MIN, INT_MAX = -(2**31), 2**31 - 1

PER_ROW = ("cu_seqlens_q", "source_rows", "slots", "num_draft_tokens")
STEPS = 200

Step = dict[str, Any]
Plant = Callable[[Step, int, Draw], None]


def starts_late(step: Step, _: int, draw: Draw) -> None:
    step["cu_seqlens_q"] += draw(st.sampled_from([-1, 1]))
    step["capacity"] += 1


def decreases(step: Step, row: int, _: Draw) -> None:
    step["cu_seqlens_q"][row + 1] = step["cu_seqlens_q"][row] - 1


def overflows(step: Step, _: int, draw: Draw) -> None:
    step["cu_seqlens_q"][-1] = step["capacity"] + draw(st.integers(1, 3))


def carried_too_long(step: Step, row: int, draw: Draw) -> None:
    carry(step, row, length=K + 2 + draw(st.integers(0, 3)))


def drafts_miscounted(step: Step, row: int, draw: Draw) -> None:
    carry(step, row, length=draw(st.integers(0, K + 1)))
    step["num_draft_tokens"][row] += draw(st.sampled_from([-1, 1, INT_MIN // 2]))


def source_outside(step: Step, row: int, draw: Draw) -> None:
    step["source_rows"][row] = draw(outside(SLOTS))


def slot_outside(step: Step, row: int, draw: Draw) -> None:
    step["slots"][row] = draw(outside(SLOTS))


def slot_twice(step: Step, row: int, draw: Draw) -> None:
    step["slots"][[row, row - 1]] = draw(st.integers(0, SLOTS - 1))


def rows_disagree(name: str) -> Plant:
    def plant(step: Step, _: int, draw: Draw) -> None:
        step[name] = draw(st.sampled_from([step[name][:-1], np.append(step[name], np.int32(-1)), step[name][:0]]))

    return plant


def id_is_no_int32(step: Step, place: int, draw: Draw) -> None:
    step["token_ids"] = step["token_ids"].astype(np.int64)
    step["token_ids"][place] = draw(st.sampled_from([INT_MIN - 1, INT_MAX + 1, 2**32, 2**32 + 7]))
    step["vocab_size"] = draw(st.sampled_from([None, VOCABULARY]))


def id_outside(step: Step, place: int, draw: Draw) -> None:
    step["token_ids"][place] = draw(outside(VOCABULARY))


FAULTS: dict[str, tuple[Plant, tuple[str, ...]]] = {
    "starts late": (starts_late, ("cu_seqlens_q",)),
    "decreases": (decreases, ("cu_seqlens_q",)),
    "overflows": (overflows, ("cu_seqlens_q",)),
    "carried too long": (carried_too_long, ("cu_seqlens_q",)),
    "drafts miscounted": (drafts_miscounted, ("num_draft_tokens",)),
    "source outside": (source_outside, ("source_rows",)),
    "slot outside": (slot_outside, ("slots",)),
    "slot twice": (slot_twice, ("slots",)),
    "sources of other rows": (rows_disagree("source_rows"), ("source_rows", "cu_seqlens_q")),
    "slots of other rows": (rows_disagree("slots"), ("slots", "cu_seqlens_q")),
    "counts of other rows": (rows_disagree("num_draft_tokens"), ("num_draft_tokens", "cu_seqlens_q")),
    "id is no int32": (id_is_no_int32, ("token_ids",)),
    "id outside": (id_outside, ("token_ids",)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_is_found(fault: str) -> None:
    plant, arguments = FAULTS[fault]

    @settings(STEADY, max_examples=40)
    @given(st.data())
    def found(data: st.DataObject) -> None:
        step = data.draw(steps())
        assert [verdict(check, step) for check in CHECKS.values()] == [""] * 3
        plant(step, data.draw(st.integers(0, DIMS["B"] - 1)), data.draw)
        for name, check in CHECKS.items():
            told = verdict(check, step)
            assert any(f"`{argument}`" in told for argument in arguments), f"{name}: {told or 'accepted'}"

    found()


@st.composite
def steps(draw: Draw) -> Step:
    """A good step, by the arguments of `check_step`."""
    drawn = draw(rows(DIMS))
    ids = draw(st.lists(st.integers(-1, VOCABULARY - 1), min_size=DIMS["T"], max_size=DIMS["T"]))
    arrays = {name: getattr(drawn, name).copy() for name in PER_ROW}
    statics = {"capacity": DIMS["T"], "num_speculative_tokens": K, "num_slots": SLOTS, "vocab_size": VOCABULARY}
    return arrays | statics | {"token_ids": np.array(ids, np.int32)}


def carry(step: Step, row: int, length: int) -> None:
    """Make a row a carried one of that length, in a step that stays as good as that allows."""
    lens = np.diff(step["cu_seqlens_q"])
    lens[row] = length
    step["cu_seqlens_q"] = np.cumsum([0, *lens], dtype=np.int32)
    step["capacity"] += length
    step["source_rows"][row], step["num_draft_tokens"][row] = 0, max(length - 1, 0)


def outside(size: int) -> st.SearchStrategy[int]:
    return st.sampled_from([-2, size, size + 1, INT_MIN, INT_MAX])


def verdict(check: Callable, step: Step) -> str:
    """What a check says, and nothing if it accepts."""
    try:
        check(**step)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("dims", [DIMS, SHAPES[1]], ids=["B3", "B8"])
def test_accepted_steps_have_one_result_and_refused_ones_do_no_harm(dims: dict[str, int]) -> None:
    rng = np.random.default_rng(0)
    cases, accepted = [], 0
    for _ in range(STEPS):
        inputs = step_at_the_limits(dims, rng)
        verdicts = {name: verdict(check, as_arguments(inputs, dims)) for name, check in CHECKS.items()}
        assert len({bool(told) for told in verdicts.values()}) == 1, verdicts
        accepted += verdicts["oracle"] == ""
        cases += calls(inputs, dims, defined=verdicts["oracle"] == "")
    assert STEPS / 5 < accepted < STEPS * 4 / 5
    for name in ("jax", "torch"):
        assert differences(hurried(doors.subject(name)), cases) == []


def step_at_the_limits(dims: dict[str, int], rng: np.random.Generator) -> Step:
    """The arrays of a whole step; two out of three have entries at a limit that `check_step` draws, or beside it."""
    inputs, _ = draw(OPERATIONS["prepare_step"], dims, rng, hostile=False)
    more, _ = draw(OPERATIONS["commit_step"], dims, rng, hostile=False)
    drafts = rng.integers(-1, VOCABULARY, (dims["B"], dims["K"]), np.int32)
    inputs |= {"slots": more["slots"], "sampled_token_ids": more["sampled_token_ids"], "draft_token_ids": drafts}
    limits = [-2, -1, 0, 1, dims["K"], dims["K"] + 1, dims["S"] - 1, dims["S"], dims["T"], dims["T"] + 1]
    for _ in range(rng.integers(0, 3)):
        name = rng.choice(PER_ROW)
        inputs[name][rng.integers(0, len(inputs[name]))] = rng.choice(limits)
    return inputs


def as_arguments(inputs: Step, dims: dict[str, int]) -> Step:
    """What `check_step` is given of these arrays."""
    statics = {"capacity": dims["T"], "num_speculative_tokens": dims["K"], "num_slots": dims["S"]}
    return {name: inputs[name] for name in PER_ROW} | statics | {"token_ids": inputs["input_ids"]}


def calls(inputs: Step, dims: dict[str, int], *, defined: bool) -> list[Case]:
    """The operations of a step; nothing but dtypes and shapes is expected of one that is refused."""
    static = {"block_size": dims["block_size"]}
    one = {name: inputs[name] for name in names_of("prepare_step")}
    batch = reference.evaluate("prepare_step", map_leaves(lambda _, leaf: leaf[None], one), static)
    known = inputs | {"inputs": map_leaves(lambda _, leaf: leaf[0, ...], batch)}
    cases = []
    for name, statics in (("prepare_step", static), ("commit_step", {}), ("store_drafts", {})):
        given = {argument: known[argument] for argument in names_of(name)}
        values = oracle.evaluate(name, given, statics) if defined else promised(OPERATIONS[name], given, statics)
        cases.append(Case("limits", name, "a step at the limits", "contract", statics, given, values))
    return cases


def names_of(name: str) -> list[str]:
    return [argument.name for argument in OPERATIONS[name].arguments]
