"""What comes in by a door is what was named, is held to all of the contract, and is judged by what it does."""

from pathlib import Path

import numpy as np
import pytest

from parity_tests.kit import doors, vectors
from parity_tests.kit.calls import ArgumentChanged, in_order
from parity_tests.kit.cases import Case
from parity_tests.kit.compare import compare
from parity_tests.kit.contract import CHECK_STEP, OPERATIONS
from parity_tests.kit.doors import Spec, SpecError
from parity_tests.kit.subjects import Subject
from parity_tests.kit.trial import differences, outcomes

CASES = {case.op: case for case in reversed(vectors.load()) if case.fault is None}

MODULE = """
import functools
from typing import NamedTuple

import {framework} as framework
import {package} as ours
from {package} import *

del check_step

class StepState(NamedTuple):
    anchor_token_ids: object
    draft_token_ids: object
    num_computed_tokens: object

def store_drafts(state, slots, drafts):
    assert type(state) is StepState
    result = ours.store_drafts(ours.StepState(*state), slots, drafts)
    return StepState(*result)

@functools.wraps(ours.seq_lens)
def seq_lens(*arrays):
    return ours.seq_lens(*arrays) + 1

def token_index_bound(cu_seqlens_q):
    raise NotImplementedError("not on this card")

def bound(cu_seqlens_q):
    return ours.token_index_bound(cu_seqlens_q)

def in_place(token_ids, *, vocab_size):
    token_ids[...] = token_ids.clip(0, vocab_size - 1)
    return token_ids

def adapter(operation, inputs, static):
    if operation != "store_drafts":
        raise NotImplementedError(operation)
    state = inputs["state"]
    keep = (inputs["slots"] >= 0) & (inputs["slots"] < len(state["draft_token_ids"]))
    state["draft_token_ids"][inputs["slots"][keep]] = inputs["draft_token_ids"][keep]
    return dict(reversed(state.items()))

def bare(inputs, static):
    return inputs["cu_seqlens_q"][-1]
"""


