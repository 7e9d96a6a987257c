"""How often a step of the loop waits for the device in torch, as its profiler counts it."""

from collections import Counter

from parity_tests.bench.overlap.host import Host, open_door
from parity_tests.bench.overlap.measure import WAYS
from parity_tests.bench.overlap.steps import Carry, Loop
from parity_tests.kit.host_reads import EVENTS, silenced

# Copies to the host are events of a card; on a CPU they are none, and nothing is copied.
COPY = "Memcpy DtoH"


def count_events(loop: Loop, first: Carry, steps: int) -> dict[str, dict[str, float]]:
    """The events of one step, before and after, in the mean of so many."""
    return {way: _count(loop, first, way, steps) for way in WAYS}


def _count(loop: Loop, first: Carry, way: str, steps: int) -> dict[str, float]:
    import torch
    from torch.profiler import ProfilerActivity, profile

    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * torch.cuda.is_available()
    host, carry = Host([], open_door, 0), first
    with silenced(2), profile(activities=activities) as profiler:
        for _ in range(steps):
            carry, _ = WAYS[way](loop, carry, host)
    seen = Counter(event.name for event in profiler.events() or ())
    counts = {name: seen[name] / steps for name in EVENTS}
    copies = sum(count for name, count in seen.items() if name.startswith(COPY))
    return counts | ({COPY: copies / steps} if loop.stack.device != "cpu" else {})
