"""The worked integration: on every device, the tokens are those of a host that takes one token at a time."""

from collections import Counter, deque
from itertools import islice
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import jax_spec
from parity_tests.kit.examples import serving_loop, toy_model
from parity_tests.kit.examples.serving_loop import CHUNK, LADDER, K, Rank, Request, admit, serve

LONGEST = {"prompt": 13, "budget": 14}


def workload(count, seed):
    """Requests of all lengths, many more than there are slots."""
    rng = np.random.default_rng(seed)
    prompts = [rng.integers(0, toy_model.VOCAB_SIZE, rng.integers(1, LONGEST["prompt"] + 1)) for _ in range(count)]
    return [Request(prompt.tolist(), int(rng.integers(1, LONGEST["budget"] + 1))) for prompt in prompts]


def one_by_one(prompt, budget):
    """Plain Python, no cache, no drafts."""
    tokens = list(prompt)
    for _ in range(budget):
        hidden = sum(token * (position % 7 + 1) for position, token in enumerate(tokens))
        tokens.append((hidden * 31 + (len(tokens) - 1) * 17) % toy_model.VOCAB_SIZE)
    return tokens[len(prompt) :]


def said(requests):
    return [request.tokens[: request.budget] for request in requests]


def observed(requests, devices):
    """What happened on the way, counted."""
    mesh, seen = jax.make_mesh((devices,), ("data",)), Counter()
    for ranks, batch, bucket in serve(requests, mesh):
        seen["steps"] += 1
        seen[bucket] += 1
        for rank, rows in zip(ranks, batch, strict=True):
            kinds = {length == 0 for _, length, _ in rows}
            seen["mixed"] += kinds == {True, False}
            seen["sat out"] += len(rank.running) > len(rows)
            seen["chunks"] += sum(length == CHUNK for _, length, _ in rows)
            seen["empty rank"] += not rows
    seen["resumed"] = sum(len(request.text) > len(request.prompt) for request in requests)
    return seen


@pytest.fixture
def programs(monkeypatch):
    """What the loop compiles."""
    found = {}
    compiled = jax_spec.precompile
    monkeypatch.setattr(jax_spec, "precompile", lambda *given: found.update(compiled(*given)) or found)
    return found


def test_every_token_is_that_of_a_host_that_takes_one_at_a_time(programs):
    requests = workload(60, seed=0)
    seen = observed(requests, jax.device_count())
    assert said(requests) == [one_by_one(request.prompt, request.budget) for request in requests]
    assert all(seen[what] > 0 for what in ("mixed", "sat out", "chunks", "resumed", "empty rank", *LADDER)), seen
    assert seen["steps"] < sum(request.budget for request in requests) / jax.device_count()
    kept = sum(leaf.nbytes for leaf in jax.tree.leaves(serving_loop.empty(1)))
    assert {program.memory_analysis().alias_size_in_bytes for program in programs.values()} == {kept}


@pytest.mark.full
@pytest.mark.parametrize("lag", [1, 2, 3])
@pytest.mark.parametrize("devices", [1, 3])
def test_every_token_on_other_days(devices, lag, monkeypatch):
    monkeypatch.setattr(serving_loop, "LAG", lag)
    requests = workload(120, seed=10 * devices + lag)
    observed(requests, devices)
    assert said(requests) == [one_by_one(request.prompt, request.budget) for request in requests]


def test_a_preempted_request_waits_for_the_steps_under_way():
    rank = Rank(deque([Request([1, 2], 3, tokens=[4], in_flight=1)]))
    admit(rank)
    assert rank.running == []
    rank.waiting[0].in_flight = 0
    admit(rank)
    assert rank.running[0].text == [1, 2, 4]


def test_nothing_is_shared_between_requests_of_the_same_prompt(monkeypatch):
    monkeypatch.setattr(serving_loop, "LADDER", LADDER[-1:])
    requests = [Request([5, 6, 7], 9) for _ in range(20)]
    for _ in serve(requests, jax.make_mesh((2,), ("data",))):
        pass
    assert said(requests) == [one_by_one([5, 6, 7], 9)] * 20


def wrong_slots(*arrays, block_size):
    inputs = jax_spec.prepare_step(*arrays, block_size=block_size)
    return inputs._replace(slot_mapping=inputs.slot_mapping ^ 1)


def rejected_too_few(state, *arrays):
    result = jax_spec.commit_step(state, *arrays)
    computed = result.state.num_computed_tokens
    return result._replace(state=result.state._replace(num_computed_tokens=computed - (computed > 0)))


def one_row_too_long(lens):
    return jax_spec.cu_seqlens(lens.at[0].add(1))


FAULTS = {"prepare_step": wrong_slots, "commit_step": rejected_too_few, "cu_seqlens": one_row_too_long}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_the_step_changes_tokens(name, monkeypatch):
    parts = {key: value for key, value in vars(jax_spec).items() if not key.startswith("__")}
    monkeypatch.setattr(serving_loop, "jax_spec", SimpleNamespace(**parts | {name: FAULTS[name]}))
    monkeypatch.setattr(serving_loop, "LADDER", LADDER[-1:])
    requests = workload(6, seed=0)
    for _ in islice(serve(requests, jax.make_mesh((1,), ("data",))), 100):
        pass
    assert said(requests) != [one_by_one(request.prompt, request.budget) for request in requests]


def test_no_sequence_outgrows_its_blocks():
    steps_under_way = (serving_loop.LAG + 2) * (K + 1) + K
    assert sum(LONGEST.values()) + steps_under_way <= serving_loop.PAGES * serving_loop.BLOCK_SIZE
