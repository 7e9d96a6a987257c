"""What the device did when, by JAX's own profiler, on the clock of the host's notes."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, TypeVar

from parity_tests.bench.overlap.host import Span

T = TypeVar("T")

FORWARD = "forward"
_ANCHOR = "where two clocks meet"
Operation = tuple[float, float, str]


def observed(work: Callable[[], T]) -> tuple[T, list[Span]]:
    """The result of `work`, and every program that the device ran meanwhile; none where the profiler sees none."""
    import jax

    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, profiler_options=options):
            met = perf_counter()
            with jax.profiler.TraceAnnotation(_ANCHOR):
                result = work()
        [path] = Path(folder).rglob("*.xplane.pb")
        profile = jax.profiler.ProfileData.from_file(str(path))
        # The type of an event's properties warns when it is first used.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return result, _programs(profile, met)


def _programs(profile: Any, met: float) -> list[Span]:
    planes = list(profile.planes)
    [start] = [event.start_ns for event in _events(planes) if event.name == _ANCHOR]
    # On a CPU the device is a few threads of the host.
    on_device = [plane for plane in planes if plane.name.startswith("/device:")] or planes
    operations = sorted(_operations(_events(on_device)))
    return [Span(name, met + (a - start) / 1e9, met + (b - start) / 1e9) for a, b, name in grouped(operations)]


def _events(planes: list[Any]) -> Iterator[Any]:
    return (event for plane in planes for line in plane.lines for event in line.events)


def _operations(events: Iterator[Any]) -> Iterator[Operation]:
    for event in events:
        if module := dict(event.stats).get("hlo_module"):
            yield event.start_ns, event.start_ns + event.duration_ns, str(module).removeprefix("jit_")


def grouped(operations: Sequence[Operation]) -> list[Operation]:
    """Runs of operations of one program in one, sorted as they are; the loop never runs a program twice in a row."""
    programs: list[Operation] = []
    for start, end, name in operations:
        if programs and programs[-1][2] == name:
            start, earlier, _ = programs.pop()
            end = max(end, earlier)
        programs.append((start, end, name))
    return programs


def idle_share(programs: list[Span]) -> float | None:
    """The part of the time from the first forward to the end of the last in which no program ran."""
    forwards = [program for program in programs if program.name == FORWARD]
    if not forwards:
        return None
    start, end = forwards[0].start, forwards[-1].end
    busy = sum(program.end - program.start for program in programs if start <= program.start < end)
    return max(1 - busy / (end - start), 0.0)
