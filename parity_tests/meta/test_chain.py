"""Whole runs with the state on the device: identical, and a fault in any step of the chain is seen."""

import jax.numpy as jnp
import numpy as np
import pytest

import jax_spec
from parity_tests.kit import chain, traces

WAYS = [(row, name, way) for row, ways in chain.ways(("jax", "torch")).items() for name, way in ways]
RUN = traces.load()[0]


@pytest.mark.parametrize(("row", "name", "way"), WAYS, ids=[f"{row} {name}" for row, name, _ in WAYS])
@pytest.mark.parametrize("run", traces.load(), ids=lambda run: run.name)
def test_every_token_is_the_recorded_one(run, row, name, way):
    found = list(chain.comparisons(run, way(run)))
    assert found == [None] * (len(run.steps) + len(run.outputs)), (row, name)


def test_every_framework_starts_and_takes_over():
    assert [(row, name) for row, name, _ in WAYS] == [
        ("run, step by step", "jax"),
        ("run, step by step", "torch"),
        ("run, handed over", "jax"),
        ("run, handed over", "torch"),
        ("run, as one scan", "jax"),
    ]


def planted(name):
    """`jax_spec` with one operation that forgets something."""
    operations = {key: getattr(jax_spec, key) for key in dir(jax_spec) if not key.startswith("_")}

    def commit_step_donated(state, *arrays):
        result = jax_spec.commit_step(state, *arrays)
        return result._replace(state=state)

    def store_drafts_donated(state, *_):
        return state

    broken = {f.__name__: f for f in (commit_step_donated, store_drafts_donated)}
    return type("planted", (), {k: staticmethod(f) for k, f in (operations | {name: broken[name]}).items()})


@pytest.mark.parametrize("name", ["commit_step_donated", "store_drafts_donated"])
def test_a_step_that_forgets_its_state_is_seen(name):
    framework = chain.Framework(planted(name), jnp.array, np.asarray)
    assert any(chain.comparisons(RUN, chain.by_turns(RUN, [framework])))
