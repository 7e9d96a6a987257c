"""What only a device can show: hot calls that neither transfer nor wait, graphs that replay, arrays that do not move.

Each check takes two cases of one operation and one signature, so that a program made from the first meets new lengths,
rows and tokens in the second, and yields what differs from what the second expects.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from parity_tests.kit.calls import as_tree, invoke
from parity_tests.kit.cases import Case
from parity_tests.kit.compare import compare, describe
from parity_tests.kit.contract import OPERATIONS
from parity_tests.kit.devices import Choice
from parity_tests.kit.trees import Tree, leaves, map_leaves

Pair = tuple[Case, Case]


def guarded_jax(pair: Pair, choice: Choice) -> Iterator[str | None]:
    """The jitted operation with every implicit transfer forbidden, its arguments on the device before."""
    import jax

    import jax_spec

    device = jax.devices(choice.jax)[0]

    def put(case: Case) -> Tree:
        return map_leaves(lambda _, leaf: jax.device_put(leaf, device), case.inputs)

    warm, hot = map(put, pair)
    function, operation = getattr(jax_spec, pair[0].op), OPERATIONS[pair[0].op]
    jax.block_until_ready(invoke(function, operation, warm, pair[0].static, jax_spec))
    with jax.transfer_guard("disallow"), jax.no_tracing():
        result = jax.block_until_ready(invoke(function, operation, hot, pair[1].static, jax_spec))
    yield _difference(pair[1], as_tree(result, np.asarray))


def guarded_torch(pair: Pair, choice: Choice) -> Iterator[str | None]:
    """The torch reference with every synchronisation of the host an error."""
    import torch_ref

    function, operation = getattr(torch_ref, pair[1].op), OPERATIONS[pair[1].op]
    tensors = _tensors(pair[1], choice)
    with _no_sync(choice):
        result = invoke(function, operation, tensors, pair[1].static, torch_ref)
    yield _difference(pair[1], as_tree(result, _to_numpy))


def replayed_torch(pair: Pair, choice: Choice) -> Iterator[str | None]:
    """The torch reference captured in a CUDA or HIP graph, and replayed with the values of the second case."""
    if choice.torch != "cuda":
        return
    import torch

    import torch_ref

    function, operation = getattr(torch_ref, pair[0].op), OPERATIONS[pair[0].op]
    # A graph has its addresses for good: the values of the second case are copied to where those of the first were.
    given, second = (dict(leaves(_tensors(case, choice))) for case in pair)
    inputs = map_leaves(lambda path, _: given[path], pair[0].inputs)
    graph, result = captured(lambda: invoke(function, operation, inputs, pair[0].static, torch_ref))
    for path, tensor in given.items():
        tensor.copy_(second[path])
    graph.replay()
    torch.cuda.synchronize()
    yield _difference(pair[1], as_tree(result, _to_numpy))


def captured(call: Callable[[], Any]) -> tuple[Any, Any]:
    """The kernels of `call` as a CUDA or HIP graph, and the result that a replay fills.

    The call is made once before, so that whatever a framework starts late has started.
    """
    import torch

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = call()
    return graph, result


def exchanged(pair: Pair, choice: Choice) -> Iterator[str | None]:
    """Every array from torch to JAX and back through DLPack, by address: nothing is copied."""
    if choice.jax != "cpu" and choice.torch == "cpu":
        return
    import jax
    import torch

    for path, tensor in leaves(_tensors(pair[1], choice)):
        array = jax.dlpack.from_dlpack(tensor)
        back = torch.from_dlpack(array)
        addresses = tensor.data_ptr(), array.unsafe_buffer_pointer(), back.data_ptr()
        same = len(set(addresses)) == 1 and np.array_equal(np.asarray(array), _to_numpy(tensor))
        yield None if same else f"{pair[1].op} `{path}`: expected one address and equal values, got {addresses}"


CHECKS = (("jax", guarded_jax), ("torch", guarded_torch), ("torch", replayed_torch), ("torch", exchanged))
"""Each with the framework whose column it is in; what a device has no means for yields nothing."""


def _tensors(case: Case, choice: Choice) -> Tree:
    import torch

    # JAX copies what is not aligned as its own memory is: torch's is, NumPy's need not be.
    return map_leaves(lambda _, leaf: torch.from_numpy(leaf).to(choice.torch).clone(), case.inputs)


def _to_numpy(tensor: Any) -> np.ndarray:
    return tensor.numpy(force=True)


def _difference(case: Case, result: Tree) -> str | None:
    difference = compare(case, result)
    return difference and describe(case, difference)


@contextmanager
def _no_sync(choice: Choice) -> Iterator[None]:
    import torch

    if choice.torch != "cuda":
        yield
        return
    torch.cuda.synchronize()
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)
