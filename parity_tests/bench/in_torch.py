"""The ways to run a row in torch: eager, compiled, and the old way with its host round trips."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from parity_tests.bench.variants import TORCH, TORCH_COMPILED, TORCH_HOST_SYNC, Variant, arguments, finder, found
from parity_tests.kit.calls import as_tree
from parity_tests.kit.cases import Case
from parity_tests.kit.contract import Operation
from parity_tests.kit.subjects import Library
from parity_tests.kit.torch_subject import tensor_of
from parity_tests.kit.trees import Tree, map_leaves

# What the old way had on the host when it assembled a step.
STAGED = ("cu_seqlens_q", "source_rows", "input_ids")


def offered(operation: Operation, compiled: bool) -> list[str]:
    """The names of the ways to run an operation."""
    import torch_ref
    from torch_ref import host_sync

    names = [TORCH] if found(operation, finder(torch_ref)) else []
    names += [TORCH_COMPILED] if names and compiled else []
    return names + ([TORCH_HOST_SYNC] if found(operation, finder(host_sync)) else [])


def variants(case: Case, operation: Operation, names: list[str]) -> Iterator[Variant]:
    """Our own functions, on the GPU where torch has one."""
    import torch

    import torch_ref
    from torch_ref import host_sync

    device = "cuda" if torch.cuda.is_available() else ""
    eager = Library("torch", finder(torch_ref), torch_ref, device)
    if TORCH in names:
        yield outside(TORCH, eager, case, operation)
    if TORCH_HOST_SYNC in names:
        before = eager._replace(find=finder(host_sync))
        yield outside(TORCH_HOST_SYNC, before, case, operation, STAGED if operation.section == 4 else ())
    if TORCH_COMPILED in names:
        torch.compiler.reset()
        function = torch.compile(found(operation, eager.find), fullgraph=True, dynamic=False)
        yield _variant(TORCH_COMPILED, function, eager, case, operation, ())


def outside(name: str, library: Library, case: Case, operation: Operation, staged: tuple[str, ...] = ()) -> Variant:
    """A function of any library of torch, on its device but for what is staged on the host."""
    function = found(operation, library.find)
    assert function is not None, "a variant is made of what is offered"
    return _variant(name, function, library, case, operation, staged)


def _variant(
    name: str, function: Callable, library: Library, case: Case, operation: Operation, staged: tuple[str, ...]
) -> Variant:
    import torch

    def put(path: str, leaf: np.ndarray) -> Any:
        return tensor_of(leaf.copy(), "" if path in staged else library.device)

    placed = map_leaves(put, case.inputs)
    launch = partial(function, *arguments(operation, placed, library.types), **case.static)
    held = partial(map_leaves, lambda _, leaf: leaf.numpy(force=True), placed)
    if not library.device.startswith("cuda"):
        return Variant(name, launch, _read, held=held)

    def call() -> Any:
        result = launch()
        torch.cuda.synchronize()
        return result

    return Variant(name, call, _read, held=held)


def _read(result: Any) -> Tree:
    import torch

    return as_tree(result, lambda leaf: leaf.numpy(force=True) if isinstance(leaf, torch.Tensor) else leaf)
