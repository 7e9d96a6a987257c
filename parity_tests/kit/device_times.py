"""How long a call takes on the device that was asked for: until its result is there, and between two events of torch.

The variants of an operation take turns, so that a disturbance meets all of them; each figure is a median. JAX has no
events of its own and runs on a stream that torch cannot see, so for it there is only the clock.
"""

from collections.abc import Callable, Iterator
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from parity_tests.kit.calls import invoke
from parity_tests.kit.cases import Case
from parity_tests.kit.contract import OPERATIONS
from parity_tests.kit.devices import Choice
from parity_tests.kit.on_device import captured
from parity_tests.kit.torch_subject import tensor_of
from parity_tests.kit.trace_cases import trace_cases
from parity_tests.kit.trees import map_leaves

TIMED = ("assemble_input_ids", "overlay_input_ids", "last_token_indices", "prepare_step", "commit_step", "store_drafts")
ROUNDS = 50

Call = Callable[[], object]


class Variant(NamedTuple):
    """One way to run an operation: the call, how to wait for it, and a pair of torch's events where it has some."""

    name: str
    call: Call
    wait: Callable[[Any], object]
    events: tuple[Any, Any] | None = None


class Timing(NamedTuple):
    """Median microseconds of a call: `blocked` by the clock, `device` between two events where there are any."""

    operation: str
    variant: str
    blocked: float
    device: float | None


def timings(choice: Choice | None) -> Iterator[Timing]:
    """Each timed operation at the last recorded step, in the frameworks that are here; nothing without a device."""
    if choice is None:
        return
    cases = {case.op: case for case in trace_cases() if case.op in TIMED}
    for case in cases.values():
        yield from timed(case.op, [*_of_jax(case, choice), *_of_torch(case, choice)])


def timed(operation: str, variants: list[Variant]) -> Iterator[Timing]:
    """The medians of each variant, of as many rounds in which they take turns."""
    samples = [[_sample(variant) for variant in variants] for _ in range(ROUNDS + 1)][1:]
    for variant, column in zip(variants, zip(*samples, strict=True), strict=True):
        blocked, device = zip(*column, strict=True)
        yield Timing(operation, variant.name, median(blocked), median(device) if variant.events else None)


def _sample(variant: Variant) -> tuple[float, float]:
    start = perf_counter()
    if variant.events:
        variant.events[0].record()
    result = variant.call()
    if variant.events:
        variant.events[1].record()
    variant.wait(result)
    blocked = (perf_counter() - start) * 1e6
    return blocked, variant.events[0].elapsed_time(variant.events[1]) * 1e3 if variant.events else 0.0


def _of_jax(case: Case, choice: Choice) -> Iterator[Variant]:
    import jax

    import jax_spec

    device = jax.devices(choice.jax)[0]
    arrays = map_leaves(lambda _, leaf: jax.device_put(leaf, device), case.inputs)
    yield Variant("jax", _call(jax_spec, case, arrays, jax_spec), jax.block_until_ready)


def _of_torch(case: Case, choice: Choice) -> Iterator[Variant]:
    try:
        import torch
    except ModuleNotFoundError:
        return
    import torch_ref
    from torch_ref import host_sync

    tensors = map_leaves(lambda _, leaf: tensor_of(leaf, choice.torch), case.inputs)
    after = _call(torch_ref, case, tensors, torch_ref)
    calls = {"torch": after}
    if hasattr(host_sync, case.op):
        calls["torch-host-sync"] = _call(host_sync, case, tensors, torch_ref)
    if choice.torch == "cpu":
        yield from (Variant(name, call, lambda _: None) for name, call in calls.items())
        return
    calls["torch, graph replayed"] = captured(after)[0].replay
    for name, call in calls.items():
        events = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        yield Variant(name, call, lambda _: torch.cuda.synchronize(), events)


def _call(package: Any, case: Case, arrays: Any, types: Any) -> Call:
    return lambda: invoke(getattr(package, case.op), OPERATIONS[case.op], arrays, case.static, types)
