"""`torch_ref` as a subject: eager, its host-synchronising forerunner, and compiled."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from parity_tests.kit.calls import as_tree, checked, invoke
from parity_tests.kit.cases import Case
from parity_tests.kit.compare import Outcome
from parity_tests.kit.contract import OPERATIONS, Operation
from parity_tests.kit.subjects import Run, Subject
from parity_tests.kit.trees import Tree, map_leaves


def eager() -> Subject:
    """The functions as they are exported."""
    import torch_ref

    run = _run_with(lambda name: getattr(torch_ref, name))
    return Subject("torch", lambda case: hasattr(torch_ref, case.op), run)


def host_sync() -> Subject:
    """The old way, which reads the device every step."""
    from torch_ref import host_sync

    run = _run_with(lambda name: getattr(host_sync, name))
    return Subject("torch-host-sync", lambda case: hasattr(host_sync, case.op), run)


def compiled() -> Subject:
    """`torch.compile` of every function, one program a signature, which takes minutes."""
    import torch

    import torch_ref

    # Every signature is a program of its own; past the default limit of eight, torch gives up.
    torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 1_000_000

    @cache
    def compile_once(name: str) -> Callable:
        return torch.compile(getattr(torch_ref, name), fullgraph=True, dynamic=False)

    # A fault would come out as an error of the compiler; `check_step` is for the host.
    def takes(case: Case) -> bool:
        return case.fault is None and case.op in OPERATIONS and hasattr(torch_ref, case.op)

    return Subject("torch-compiled", takes, _run_with(compile_once))


def _run_with(function_of: Callable[[str], Callable]) -> Run:
    def run(operation: Operation, cases: list[Case]) -> list[Outcome]:
        return [_once(function_of(operation.name), operation, case) for case in cases]

    return run


def _once(function: Callable, operation: Operation, case: Case) -> Outcome:
    import torch

    import torch_ref

    def to_numpy(value: Any) -> Any:
        return value.numpy(force=True) if isinstance(value, torch.Tensor) else value

    # The tensors share the memory of `inputs`, so that a write into an argument shows there.
    def call(inputs: Tree) -> Tree:
        tensors = map_leaves(lambda _, leaf: torch.from_numpy(leaf) if isinstance(leaf, np.ndarray) else leaf, inputs)
        return as_tree(invoke(function, operation, tensors, case.static, torch_ref), to_numpy)

    return checked(call, operation, case)
