"""The rows of the proof that show the engines' names: identical, and a fault in any adapter is seen."""

import importlib
import inspect

import jax
import pytest

from parity_tests.kit import engines, traces

MODULES = {
    "names of tpu-inference": "jax_spec.engines.tpu_inference",
    "names of sglang-jax": "jax_spec.engines.sglang_jax",
    "names of ATOM": "torch_ref.engines.atom",
    "names of vLLM": "torch_ref.engines.vllm",
    "names of SGLang": "torch_ref.engines.sglang",
}
# It gives no array of a step: what it is for is to raise.
CHECKS = {"int32_ids"}


def functions(path):
    """The public functions that a module defines."""
    module = importlib.import_module(path)
    own = {name: value for name, value in vars(module).items() if not name.startswith("_") and callable(value)}
    return [n for n, value in own.items() if value.__module__ == path and not inspect.isclass(value)]


PUBLIC = [(row, name) for row, path in MODULES.items() for name in functions(path) if name not in CHECKS]
# The owner of a place shows only in the ids and positions that are read there.
SHOWN = [pair for pair in PUBLIC if pair[1] != "compact_row_index"]


def test_every_engine_has_a_row():
    assert tuple(MODULES) == engines.ROWS
    assert len(PUBLIC) == 20


@pytest.mark.parametrize("row", engines.ROWS)
def test_every_array_of_every_step_is_the_recorded_one(row):
    found = list(engines.compare(row, ("jax", "torch")))
    steps = sum(len(run.steps) for run in traces.load())
    assert len(found) >= 5 * steps
    assert len(found) % steps == 0
    assert {name for name, _ in found} == {MODULES[row].partition("_")[0]}
    assert [text for _, text in found if text] == []


@pytest.mark.parametrize("row", engines.ROWS)
def test_a_row_is_empty_without_its_framework(row):
    assert list(engines.compare(row, ("oracle",))) == []


@pytest.mark.parametrize(("row", "name"), SHOWN)
def test_a_fault_in_any_function_is_seen(row, name, monkeypatch):
    module = importlib.import_module(MODULES[row])
    right = getattr(module, name)

    def wrong(*arrays, **static):
        return jax.tree.map(lambda leaf: leaf + 1, right(*arrays, **static))

    monkeypatch.setattr(module, name, wrong)
    texts = (text for _, text in engines.compare(row, ("jax", "torch")))
    found = next(filter(None, texts))
    assert found.startswith(f"{row}, smollm2_gsm8k_k3_b4, step ")
    assert ": expected int" in found
