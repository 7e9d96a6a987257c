"""How long the device itself is busy with a call, as JAX's profiler sees it; a CPU has no device lane.

Nobody has run this on a GPU or a TPU yet: the names of the lanes are those that JAX documents.
"""

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

CALLS = 20
# The lanes that hold work: kernels and copies of a GPU by stream, whole programs of a TPU. Others show the same again.
LANES = ("Stream", "XLA Modules")


def device_ns(call: Callable[[], Any]) -> float | None:
    """Nanoseconds of device work in one call, the mean of several; None where the profiler shows no device."""
    import jax

    if jax.default_backend() == "cpu":
        return None
    jax.block_until_ready(call())
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            for _ in range(CALLS):
                jax.block_until_ready(call())
        planes = [
            plane
            for path in Path(folder).rglob("*.xplane.pb")
            for plane in jax.profiler.ProfileData.from_file(str(path)).planes
        ]
    busy = busy_ns(planes)
    return busy / CALLS if busy else None


def busy_ns(planes: Iterable[Any]) -> float:
    """The summed durations of the events in the lanes of devices.

    >>> busy_ns([])
    0.0
    """
    return sum(
        (
            event.duration_ns
            for plane in planes
            if plane.name.startswith("/device:")
            for line in plane.lines
            if line.name.startswith(LANES)
            for event in line.events
        ),
        0.0,
    )
