"""What the host does between two forwards, and how long it takes; the one door by which it reads the device."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

READ, SCHEDULE, ASSEMBLE, DISPATCH, PACE = "blocked in a read", "scheduling", "assembly", "dispatch", "ahead, waits"


class Span(NamedTuple):
    """One thing done, in seconds of `time.perf_counter`."""

    name: str
    start: float
    end: float


Fetch = Callable[[Any], T]
Door = Callable[[Fetch, Any], Any]


class Host(NamedTuple):
    """The host of one run: what it has done so far, its door to the device, and how much work its scheduler does."""

    spans: list[Span]
    door: Door
    rounds: int


@contextmanager
def noted(host: Host, name: str) -> Iterator[None]:
    """Note what is done inside."""
    start = perf_counter()
    yield
    host.spans.append(Span(name, start, perf_counter()))


def read(host: Host, fetch: Fetch[T], array: Any) -> T:
    """What `fetch` makes of an array of the device, once its values are there."""
    with noted(host, READ):
        return host.door(fetch, array)


def open_door(fetch: Fetch[T], array: Any) -> T:
    """The door of a host that nobody watches."""
    return fetch(array)


def schedule(host: Host) -> None:
    """Do the work that stands for an engine's scheduler."""
    if host.rounds:
        with noted(host, SCHEDULE):
            bookkeeping(host.rounds)


def bookkeeping(rounds: int) -> int:
    """Work of a scheduler's kind, in plain Python: it holds the interpreter, as an engine's does."""
    owners: dict[int, int] = {}
    for number in range(rounds):
        block = hash((number, number % 7)) % 4096
        owners[block] = owners.get(block, 0) + 1
    return len(owners)


def rounds_in(milliseconds: float) -> int:
    """How many rounds of `bookkeeping` take so long on this machine while nothing disturbs it."""
    tried, shortest = 2000, float("inf")
    for _ in range(20):
        start = perf_counter()
        bookkeeping(tried)
        shortest = min(shortest, perf_counter() - start)
    return round(tried * milliseconds / 1e3 / shortest)


def seconds_in(spans: Iterable[Span], name: str) -> float:
    """How long all that is called `name` took."""
    return sum(span.end - span.start for span in spans if span.name == name)
