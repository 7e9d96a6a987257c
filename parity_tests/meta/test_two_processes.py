"""Ranks in processes of their own: all devices of one, and two that are joined over the loopback."""

import time

import jax
import numpy as np
import pytest

from parity_tests.kit import ranks, ways
from parity_tests.kit.contract import OPERATIONS
from parity_tests.kit.trees import leaves

ROWS = {"sharded over 8 devices": 8 * len(OPERATIONS), "two processes": 4 * len(ranks.WHOLE_STEP)}


@pytest.mark.parametrize("row", ROWS)
def test_every_rank_is_the_oracle(row):
    assert list(ways.compare(row, ("jax",))) == [("jax", None)] * ROWS[row]


def test_precompiled_programs_are_the_oracle():
    found = list(ways.compare("precompiled", ("jax",)))
    assert len(found) >= 80
    assert {text for _, text in found} == {None}


def test_only_our_functions_are_run_in_other_ways():
    assert [*ways.compare("precompiled", ("torch", "jax-vmap"))] == []


def test_ranks_are_uneven_and_one_is_empty():
    totals = [int(case.inputs["cu_seqlens_q"][-1]) for case in ranks.rank_cases(OPERATIONS["prepare_step"], 8)]
    assert totals[ranks.EMPTY_RANK] == 0
    assert len(set(totals)) > 4


SHARED = [("schedule_verify_lens", "sps_table"), ("bound_query_lens", "num_accepted_max")]


@pytest.mark.parametrize(("name", "shared"), SHARED)
def test_tables_and_numbers_are_the_same_on_all_ranks(name, shared):
    first, *others = (dict(leaves(case.inputs)) for case in ranks.rank_cases(OPERATIONS[name], 4))
    assert all(np.array_equal(first[shared], other[shared]) for other in others)
    assert any(not np.array_equal(first[path], other[path]) for path in first for other in others)


def test_processes_that_hang_are_ended():
    begin = time.monotonic()
    assert list(ways.by_ranks(devices=2, processes=2, longest=0.2)) == ["2 processes were not done in 0.2 s"]
    assert time.monotonic() - begin < 20


def test_a_process_that_dies_is_told(monkeypatch):
    monkeypatch.setattr(ways.sys, "executable", "false")
    (text,) = ways.by_ranks(devices=1, processes=1)
    assert text == "a process of 1 ended with status 1: "


def test_a_difference_is_told_by_rank(monkeypatch):
    def spoiled(operation, rank_count, drawn=ranks.rank_cases):
        cases = drawn(operation, rank_count)
        cases[1].expected["out"][0] += 1
        return cases

    monkeypatch.setattr(ranks, "rank_cases", spoiled)
    found = list(ranks.compared(OPERATIONS["seq_lens"], jax.make_mesh((4,), ("data",))))
    assert [text is None for text in found] == [True, False, True, True]
    assert "seq_lens drawn-1: values: `out`[0]" in str(found[1])
