"""The overlap experiment's proofs: what a step reads is seen, in whatever way, and so is what it gets wrong."""

import itertools
import operator
import os

import jax
import numpy as np
import pytest
from jax.core import Tracer
from jax.experimental import io_callback

from parity_tests.bench.overlap import experiment, steps
from parity_tests.bench.overlap.host import read
from parity_tests.bench.overlap.measure import DifferentTokensError, Plan, timed
from parity_tests.bench.overlap.model import Sizes
from parity_tests.bench.overlap.stacks import jax_stack, torch_stack
from parity_tests.bench.overlap.steps import Carry, Loop, make_loop, step_after, step_before
from parity_tests.bench.overlap.torch_counts import count_events
from parity_tests.bench.overlap.watched import HiddenReadError, count_reads

SMALL = Sizes(rows=4, drafts=2, blocks=8, block_size=4, vocabulary=16, width=16, layers=1)
Started = tuple[Loop, Carry]
PLAN = Plan(steps=3, rounds=1, observed=1, host_ms=0)


@pytest.fixture(scope="module")
def started():
    return make_loop(jax_stack(), SMALL)


def test_reads_are_counted(started: Started):
    assert [count_reads(*started, step, 3) for step in (step_before, step_after)] == [4, 0]


def test_a_read_through_the_door_is_counted(started: Started):
    def step(loop, carry, host):
        read(host, loop.stack.fetch, carry.num_draft_tokens)
        return step_after(loop, carry, host)

    assert count_reads(*started, step, 3) == 1


def guarded(array):
    return np.asarray(array) if isinstance(array, jax.Array) and not isinstance(array, Tracer) else None


LOOKS = {
    "array": np.asarray,
    "int": lambda array: int(array[-1]),
    "index": lambda array: operator.index(array[-1]),
    "device_get": jax.device_get,
    "repr": repr,
    "format": lambda array: f"{array}",
    "wait": jax.block_until_ready,
    "wait for two": lambda array: jax.block_until_ready([array, array]),
    "copy": lambda array: array.copy_to_host_async(),
    "mask": lambda array: array[array > 0],
    "nonzero": jax.numpy.nonzero,
    "memory": memoryview,
    "dlpack": np.from_dlpack,
    "shard": lambda array: array.addressable_data(0),
    "guarded": guarded,
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
@pytest.mark.parametrize("since", [1, 3])
def test_a_read_past_the_door_is_found(started: Started, look, since):
    calls = itertools.count(1)

    def step(loop, carry, host):
        if next(calls) >= since:
            look(carry.cu_seqlens_q)
        return step_after(loop, carry, host)

    with pytest.raises(HiddenReadError, match="`step` may read the device past the door"):
        count_reads(*started, step, 3)


def test_a_wait_for_what_a_program_gave_is_found(started: Started):
    def step(loop, carry, host):
        carry, tokens = step_after(loop, carry, host)
        return carry, jax.block_until_ready(tokens)

    with pytest.raises(HiddenReadError, match="`block_until_ready` of an array"):
        count_reads(*started, step, 1)


CALLS = {
    "debug": lambda array: jax.debug.callback(print, array),
    "print": lambda array: jax.debug.print("{}", array),
    "io": lambda array: io_callback(id, None, array),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call_of_the_host_in_a_program_is_found(started: Started, call):
    loop, first = started

    def prepare(constants, carry, tables):
        call(carry.cu_seqlens_q)
        return loop.programs.prepare(constants, carry, tables)

    programs = loop.programs._replace(prepare=jax.jit(prepare))
    with pytest.raises(HiddenReadError, match="callback` in the program `prepare`"):
        count_reads(loop._replace(programs=programs), first, step_after, 1)


def test_a_program_that_is_not_compiled_is_refused(started: Started):
    loop, first = started
    programs = loop.programs._replace(prepare=lambda *given: loop.programs.prepare(*given))
    with pytest.raises(HiddenReadError, match="lower"):
        count_reads(loop._replace(programs=programs), first, step_after, 1)


def test_a_read_of_torch_is_counted(monkeypatch):
    torch_ref = pytest.importorskip("torch_ref")
    right = torch_ref.prepare_step

    def reading(*given, **options):
        int(given[1][-1])
        return right(*given, **options)

    monkeypatch.setattr(torch_ref, "prepare_step", reading)
    counts = count_events(*make_loop(torch_stack("cpu"), SMALL), 4)
    assert [counts[way]["aten::item"] for way in ("before", "after")] == [1, 1]


def test_a_wrong_token_of_torch_is_found(monkeypatch):
    pytest.importorskip("torch")
    right = experiment.torch_stack

    def wrong(device):
        stack = right(device)
        return stack._replace(fetch_last=lambda tensor: stack.fetch_last(tensor) * 0)

    monkeypatch.setattr(experiment, "torch_stack", wrong)
    with pytest.raises(DifferentTokensError, match="torch, "):
        experiment.experiment(PLAN._replace(steps=20), SMALL, "cpu")


def test_the_load_is_taken_first(monkeypatch):
    def stop(*_):
        raise StopIteration

    loads: list[float] = []
    monkeypatch.setattr(os, "getloadavg", lambda: loads.append(0.25) or (0.25, 0, 0))
    monkeypatch.setattr(experiment, "make_loop", stop)
    with pytest.raises(StopIteration):
        experiment.experiment(PLAN, SMALL, None)
    assert loads == [0.25]


def test_a_wrong_token_is_found(started: Started, monkeypatch):
    right = steps.assembled
    monkeypatch.setattr(steps, "assembled", lambda bounds, anchors, *rest: right(bounds, anchors + 1, *rest))
    with pytest.raises(DifferentTokensError, match="step 0, row"):
        list(timed(*started, PLAN))


def test_a_wrong_clamp_is_found(started: Started):
    # It seeds the drafter from another row, so that other drafts are accepted.
    loop, first = started
    finish = loop.programs.finish_bounded
    clamped = loop.programs._replace(finish_bounded=lambda *given: finish(*given[:-1], given[-1] * 0))
    with pytest.raises(DifferentTokensError):
        list(timed(loop._replace(programs=clamped), first, Plan(20, 1, 0, 0)))


def test_torch_emits_the_same_both_ways():
    pytest.importorskip("torch")
    samples = list(timed(*make_loop(torch_stack("cpu"), SMALL), PLAN))
    assert [(sample.stack, sample.way) for sample in samples] == [("torch", "before"), ("torch", "after")]
