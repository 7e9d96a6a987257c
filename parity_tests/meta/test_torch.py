"""The torch reference never waits for its device: it compiles as one graph and runs without values."""

import jax
import pytest
import torch

import jax_spec
import torch_ref
from parity_tests.kit.host_reads import count_host_reads
from torch_ref import host_sync

from .examples import NAMES, SERVING, arguments

EMPTY = {"B": 0, "S": 0, "K": 0, "T": 0, "P": 0, "N": 1, "block_size": 16, "vocab_size": 1000, "early_stop": False}
FEW = EMPTY | {"B": 3, "S": 4, "K": 2, "T": 12, "P": 3, "block_size": 4, "vocab_size": 50}


def tensors(name, dims, device="cpu"):
    arrays, static = arguments(name, dims=dims)
    moved = jax.tree.map(lambda leaf: torch.from_numpy(leaf.copy()).to(device), arrays)
    return tuple(as_torch(value) for value in moved), static


def as_torch(value):
    if not hasattr(value, "_fields"):
        return value
    assert type(value) is getattr(jax_spec, type(value).__name__)
    return getattr(torch_ref, type(value).__name__)(*map(as_torch, value))


def graph_of(function, given, static):
    """The calls in the one graph that `torch.compile` makes of a function; it raises where one is not enough."""
    calls = []

    def record(graph, _):
        calls.extend(str(node.target) for node in graph.graph.nodes if node.op.startswith("call"))
        return graph.forward

    torch.compiler.reset()
    torch.compile(function, fullgraph=True, backend=record)(*given, **static)
    return calls


@pytest.mark.parametrize("name", NAMES)
def test_compiles_as_one_graph_without_a_host_read(name):
    given, static = tensors(name, FEW)
    calls = graph_of(getattr(torch_ref, name), given, static)
    assert calls
    assert "item" not in calls


def test_the_graph_shows_a_host_read():
    given, static = tensors("token_index_bound", FEW)
    assert "item" in graph_of(host_sync.token_index_bound, given, static)


# Tensors on the meta device have no values, so whatever needs one raises.
@pytest.mark.parametrize("dims", [SERVING, FEW, EMPTY], ids=["serving", "few", "empty"])
@pytest.mark.parametrize("name", NAMES)
def test_runs_without_values(name, dims):
    given, static = tensors(name, dims, device="meta")
    getattr(torch_ref, name)(*given, **static)


def test_the_meta_device_sees_a_host_read():
    with pytest.raises((RuntimeError, NotImplementedError)):
        host_sync.token_index_bound(torch.zeros(3, dtype=torch.int32, device="meta"))


def test_host_reads_of_one_step_are_one_before_and_none_after():
    counts = count_host_reads()
    assert counts["before"] == {"aten::item": 1, "aten::_local_scalar_dense": 1}
    assert counts["after"] == {"aten::item": 0, "aten::_local_scalar_dense": 0}
