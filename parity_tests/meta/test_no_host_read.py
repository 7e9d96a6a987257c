"""No operation reads a value on the host: nothing in its program can, and it runs without values."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend import core

import jax_spec

from .examples import NAMES, PLATFORMS, arguments, specs

HOST = ("callback", "infeed", "outfeed", "custom_call", "stablehlo.send", "stablehlo.recv")


def programs(function, arrays):
    """The jaxpr and the lowered text for each platform, as one text."""
    traced = jax.jit(function).trace(*specs(arrays))
    return str(traced.jaxpr), *(traced.lower(lowering_platforms=(p,)).as_text() for p in PLATFORMS)


def touches(function, arrays):
    return sorted({word for text in programs(function, arrays) for word in HOST if word in text})


@pytest.mark.parametrize("name", NAMES)
def test_program_has_no_way_to_the_host(name):
    arrays, static = arguments(name)
    function = getattr(jax_spec, name)
    assert touches(lambda *a: function(*a, **static), arrays) == []
    traced = function.trace(*specs(arrays), **static)
    assert isinstance(traced.jaxpr, core.ClosedJaxpr)
    assert traced.jaxpr.effects == set()


@pytest.mark.parametrize("name", NAMES)
def test_runs_without_values(name):
    arrays, static = arguments(name)
    function = getattr(jax_spec, name)
    shapes = jax.eval_shape(lambda *a: function(*a, **static), *specs(arrays))
    result = function(*jax.device_put(arrays), **static)
    assert specs(result) == shapes


def test_the_search_finds_a_callback():
    def by_callback(cu):
        return jax.pure_callback(lambda x: np.asarray(x)[-1], jax.ShapeDtypeStruct((), jnp.int32), cu)

    jaxpr = jax.make_jaxpr(by_callback)(np.zeros(3, np.int32))
    assert "callback" in str(jaxpr)
    assert "custom_call" in jax.jit(by_callback).lower(np.zeros(3, np.int32)).as_text()


def test_a_host_read_needs_a_value():
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jax.eval_shape(lambda cu: jnp.arange(int(cu[-1])), jax.ShapeDtypeStruct((3,), jnp.int32))
