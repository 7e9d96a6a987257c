"""How often one step waits for the device, as `torch.profiler` counts it: the old way, and this library's."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType

import numpy as np

from parity_tests.kit.calls import invoke
from parity_tests.kit.cases import Case
from parity_tests.kit.contract import OPERATIONS
from parity_tests.kit.trace_cases import trace_cases
from parity_tests.kit.trees import map_leaves

EVENTS = ("aten::item", "aten::_local_scalar_dense")
# What the old way had of a step, and all that happens between two forwards.
BEFORE = ("overlay_input_ids", "last_token_indices")
AFTER = (*BEFORE, "prepare_step", "commit_step", "store_drafts")


def count_host_reads() -> dict[str, dict[str, int]]:
    """The counts of each event before and after, for the last recorded step."""
    import torch_ref
    from torch_ref import host_sync

    cases = {case.op: case for case in trace_cases()}
    return {
        "before": _count(host_sync, [cases[op] for op in BEFORE]),
        "after": _count(torch_ref, [cases[op] for op in AFTER]),
    }


def _count(module: ModuleType, cases: list[Case]) -> dict[str, int]:
    from torch.profiler import ProfilerActivity, profile

    calls = [_call(module, case) for case in cases]
    with silenced(2), profile(activities=[ProfilerActivity.CPU]) as profiler:
        for call in calls:
            call()
    seen = [event.name for event in profiler.events() or ()]
    return {name: seen.count(name) for name in EVENTS}


@contextmanager
def silenced(descriptor: int) -> Iterator[None]:
    """Nothing on a file descriptor: the profiler's C++ part writes to it past every setting there is."""
    kept, nothing = os.dup(descriptor), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, descriptor)
    try:
        yield
    finally:
        os.dup2(kept, descriptor)
        os.close(kept)
        os.close(nothing)


def _call(module: ModuleType, case: Case) -> Callable[[], object]:
    import torch

    import torch_ref

    function, operation = getattr(module, case.op), OPERATIONS[case.op]
    tensors = map_leaves(lambda _, leaf: torch.from_numpy(np.array(leaf)), case.inputs)
    return lambda: invoke(function, operation, tensors, case.static, torch_ref)
