"""One operation on a whole batch of cases, under the `vmap` of each framework."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from parity_tests.kit.calls import as_tree, invoke
from parity_tests.kit.contract import Operation
from parity_tests.kit.trees import Tree, map_leaves

Batched = Callable[[Tree], Tree]


def _jax(operation: Operation, static: dict[str, int]) -> Batched:
    import jax

    import jax_spec

    def one(inputs: Tree) -> Any:
        return invoke(getattr(jax_spec, operation.name), operation, inputs, static, jax_spec)

    program = jax.jit(jax.vmap(one))
    return lambda inputs: as_tree(program(inputs), np.asarray)


def _torch(operation: Operation, static: dict[str, int]) -> Batched:
    import torch

    import torch_ref

    def one(inputs: Tree) -> Any:
        return invoke(getattr(torch_ref, operation.name), operation, inputs, static, torch_ref)

    def run(inputs: Tree) -> Tree:
        tensors = map_leaves(lambda _, leaf: torch.from_numpy(leaf), inputs)
        with _one_thread():
            return as_tree(torch.func.vmap(one)(tensors), lambda tensor: tensor.numpy())

    return run


@contextmanager
def _one_thread() -> Iterator[None]:
    """Threads that wait for each other over arrays of this size make torch ten times slower on a busy machine."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


VMAPPED: dict[str, Callable[[Operation, dict[str, int]], Batched]] = {"jax": _jax, "torch": _torch}
