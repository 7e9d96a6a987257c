"""What holds for every function in the names of an engine on JAX: transforms, traces, host reads, dtypes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, PartitionSpec

from jax_spec.engines import sglang_jax, tpu_inference

from .examples import SERVING, arguments, same
from .test_no_host_read import touches

B, S, K, T = (SERVING[letter] for letter in "BSKT")


def step(seed):
    """A step as serving has it, cut to the buffer, and what a last step may have left."""
    (ids, cu, source, drafts, computed, state, _), _ = arguments("prepare_step", seed)
    rng = np.random.default_rng([seed, 1])
    cu = np.minimum(cu, T).astype(np.int32)
    return {
        "ids": ids,
        "cu": cu,
        "lens": np.diff(cu).astype(np.int32),
        "source": source,
        "drafts": drafts,
        "computed": computed,
        "state": state,
        "rejected": rng.integers(0, K + 1, S).astype(np.int32),
        "lost": np.minimum(rng.integers(0, K + 1, B), np.diff(cu)).astype(np.int32),
        "positions": rng.integers(0, 1000, (3, T)).astype(np.int32),
        "rows": rng.integers(0, 100, (B, K)).astype(np.int32),
        "values": rng.integers(0, 100, (2, B)).astype(np.int32),
        "slots": np.where(rng.random(B) < 0.7, rng.permutation(S)[:B], -1).astype(np.int32),
    }


def relay(given):
    """The state of a step as relay buffers."""
    anchors, drafts, computed = given["state"]
    return sglang_jax.RelayBuffers(drafts, anchors, computed)


CALLS = {
    tpu_inference.substitute_spec_tokens: lambda s: (
        (s["ids"], s["computed"], s["positions"], s["cu"], *s["state"][:2], s["rejected"], s["source"]),
        {},
    ),
    tpu_inference.spec_metadata: lambda s: (
        (s["cu"], s["drafts"]),
        {"num_speculative_tokens": K, "capacity": 3 * B},
    ),
    tpu_inference.compact_accepted: lambda s: ((s["cu"], s["lost"]), {"capacity": T}),
    sglang_jax.ragged_chain_verify: lambda s: ((s["values"][0], s["rows"], s["computed"], s["lens"]), {"capacity": T}),
    sglang_jax.ragged_chain_accept: lambda s: ((s["ids"], s["cu"], s["ids"] + 1), {"num_speculative_tokens": K}),
    sglang_jax.gather_relay: lambda s: ((relay(s), s["source"]), {}),
    sglang_jax.update_relay: lambda s: ((relay(s), s["slots"], s["rows"], *s["values"]), {}),
}
NOTHING = {
    **{
        name: np.zeros(0, np.int32)
        for name in ("ids", "lens", "source", "drafts", "computed", "rejected", "lost", "slots")
    },
    "cu": np.zeros(1, np.int32),
    "positions": np.zeros((3, 0), np.int32),
    "rows": np.zeros((0, 0), np.int32),
    "values": np.zeros((2, 0), np.int32),
    "state": (np.zeros(0, np.int32), np.zeros((0, 0), np.int32), np.zeros(0, np.int32)),
}

EACH = pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__name__)


@EACH
def test_inside_a_jit(function):
    arrays, static = CALLS[function](step(0))
    assert same(jax.jit(lambda *a: function(*a, **static))(*arrays), function(*arrays, **static))


@pytest.mark.parametrize("axis_type", [AxisType.Auto, AxisType.Explicit], ids=["auto", "explicit"])
@pytest.mark.parametrize("ranks", [1, 4])
@EACH
def test_inside_a_shard_map(function, ranks, axis_type):
    calls = [CALLS[function](step(seed)) for seed in range(ranks)]
    static = calls[0][1]
    expected = [function(*arrays, **static) for arrays, _ in calls]
    mesh = jax.make_mesh((ranks,), ("data",), axis_types=(axis_type,))
    place = PartitionSpec("data")

    def rank(*arrays):
        result = function(*jax.tree.map(lambda leaf: leaf[0], arrays), **static)
        return jax.tree.map(lambda leaf: leaf[None], result)

    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *(arrays for arrays, _ in calls))
    with jax.set_mesh(mesh):
        placed = jax.device_put(stacked, jax.NamedSharding(mesh, place))
        got = jax.jit(jax.shard_map(rank, mesh=mesh, in_specs=place, out_specs=place))(*placed)
    assert same(jax.device_get(got), jax.device_get(jax.tree.map(lambda *leaves: jnp.stack(leaves), *expected)))


@EACH
def test_new_values_are_not_traced(function):
    arrays, static = CALLS[function](step(0))
    function(*jax.device_put(arrays), **static)
    with jax.no_tracing():
        for seed in range(1, 10):
            arrays, static = CALLS[function](step(seed))
            jax.block_until_ready(function(*jax.device_put(arrays), **static))


@EACH
def test_program_has_no_way_to_the_host(function):
    arrays, static = CALLS[function](step(0))
    assert touches(lambda *a: function(*a, **static), arrays) == []


@EACH
def test_64_bit_mode_changes_nothing_and_int64_is_refused(function):
    arrays, static = CALLS[function](step(0))
    expected = function(*arrays, **static)
    wide = jax.tree.map(lambda leaf: leaf.astype(np.int64), arrays)
    with jax.enable_x64(True):
        assert same(function(*jax.device_put(arrays), **static), expected)
        with pytest.raises(ValueError, match=r"got int64\[.*expected int32\["):
            function(*wide, **static)


@EACH
def test_a_batch_of_nothing_is_legal(function):
    arrays, static = CALLS[function](NOTHING)
    static = {name: value if name == "capacity" else 0 for name, value in static.items()}
    result = jax.tree.leaves(function(*arrays, **static))
    assert all(not np.any(leaf) for leaf in result)


def test_a_callers_jit_can_give_up_the_three_buffers():
    arrays, _ = CALLS[tpu_inference.substitute_spec_tokens](step(0))
    text = jax.jit(tpu_inference.substitute_spec_tokens, donate_argnums=(0, 1, 2)).lower(*arrays).as_text()
    assert text.count("tf.aliasing_output") == 3
