"""What holds for every function in the names of an engine on torch: no host read, no write, and what it refuses."""

import os
import subprocess
import sys

import pytest
import torch

import torch_ref
from torch_ref.engines import atom, sglang, vllm

from .test_torch import graph_of

B, S, K, T = 3, 4, 2, 12


def int32(*shape):
    return torch.zeros(shape, dtype=torch.int32)


def int64(*shape):
    return torch.zeros(shape, dtype=torch.int64)


def acceptance():
    return torch_ref.Acceptance(int32(B), int32(B), int32(B), int32(B, K + 1))


# Zeros are a step in which no row has a token.
CALLS = {
    atom.fill_deferred_decode_ids: (
        (int32(T), int32(B + 1), int32(B), int32(S), int32(S, K)),
        {"graph_bs": B, "max_seqlen_q": K + 1},
    ),
    atom.calc_spec_decode_metadata: ((int32(T), int32(B + 1), int32(B)), {"mtp_k": K}),
    atom.verification_counts: ((acceptance(),), {"mtp_k": K}),
    atom.anchor_token_indices: ((int32(B + 1), int32(B)), {"mtp_k": K}),
    atom.decode_positions: ((int32(B + 1), int32(B)), {"capacity": T}),
    vllm.combine_sampled_and_draft_tokens: (
        (int32(T), int32(B), int32(S), int32(B + 1), int32(B), int32(S), int32(S, K), int32(B + 1)),
        {"num_logits": 5},
    ),
    vllm.prepare_pos_seq_lens: ((int32(B), int32(B + 1), int32(S)), {"capacity": T, "max_num_reqs": B + 1}),
    vllm.get_num_sampled_and_rejected: ((acceptance(), int32(B + 1), int32(B), int32(B), int32(S)), {}),
    vllm.post_update: (
        (
            vllm.RequestTables(int32(S), int32(S)),
            int32(B),
            int32(B, K + 1),
            vllm.SampledCounts(int32(B), int32(B)),
            int32(B + 1),
        ),
        {},
    ),
    sglang.compact_row_index: ((int32(B),), {"padded_total": T}),
    sglang.compact_verify_ids: ((int64(B, 2), int64(B, K), int32(B)), {"padded_total": T}),
    sglang.ragged_verify_window: ((int64(B), int32(B), int64(B), int32(S, 9)), {"padded_total": T}),
    sglang.accept_greedy: ((int64(B, K + 1), int64(B, K + 1), int32(B), int64(B)), {}),
}

EACH = pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__name__)


def mapped(change, value):
    if hasattr(value, "_fields"):
        return type(value)(*(mapped(change, field) for field in value))
    return change(value)


def paths(arrays):
    """Every tensor of a call as the place of its argument and, in a record, of its field."""
    for place, value in enumerate(arrays):
        for field in range(len(value)) if hasattr(value, "_fields") else (None,):
            yield place, field


@EACH
def test_compiles_as_one_graph_without_a_host_read(function):
    calls = graph_of(function, *CALLS[function])
    assert calls
    assert "item" not in calls


# Tensors on the meta device have no values, so whatever needs one raises.
@EACH
def test_runs_without_values(function):
    arrays, static = CALLS[function]
    function(*(mapped(lambda tensor: tensor.to("meta"), value) for value in arrays), **static)


@EACH
def test_no_argument_is_written(function):
    arrays, static = CALLS[function]
    filled = [mapped(lambda tensor: torch.full_like(tensor, 1), value) for value in arrays]
    function(*filled, **static)
    for value in filled:
        mapped(lambda tensor: pytest.fail("written to") if (tensor != 1).any() else tensor, value)


@EACH
def test_the_other_width_is_refused_by_its_name(function):
    arrays, static = CALLS[function]
    for place, field in paths(arrays):
        wrong = list(arrays)
        tensor = arrays[place] if field is None else arrays[place][field]
        used = field is None or not isinstance(arrays[place], torch_ref.Acceptance) or field in reads(function)
        other = tensor.to(torch.int64 if tensor.dtype == torch.int32 else torch.int32)
        wrong[place] = other if field is None else arrays[place]._replace(**{arrays[place]._fields[field]: other})
        if used:
            with pytest.raises(ValueError, match=named(function, arrays, place, field)):
                function(*wrong, **static)


@EACH
def test_a_tuple_is_no_record(function):
    arrays, static = CALLS[function]
    for place, value in enumerate(arrays):
        if hasattr(value, "_fields"):
            given = [*arrays[:place], tuple(value), *arrays[place + 1 :]]
            with pytest.raises(ValueError, match=rf"`\w+`: got .*, expected a {type(value).__name__}"):
                function(*given, **static)


def reads(function):
    """The fields of an acceptance that a function looks at."""
    return {atom.verification_counts: {0}, vllm.get_num_sampled_and_rejected: {0, 1}}[function]


def named(function, arrays, place, field):
    names = list(function.__annotations__)
    name = names[place] if field is None else arrays[place]._fields[field]
    return rf"`{name}`.*: got int(32|64)\[.*expected (an )?int(64|32)"


def test_the_check_of_ids_is_the_one_that_looks():
    with pytest.raises((RuntimeError, NotImplementedError)):
        vllm.int32_ids(int64(3).to("meta"), name="draft_tokens")


def test_annotations_and_examples_hold(tmp_path):
    hook = "--jaxtyping-packages=jax_spec,torch_ref,beartype.beartype"
    modules = ["-q", "-p", "no:cacheprovider", "--doctest-modules", "--pyargs", "jax_spec.engines", "torch_ref.engines"]
    strict = {"JAX_NUMPY_DTYPE_PROMOTION": "strict", "JAX_NUMPY_RANK_PROMOTION": "raise"}
    command = [sys.executable, "-m", "pytest", hook, "-W", "error", *modules]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | strict, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(done.stdout.splitlines()[-1].split()[0]) == 21
