"""SmolLM2 itself, where its weights are installed: it says what was recorded, and a fault in the step changes it."""

import argparse
import json
from functools import partial
from importlib import resources

import jax
import jax.numpy as jnp
import pytest
from jsonschema import Draft202012Validator

import jax_spec
from parity_tests.kit import chain, trace_cases, traces
from parity_tests.kit.subjects import ORACLE
from parity_tests.kit.trial import verdicts
from parity_tests.lossless.frameworks import jax_framework
from parity_tests.lossless.loop import steps
from parity_tests.lossless.model import Batch
from parity_tests.lossless.modes import PLAIN, RAGGED, RECTANGULAR
from parity_tests.lossless.record import Run, collect
from parity_tests.lossless.smollm2 import command
from parity_tests.lossless.smollm2.forward import empty_layers, forward
from parity_tests.lossless.smollm2.proof import NEAR_TIE, sizes_for
from parity_tests.lossless.smollm2.replay import choices
from parity_tests.lossless.smollm2.target import target
from parity_tests.lossless.smollm2.weights import Checkpoint, WeightsError, find, load
from parity_tests.lossless.step import make_engine
from parity_tests.meta.lossless_faults import OF_EACH_ARRAY

pytestmark = pytest.mark.smollm2


@pytest.fixture(scope="module")
def checkpoint(request: pytest.FixtureRequest) -> Checkpoint:
    if "smollm2" not in (request.config.getoption("markexpr") or ""):
        pytest.skip("takes minutes: chosen with -m smollm2")
    try:
        return load(find())
    except WeightsError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def model(checkpoint):
    return target(checkpoint)


REQUESTS, RECORDED = command.workload(3, 12, seed=0)
SIZES = sizes_for(REQUESTS, drafts=3)._replace(rows=4, slots=4, capacity=64, chunk=32)


def run(model, mode=RAGGED, framework=None) -> Run:
    engine = make_engine(framework or jax_framework(), model, SIZES)
    return collect(steps(engine, mode, REQUESTS, seed=0), REQUESTS)


@pytest.fixture(scope="module")
def plain(model) -> Run:
    return run(model, PLAIN)


@pytest.mark.parametrize("number", range(2))
def test_every_choice_is_the_one_recorded(checkpoint, model, number):
    recorded = traces.load()[number]
    longest = max(len(step["input_ids"]) for step in recorded.steps)
    run = recorded._replace(steps=recorded.steps[:32], capacity=longest)
    told = list(choices(model.parameters, checkpoint.shape, run))
    assert len(told) > 150
    assert [choice for choice in told if choice.token_id != choice.recorded and choice.margin > NEAR_TIE] == []
    assert sum(choice.token_id == choice.recorded for choice in told) > 0.99 * len(told)


def test_logits_do_not_depend_on_the_place_in_the_buffer(checkpoint, model):
    texts = [REQUESTS[0].prompt[:20], REQUESTS[1].prompt[20:51], ()]
    program = jax.jit(partial(forward, shape=checkpoint.shape, block_size=16))

    def margins(order: list[int]) -> list[float]:
        ids = [token for number in order for token in texts[number]]
        staged = [*ids, *[0] * (64 - len(ids))], [len(texts[number]) for number in order], [-1] * 3, [0] * 3
        ids, lens, none, zero = (jnp.array(values, jnp.int32) for values in staged)
        cu = jax_spec.cu_seqlens(lens)
        state = jax_spec.StepState(zero, jnp.zeros((3, 0), jnp.int32), zero)
        tables = jnp.array([[2 * place + 1, 2 * place] for place in range(3)], jnp.int32)
        inputs = jax_spec.prepare_step(ids, cu, none, zero, zero, state, tables, block_size=16)
        batch = Batch(inputs, jax_spec.token_rows(cu, capacity=64), cu, none, tables)
        result = program(model.parameters, empty_layers(model.parameters, checkpoint.shape, 96), batch)
        packed = iter(result.margins.tolist())
        return [next(packed) for number in order if texts[number]]

    first, second = margins([0, 1, 2])
    assert margins([2, 0, 1]) == [first, second]
    assert margins([1, 2, 0]) == [second, first]


@pytest.mark.parametrize("mode", [RECTANGULAR, RAGGED], ids=lambda mode: mode.name)
def test_modes_give_the_same_text(model, plain, mode):
    assert run(model, mode).tokens == plain.tokens


def test_the_text_is_the_one_recorded(plain):
    for said, recorded in zip(plain.tokens, RECORDED, strict=True):
        assert list(said[: len(recorded)]) == recorded[: len(said)]


@pytest.mark.parametrize("fault", OF_EACH_ARRAY, ids=lambda fault: fault.name)
def test_a_fault_in_the_step_is_a_fault_in_the_text(model, plain, fault):
    assert run(model, framework=fault.plant(jax_framework())).tokens != plain.tokens


@pytest.mark.usefixtures("checkpoint")
def test_the_command_records_what_the_kit_can_replay(tmp_path, monkeypatch, capsys):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    parser.set_defaults(requests=2, tokens=8, seed=0, drafts=None, impl=None, json=tmp_path / "report")
    record = tmp_path / "short.json"
    assert command.run(parser.parse_args(["--record", str(record)])) == 0
    assert "identical: " in capsys.readouterr().out
    assert json.loads((tmp_path / "report").read_text())["identical"]
    schema = json.loads(resources.files("parity_tests.traces").joinpath("schema.json").read_text())
    Draft202012Validator(schema).validate(json.loads(record.read_text()))
    monkeypatch.setattr(traces, "files", lambda _: tmp_path)
    [loaded] = traces.load()
    assert [text for text in verdicts(ORACLE, list(trace_cases.trace_cases())) if text] == []
    for _, way in chain.ways(["jax"])["run, step by step"]:
        assert [text for text in chain.comparisons(loaded, way(loaded)) if text] == []
