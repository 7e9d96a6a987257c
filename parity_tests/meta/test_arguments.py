"""What the trace refuses, with a message that names the argument, what it got and what fits."""

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_spec

from .examples import NAMES, arguments

# By name: a type checker would refuse these calls, too.
OPERATIONS: dict[str, Any] = dict(vars(jax_spec))
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
        OPERATIONS[name](*given, **static)


def test_field_of_a_nested_record_is_named_by_its_path():
    (state, inputs, *rest), static = arguments("commit_step")
    wrong = inputs._replace(verify=inputs.verify._replace(cu_num_logits=np.zeros(3, np.int32)))
    with pytest.raises(ValueError, match=r"^field `cu_num_logits` of `inputs.verify`: got int32\[3\]"):
        OPERATIONS["commit_step"](state, wrong, *rest, **static)
    with pytest.raises(ValueError, match=r"^field `verify` of `inputs`: got int32\[3\], expected a VerifyIndices"):
        OPERATIONS["commit_step"](state, inputs._replace(verify=np.zeros(3, np.int32)), *rest, **static)


def test_sizes_that_are_known_are_told():
    indices = OPERATIONS["verify_indices"](np.zeros(4, np.int32), np.zeros(3, np.int32), num_speculative_tokens=2)
    told = re.escape("`sampled_token_ids`: got int32[6], expected int32[B * (K + 1)] with B = 3, K = 2")
    with pytest.raises(ValueError, match=told):
        OPERATIONS["accept_greedy"](indices, np.zeros(6, np.int32), np.zeros(6, np.int32))


def test_python_number_is_told_how_to_become_an_array():
    with pytest.raises(ValueError, match=r"`offsets`: got a Python number or weakly typed scalar .*`jnp.int32\(x\)`"):
        OPERATIONS["last_token_indices"](np.zeros(3, np.int32), 1)
    assert OPERATIONS["last_token_indices"](np.array([0, 2, 5], np.int32), jnp.int32(1)).tolist() == [1, 4]


def test_a_missing_static_is_pythons_own_error():
    with pytest.raises(TypeError, match="capacity"):
        OPERATIONS["token_rows"](np.zeros(3, np.int32))


def test_signature_and_documentation_survive_the_jit():
    assert OPERATIONS["cu_seqlens"].__doc__.startswith("Exclusive prefix sum")
    assert isinstance(OPERATIONS["cu_seqlens"].lower(jax.ShapeDtypeStruct((3,), jnp.int32)), jax.stages.Lowered)
