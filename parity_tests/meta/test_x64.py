"""Results are int32 whether JAX has 64-bit types or not, and a 64-bit array is refused where JAX lets it be seen."""

import jax
import numpy as np
import pytest

import jax_spec

from .examples import NAMES, arguments, same


@pytest.mark.parametrize("name", NAMES)
def test_same_results(name):
    arrays, static = arguments(name)
    expected = jax.device_get(getattr(jax_spec, name)(*jax.device_put(arrays), **static))
    with jax.enable_x64(True):
        got = jax.device_get(getattr(jax_spec, name)(*jax.device_put(arrays), **static))
    assert same(got, expected)
    assert {leaf.dtype.name for leaf in jax.tree.leaves(got)} <= {"int32", "bool"}


@pytest.mark.parametrize("name", NAMES)
def test_64_bits_are_refused(name):
    arrays, static = arguments(name)
    wide = jax.tree.map(lambda leaf: leaf.astype(np.float64 if leaf.dtype == np.float32 else np.int64), arrays)
    with jax.enable_x64(True), pytest.raises(ValueError, match=r"got (?P<kind>int|float)64\[.*expected (?P=kind)32\["):
        getattr(jax_spec, name)(*wide, **static)