@pytest.fixture(params=["jax", "torch"])
def framework(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A framework, in which there now is a module `theirs_jax` or `theirs_torch`."""
    package = {"jax": "jax_spec", "torch": "torch_ref"}[request.param]
    text = MODULE.format(framework=request.param, package=package)
    (tmp_path / f"theirs_{request.param}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    doors.subject.cache_clear()
    return request.param


def theirs(framework: str, before: str = "", behind: str = "") -> Subject:
    return doors.subject(f"{before}{framework}:theirs_{framework}{behind}")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("jax", ("", "jax", "", "jax_spec")),
        ("torch@cuda", ("", "torch", "cuda", "torch_ref")),
        ("seq_lens=torch-host-sync", ("seq_lens", "torch", "", "torch_ref.host_sync")),
        ("jax:a.b", ("", "jax", "", "a.b")),
        ("seq_lens=torch@cuda:a.b:f", ("seq_lens", "torch", "cuda", "a.b:f")),
        ("check_step=proc:./x --to=y a:b", ("check_step", "proc", "", "./x --to=y a:b")),
    ],
)
def test_spec_is_taken_apart(text: str, parts: tuple[str, str, str, str]) -> None:
    assert doors.parse(text) == Spec(text, *parts, ours=":" not in text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("jaxx", "unknown implementation, expected one of jax, .*perhaps 'jax'"),
        ("numpy", "unknown implementation"),
        ("tpu:a.b", "unknown implementation"),
        ("", "unknown implementation"),
        ("cu_seqlen=jax:a.b", "no operation is called 'cu_seqlen'; perhaps 'cu_seqlens'"),
        ("jax@cuda:a.b", "is for torch"),
        ("jax:no_such_module", "cannot import no_such_module: ModuleNotFoundError"),
        ("cu_seqlens=jax:jax_spec:cumsum", "jax_spec has no function 'cumsum'"),
        ("jax:jax_spec:cu_seqlens", "which operation"),
        ("numpy:numpy", "which function"),
        ("proc:./no-such-program --x", "no program is called"),
    ],
)
def test_bad_spec_is_refused(text: str, told: str) -> None:
    with pytest.raises(SpecError, match=told) as refusal:
        doors.subject(text)
    assert str(refusal.value).startswith(text)


def test_short_names_are_ours_and_specs_are_not() -> None:
    assert not doors.subject("jax").outside
    assert not doors.subject("seq_lens=jax").outside
    assert not doors.subject("torch@cpu").outside
    assert doors.subject("jax:jax_spec").outside
    assert doors.subject("jax:jax_spec").lacks == ()


def test_module_is_asked_for_every_operation(framework: str) -> None:
    subject = theirs(framework)
    assert set(subject.operations) == set(OPERATIONS)
    assert subject.lacks == (CHECK_STEP.name,)


def test_module_brings_its_own_records(framework: str) -> None:
    assert differences(theirs(framework), [CASES["store_drafts"]]) == []


def test_wrapper_is_judged_by_what_it_does(framework: str) -> None:
    subject = theirs(framework)
    assert len(differences(subject, [CASES["seq_lens"]])) == 1
    assert subject.quick is None


def test_not_implemented_is_no_difference_from_outside(framework: str) -> None:
    case = CASES["token_index_bound"]
    assert differences(theirs(framework), [case]) == []
    assert len(differences(theirs(framework)._replace(outside=False), [case])) == 1


def test_function_of_any_name_is_one_operation(framework: str) -> None:
    subject = theirs(framework, "token_index_bound=", ":bound")
    assert (subject.operations, subject.lacks) == (("token_index_bound",), ())
    assert not subject.takes(CASES["seq_lens"])
    ((_, outcome),) = outcomes(subject, [CASES["token_index_bound"]])
    assert compare(CASES["token_index_bound"], outcome) is None


def test_missing_function_is_the_one_that_lacks(framework: str) -> None:
    subject = theirs(framework, "check_step=")
    assert (subject.operations, subject.lacks) == ((), ("check_step",))


@pytest.mark.parametrize("device", ["", "@cpu"])
def test_write_into_an_argument_is_seen_on_a_device(framework: str, device: str) -> None:
    if framework == "jax":
        return
    ((_, outcome),) = outcomes(
        doors.subject(f"clamp_token_ids=torch{device}:theirs_torch:in_place"), [CASES["clamp_token_ids"]]
    )
    assert isinstance(outcome, ArgumentChanged)


@pytest.mark.parametrize("layout", ["strided", "transposed"])
def test_layout_survives_the_way_to_a_device(layout: str) -> None:
    laid = [case for case in vectors.load() if layout in case.layouts.values() and case.op in OPERATIONS]
    assert laid
    assert differences(doors.subject("torch@cpu"), laid) == []


def test_adapter_may_write_and_need_not_keep_order(framework: str) -> None:
    subject = doors.subject(f"numpy:theirs_{framework}:adapter")
    stored = [case for case in vectors.load() if case.op == "store_drafts" and case.fault is None]
    assert differences(subject, stored) == []
    ((_, outcome),) = outcomes(subject, [CASES["seq_lens"]])
    assert isinstance(outcome, NotImplementedError)


def test_adapter_without_a_dict_is_told(framework: str) -> None:
    subject = doors.subject(f"token_index_bound=numpy:theirs_{framework}:bare")
    (text,) = differences(subject, [CASES["token_index_bound"]])
    assert "expected a dict; a single array is under 'out'" in text


def test_fields_are_put_in_order_and_none_is_lost() -> None:
    rows = {"valid": 3, "row": 1, "extra": 4, "offset": 2}
    assert list(in_order(OPERATIONS["token_rows"], rows).values()) == [1, 2, 3, 4]
    assert in_order(CHECK_STEP, {"out": 1}) == {"out": 1}


def test_case_of_another_width_reaches_a_function_as_it_is(framework: str) -> None:
    wide = Case("wide", "seq_lens", "-", "contract", {}, {"cu_seqlens_q": np.array([0, 1]), "num_computed_tokens": 7})
    ((_, outcome),) = outcomes(doors.subject(framework), [wide])
    assert isinstance(outcome, ValueError)
    assert "int64" in str(outcome)
