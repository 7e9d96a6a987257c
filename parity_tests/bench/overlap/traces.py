"""The lanes of a run in the format of Chrome's and Perfetto's trace viewers."""

from typing import Any

from parity_tests.bench.overlap.host import Span
from parity_tests.bench.overlap.measure import Lanes

LANES = ("host", "device")


def as_trace(lanes: Lanes, environment: dict[str, Any]) -> dict[str, Any]:
    """The trace: a process for the run and a thread for each lane, times in microseconds."""
    names = [_name("process_name", 0, f"{lanes.way}: {environment['device']}")]
    names += [_name("thread_name", thread, lane) for thread, lane in enumerate(LANES, 1)]
    spans = [
        _complete(span, thread, lane)
        for thread, lane in enumerate(LANES, 1)
        for span in sorted(getattr(lanes, lane), key=lambda span: span.start)
    ]
    return {"displayTimeUnit": "ms", "otherData": environment, "traceEvents": names + spans}


def _name(what: str, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": 1, "tid": thread, "args": {"name": name}}


def _complete(span: Span, thread: int, lane: str) -> dict[str, Any]:
    times = {"ts": round(span.start * 1e6, 3), "dur": round((span.end - span.start) * 1e6, 3)}
    return {"ph": "X", "name": span.name, "cat": lane, "pid": 1, "tid": thread, **times}
