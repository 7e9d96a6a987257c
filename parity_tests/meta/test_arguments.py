"""What the trace refuses, with a message that names the argument, what it got and what fits."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_spec

from .examples import NAMES, arguments

RECORDS = [(name, number) for name in NAMES for number, x in enumerate(arguments(name)[0]) if hasattr(x, "_fields")]


@pytest.mark.parametrize(
    "instead", [np.zeros(3, np.int32), 5, None, (), {}], ids=["array", "int", "none", "tuple", "dict"]
)
@pytest.mark.parametrize(("name", "number"), RECORDS)
def test_what_is_no_record_is_refused(name, number, instead):
    arrays, static = arguments(name)
    given = [*arrays[:number], instead, *arrays[number + 1 :]]
    expected = type(arrays[number]).__name__
    with pytest.raises(ValueError, match=rf"^`\w+`: got .*, expected a {expected}\b"):
        getattr(jax_spec, name)(*given, **static)


def test_field_of_a_nested_record_is_named_by_its_path():
    (state, inputs, *rest), static = arguments("commit_step")
    wrong = inputs._replace(verify=inputs.verify._replace(cu_num_logits=np.zeros(3, np.int32)))
    with pytest.raises(ValueError, match=r"^field `cu_num_logits` of `inputs.verify`: got int32\[3\]"):
        jax_spec.commit_step(state, wrong, *rest, **static)
    with pytest.raises(ValueError, match=r"^field `verify` of `inputs`: got int32\[3\], expected a VerifyIndices"):
        jax_spec.commit_step(state, inputs._replace(verify=np.zeros(3, np.int32)), *rest, **static)


def test_sizes_that_are_known_are_told():
    indices = jax_spec.verify_indices(np.zeros(4, np.int32), np.zeros(3, np.int32), num_speculative_tokens=2)
    told = re.escape("`sampled_token_ids`: got int32[6], expected int32[B * (K + 1)] with B = 3, K = 2")
    with pytest.raises(ValueError, match=told):
        jax_spec.accept_greedy(indices, np.zeros(6, np.int32), np.zeros(6, np.int32))


def test_python_number_is_told_how_to_become_an_array():
    with pytest.raises(ValueError, match=r"`offsets`: got a Python number or weakly typed scalar .*`jnp.int32\(x\)`"):
        jax_spec.last_token_indices(np.zeros(3, np.int32), 1)
    assert jax_spec.last_token_indices(np.array([0, 2, 5], np.int32), jnp.int32(1)).tolist() == [1, 4]


def test_a_missing_static_is_pythons_own_error():
    with pytest.raises(TypeError, match="capacity"):
        jax_spec.token_rows(np.zeros(3, np.int32))


def test_signature_and_documentation_survive_the_jit():
    assert jax_spec.cu_seqlens.__doc__.startswith("Exclusive prefix sum")
    assert isinstance(jax_spec.cu_seqlens.lower(jax.ShapeDtypeStruct((3,), jnp.int32)), jax.stages.Lowered)
