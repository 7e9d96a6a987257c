"""One artifact serves every platform, and what a GPU would run gives the same values here."""

import re

import jax
import jax.numpy as jnp
import pytest
from jax import export

import jax_spec

from .examples import NAMES, PLATFORMS, SERVING, arguments, same, specs

LARGE = SERVING | {"B": 1100, "S": 1100, "K": 1, "T": 3000, "P": 2, "N": 99}
SIZE_CHECKS = {"shape_assertion", "stablehlo.dynamic_reduce_window"}


def custom_calls(serialized):
    text = export.deserialize(bytearray(serialized)).mlir_module()
    assert not [word for word in ("infeed", "outfeed", "stablehlo.send", "all_reduce", "all_gather") if word in text]
    return set(re.findall(r'custom_call @"?([\w.]+)', text))


def flat(tree):
    return tuple(jax.tree.leaves(tree))


@pytest.mark.parametrize("name", NAMES)
def test_reimported_artifact_gives_the_same(name):
    arrays, static = arguments(name)
    artifact = jax_spec.export_step(getattr(jax_spec, name), specs(arrays), static)
    again = export.deserialize(bytearray(artifact.serialized))
    assert artifact.platforms == again.platforms == PLATFORMS
    assert custom_calls(artifact.serialized) == set()
    assert again.ordered_effects == again.unordered_effects == ()
    for seed in range(3):
        arrays, static = arguments(name, seed)
        expected = getattr(jax_spec, name)(*jax.device_put(arrays), **static)
        assert same(flat(again.call(*flat(arrays))), flat(expected))


@pytest.mark.parametrize("name", NAMES)
def test_signature_tells_the_arrays_in_order(name):
    arrays, static = arguments(name)
    artifact = jax_spec.export_step(getattr(jax_spec, name), arrays, static)
    again = export.deserialize(bytearray(artifact.serialized))
    assert [(x.shape, x.dtype) for x in artifact.inputs.values()] == [(x.shape, x.dtype) for x in again.in_avals]
    assert [(x.shape, x.dtype) for x in artifact.outputs.values()] == [(x.shape, x.dtype) for x in again.out_avals]


def symbolic(arrays, sizes):
    """Specs in which the concrete batch of `SERVING` has become the symbolic one."""
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(tuple(sizes.get(n, n) for n in x.shape), jnp.int32), arrays)


def test_one_artifact_serves_every_batch():
    dims = SERVING | {"B": 11}
    b, packed = export.symbolic_shape("b, b + 1")
    arrays, static = arguments("prepare_step", dims=dims)
    artifact = jax_spec.export_step(jax_spec.prepare_step, symbolic(arrays, {11: b, 12: packed}), static)
    # The state has 12 slots here, as many as `cu_seqlens_q` has entries: they share the symbol and must grow with it.
    assert custom_calls(artifact.serialized) <= SIZE_CHECKS
    for rows in (1, 5, 40):
        arrays, static = arguments("prepare_step", dims=SERVING | {"B": rows, "S": rows + 1})
        expected = jax_spec.prepare_step(*jax.device_put(arrays), **static)
        assert same(flat(export.deserialize(bytearray(artifact.serialized)).call(*flat(arrays))), flat(expected))


def test_a_symbolic_size_that_shapes_the_program_is_refused():
    arrays, static = arguments("accept_greedy", dims=SERVING | {"B": 4, "K": 3})
    k, packed, logits = export.symbolic_shape("k, 4 * k, 4 * k + 4")
    told = r"`indices.logits_indices`: got shape \(4\*k \+ 4,\), expected one with sizes that are numbers"
    with pytest.raises(ValueError, match=told):
        jax_spec.export_step(jax_spec.accept_greedy, symbolic(arrays, {3: k, 12: packed, 16: logits}), static)


@pytest.mark.parametrize("platforms", ["cpu", (), ("cpu", "hip")])
def test_platform_that_is_none_is_refused(platforms):
    arrays, static = arguments("cu_seqlens")
    with pytest.raises(ValueError, match="`platforms`: got"):
        jax_spec.export_step(jax_spec.cu_seqlens, arrays, static, platforms=platforms)


def test_missing_static_is_told_as_such():
    (b,) = export.symbolic_shape("b")
    with pytest.raises(TypeError, match="capacity"):
        jax_spec.export_step(jax_spec.token_rows, (jax.ShapeDtypeStruct((b,), jnp.int32),), {})


@pytest.mark.parametrize("platform", ["rocm", *(pytest.param(p, marks=pytest.mark.full) for p in ("cuda", "tpu"))])
@pytest.mark.parametrize("dims", [SERVING, LARGE], ids=["compared", "scanned"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
def test_accelerator_form_gives_the_same_on_the_cpu(name, dims, platform):
    arrays, static = arguments(name, dims=dims)
    function, unchecked = getattr(jax_spec, name), [export.DisabledSafetyCheck.platform()]
    lower = export.export(jax.jit(lambda *a: function(*a, **static)), platforms=[platform], disabled_checks=unchecked)
    program = lower(*specs(arrays))
    for seed in range(3):
        arrays, static = arguments(name, seed, dims)
        assert same(program.call(*arrays), function(*jax.device_put(arrays), **static))
