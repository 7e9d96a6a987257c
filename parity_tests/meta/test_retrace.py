"""New lengths, rows and tokens never trace or compile anything."""

import functools

import jax
import jax.monitoring
import jax.numpy as jnp
import numpy as np
import pytest

import jax_spec

from .examples import NAMES, arguments

TRACED: list[str] = []


@jax.monitoring.register_event_duration_secs_listener
def note(event, *_, **__):
    if event == "/jax/core/compile/jaxpr_trace_duration":
        TRACED.append(event)


def traces(function, *arrays, **static):
    """How often JAX traces anything in this call."""
    before = len(TRACED)
    function(*arrays, **static)
    return len(TRACED) - before


@pytest.mark.parametrize("name", NAMES)
def test_new_values_are_not_traced(name):
    function = getattr(jax_spec, name)
    arrays, static = arguments(name)
    function(*jax.device_put(arrays), **static)
    with jax.no_tracing():
        for seed in range(1, 20):
            arrays, static = arguments(name, seed)
            jax.block_until_ready(function(*jax.device_put(arrays), **static))


# `no_tracing` refuses a NumPy argument even where the trace is there already, so these traces are counted.
@pytest.mark.parametrize("name", NAMES)
def test_numpy_and_jax_arrays_share_a_trace(name):
    function = getattr(jax_spec, name)
    arrays, static = arguments(name)
    jax.clear_caches()
    assert traces(function, *jax.device_put(arrays), **static) > 0
    assert traces(function, *arrays, **static) == 0


def test_the_guard_sees_a_length_that_is_static():
    rows = functools.partial(jax.jit, static_argnames="total")(lambda cu, *, total: jnp.arange(total) + cu[0])
    cu = np.zeros(3, np.int32)
    rows(cu, total=3)
    with jax.no_tracing(), pytest.raises(RuntimeError, match="trac"):
        rows(cu, total=4)
