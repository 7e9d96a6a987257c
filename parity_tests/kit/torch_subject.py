"""Functions of torch as a subject: as they are, and compiled."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from parity_tests.kit.calls import as_tree, checked, invoke
from parity_tests.kit.cases import Case
from parity_tests.kit.compare import Outcome
from parity_tests.kit.contract import OPERATIONS, Operation
from parity_tests.kit.subjects import Library, Run, Subject, of_operations, offered
from parity_tests.kit.trees import Tree, leaves, map_leaves


def eager(name: str, library: Library) -> Subject:
    """The functions as users call them."""
    return of_operations(name, offered(library), _run(library))._replace(functions=library)


def compiled(name: str, library: Library) -> Subject:
    """`torch.compile` of every function, one program a signature, which takes minutes."""
    import torch

    # Every signature is a program of its own; past the default limit of eight, torch gives up.
    torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 1_000_000

    @cache
    def find(name: str) -> Callable | None:
        function = library.find(name)
        return torch.compile(function, fullgraph=True, dynamic=False) if function else None

    # `check_step` is for the host. A fault would come out as an error of the compiler.
    names = tuple(name for name in offered(library) if name in OPERATIONS)
    run = _run(library._replace(find=find))
    return Subject(name, names, lambda case: case.op in names and case.fault is None, run)


def tensor_of(array: np.ndarray, device: str) -> Any:
    """A tensor with the values and the strides of `array`; on the CPU, where no device is named, it is its memory."""
    import torch

    tensor = torch.from_numpy(array)
    if not device:
        return tensor
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device).copy_(tensor)


def _run(library: Library) -> Run:
    def run(operation: Operation, cases: list[Case]) -> list[Outcome]:
        function = library.find(operation.name)
        assert function is not None, "a subject is run on what it takes"
        return [_once(function, operation, case, library) for case in cases]

    return run


def _once(function: Callable, operation: Operation, case: Case, library: Library) -> Outcome:
    def call(inputs: Tree) -> Tree:
        arrays = {path: leaf for path, leaf in leaves(inputs) if isinstance(leaf, np.ndarray)}
        tensors = {path: tensor_of(array, library.device) for path, array in arrays.items()}
        given = map_leaves(lambda path, leaf: tensors.get(path, leaf), inputs)
        result = as_tree(invoke(function, operation, given, case.static, library.types), _to_numpy)
        # A write into an argument shows in `inputs`: at once where they share their memory, else from here.
        for path, array in arrays.items() if library.device else ():
            array[...] = _to_numpy(tensors[path])
        return result

    return checked(call, operation, case)


def _to_numpy(value: Any) -> Any:
    import torch

    return value.numpy(force=True) if isinstance(value, torch.Tensor) else value
