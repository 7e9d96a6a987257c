"""The recordings are data with a schema, and what they hold is what the cases expect."""

import json
from importlib.resources import files

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from parity_tests.kit import trace_cases
from parity_tests.kit.subjects import ORACLE
from parity_tests.kit.traces import Run, load, replay
from parity_tests.kit.trees import leaves
from parity_tests.kit.trial import verdicts

FOLDER = files("parity_tests.traces")
RUNS = load()


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_recording_keeps_to_the_schema(run: Run) -> None:
    schema = json.loads(FOLDER.joinpath("schema.json").read_text())
    data = json.loads(FOLDER.joinpath(f"{run.name}.json").read_text())
    Draft202012Validator(schema).validate(data)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_state_is_the_one_recorded(run: Run) -> None:
    for step in replay(run):
        carried = step.source_rows >= 0
        rows = step.source_rows[carried]
        assert np.array_equal(step.state["anchor_token_ids"][rows], step.anchors[carried])
        assert np.array_equal(step.state["draft_token_ids"][rows], step.drafts[carried])
        assert np.array_equal(step.state["num_computed_tokens"][rows], step.num_computed_tokens[carried])


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_tokens_of_carried_rows_are_not_staged(run: Run) -> None:
    # Else an overlay that does nothing would pass.
    wrong = [step.number for step in replay(run) if not np.array_equal(step.staged_input_ids, step.input_ids)]
    assert len(wrong) > len(run.steps) // 2


RECORDED = {
    "assemble_input_ids": ["out"],
    "overlay_input_ids": ["out"],
    "overlay_rows": ["out"],
    "gather_draft_token_ids": ["out"],
    "accept_greedy": ["num_accepted", "num_rejected", "next_token_ids", "output_token_ids"],
    "accept_sampled": ["num_accepted", "num_rejected", "next_token_ids", "output_token_ids"],
    "prepare_step": ["input_ids", "num_computed_tokens", "draft_token_ids", "verify.num_draft_tokens"],
    "commit_step": ["acceptance.num_accepted", "acceptance.output_token_ids", "state.anchor_token_ids"],
    "store_drafts": ["draft_token_ids"],
}


def test_recorded_results_are_not_the_oracles(monkeypatch: pytest.MonkeyPatch) -> None:
    # Without the oracle's part, what is expected is what was recorded.
    monkeypatch.setattr(trace_cases, "fill", lambda recorded, _: recorded)
    for case in trace_cases.trace_cases():
        paths = {path for path, _ in leaves(case.expected or {})}
        assert paths >= set(RECORDED.get(case.op, [])), (case.op, case.id)


def test_oracle_agrees_with_what_was_recorded() -> None:
    differences = [text for text in verdicts(ORACLE, list(trace_cases.trace_cases())) if text is not None]
    assert differences == []
