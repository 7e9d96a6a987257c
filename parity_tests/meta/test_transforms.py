"""Every operation works inside a caller's own `jit`, `vmap`, `scan` and `shard_map`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, PartitionSpec

import jax_spec

from .examples import NAMES, arguments, same

COLLECTIVES = ("all_reduce", "all_gather", "all_to_all", "collective_permute", "reduce_scatter")


def batch(name, count):
    """`count` calls: their arrays stacked, and the function that makes one call."""
    calls = [arguments(name, seed) for seed in range(count)]
    static, function = calls[0][1], getattr(jax_spec, name)
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *(arrays for arrays, _ in calls))
    each = [function(*jax.device_put(arrays), **static) for arrays, _ in calls]
    return stacked, jax.tree.map(lambda *leaves: jnp.stack(leaves), *each), lambda *a: function(*a, **static)


@pytest.mark.parametrize("name", NAMES)
def test_jit(name):
    stacked, expected, call = batch(name, 1)
    one = jax.tree.map(lambda leaf: leaf[0], stacked)
    assert same(jax.jit(call)(*one), jax.tree.map(lambda leaf: leaf[0], expected))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
def test_vmap(name):
    stacked, expected, call = batch(name, 3)
    assert same(jax.vmap(call)(*stacked), expected)


@pytest.mark.parametrize("name", NAMES)
def test_scan(name):
    stacked, expected, call = batch(name, 3)
    _, results = jax.lax.scan(lambda carry, arrays: (carry, call(*arrays)), None, stacked)
    assert same(results, expected)


@pytest.mark.parametrize("axis_type", [AxisType.Auto, AxisType.Explicit], ids=["auto", "explicit"])
@pytest.mark.parametrize("name", NAMES)
def test_shard_map(name, axis_type):
    stacked, expected, call = batch(name, 4)
    mesh = jax.make_mesh((4,), ("data",), axis_types=(axis_type,))
    rows = PartitionSpec("data")

    def rank(*arrays):
        return jax.tree.map(lambda leaf: leaf[None], call(*jax.tree.map(lambda leaf: leaf[0], arrays)))

    sharded = jax.jit(jax.shard_map(rank, mesh=mesh, in_specs=rows, out_specs=rows))
    with jax.set_mesh(mesh):
        placed = jax.device_put(stacked, jax.NamedSharding(mesh, rows))
        assert same(jax.device_get(sharded(*placed)), jax.device_get(expected))
        text = sharded.lower(*placed).as_text()
    assert not [word for word in COLLECTIVES if word in text]
