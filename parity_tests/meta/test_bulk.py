"""The search at full size: its reference is right, its batches are as many as were asked for, differences are told."""

import argparse
import json
from pathlib import Path

import numpy as np
import pytest

from parity_tests.kit import doors, reference, vectors
from parity_tests.kit.bulk import VMAPPED, _search, command, search
from parity_tests.kit.cases import Case, load_cases
from parity_tests.kit.compare import Outcome
from parity_tests.kit.contract import OPERATIONS, Operation
from parity_tests.kit.draw import SHAPES
from parity_tests.kit.oracle_subject import answers
from parity_tests.kit.search import search_cases
from parity_tests.kit.subjects import Subject
from parity_tests.kit.trace_cases import trace_cases
from parity_tests.kit.trees import leaves, map_leaves
from parity_tests.kit.trial import differences

INSTALLED = [name for name in VMAPPED if doors.missing(name) is None]


def refer(operation: Operation, cases: list[Case]) -> list[Outcome]:
    flat = [dict(leaves(case.inputs)) for case in cases]
    inputs = map_leaves(lambda path, _: np.stack([each[path] for each in flat]), cases[0].inputs)
    result = reference.evaluate(operation.name, inputs, cases[0].static)
    return [map_leaves(lambda _, leaf, i=i: leaf[i, ...], result) for i in range(len(cases))]


def has_values(case: Case) -> bool:
    return case.op in OPERATIONS and case.fault is None and answers(case)


REFERENCE = Subject("reference", tuple(OPERATIONS), has_values, refer)


def test_reference_agrees_with_the_vectors_and_the_recordings() -> None:
    assert differences(REFERENCE, [*vectors.load(), *trace_cases()]) == []


@pytest.mark.parametrize("name", OPERATIONS)
def test_reference_agrees_with_the_oracle(name: str) -> None:
    assert differences(REFERENCE, search_cases(OPERATIONS[name], 500, seed=3)) == []


def test_batches_are_as_many_as_asked_and_all_shapes_have_hostile_ones() -> None:
    batches = list(_search.batches(_search.SMALL, 1_000_000))
    assert 1_000_000 <= sum(size * turns for _, size, turns in batches) < 1_001_000
    assert all(size <= _search.LARGEST_BATCH and turns % _search.TURNS == 0 for _, size, turns in batches)


@pytest.mark.parametrize("name", command.PLAIN)
def test_small_search(name: str) -> None:
    found = search(name, INSTALLED, count=3000, seed=1, shapes=SHAPES[:1])
    assert found.cases >= 3000
    assert found.differences == []


@pytest.mark.full
@pytest.mark.parametrize("name", command.PLAIN)
def test_search_of_all_shapes(name: str) -> None:
    assert search(name, INSTALLED, count=100_000, seed=2).differences == []


def test_difference_is_told_as_a_case(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    torch_ref = pytest.importorskip("torch_ref")
    right = torch_ref.seq_lens
    monkeypatch.setattr(torch_ref, "seq_lens", lambda cu, computed: right(cu, computed).clamp(max=2**31 - 2))
    assert command.run(parsed("--operation", "seq_lens", "--cases", "3000", "--impl", "torch")) == 1
    printed = capsys.readouterr().out
    assert "different: seq_lens" in printed
    line = next(line for line in printed.splitlines() if line.startswith("{"))
    (case,) = load_cases(json.dumps({"cases": [json.loads(line)]}))
    assert case.expected is not None
    assert 2**31 - 1 in case.expected["out"]


def test_wrong_reference_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate = reference.evaluate

    def wrong(name: str, inputs: dict, static: dict) -> dict:
        return map_leaves(lambda _, leaf: leaf + 1, evaluate(name, inputs, static))

    monkeypatch.setattr(_search.reference, "evaluate", wrong)
    found = search("cu_seqlens", ["jax"], count=300, seed=0, shapes=SHAPES[:1])
    assert "the reference differs from the oracle" in found.differences[0]


def test_report_as_data(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    options = ("--operation", "token_index_bound", "--cases", "300", "--impl", "jax", "--json", str(path))
    assert command.run(parsed(*options)) == 0
    (found,) = json.loads(path.read_text())
    assert found["operation"] == "token_index_bound"
    assert found["differences"] == []


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    return parser.parse_args(["search", *arguments])
