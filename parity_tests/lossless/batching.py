"""The host's side of continuous batching: who is in the batch, with what, and what became of it. No token of a request
that decodes is looked at before the step is over.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from parity_tests.lossless.model import Sizes
from parity_tests.lossless.step import POISON, Seen, Staged
from parity_tests.lossless.workload import Request


class Live(NamedTuple):
    """A request that has a slot and blocks."""

    request: int
    slot: int
    blocks: tuple[int, ...]
    prefix: tuple[int, ...]
    """Tokens to read before it decodes: its prompt, and what it had emitted when it came."""
    read: int
    """Tokens of the prefix that are in the cache."""


class Book(NamedTuple):
    """Where every request stands."""

    waiting: tuple[int, ...]
    live: tuple[Live, ...]
    free_slots: tuple[int, ...]
    free_blocks: tuple[int, ...]
    emitted: tuple[tuple[int, ...], ...]
    preempted_at: tuple[int, ...]
    """As the requests have it; -1 for one that was."""


class Row(NamedTuple):
    """A row of one step."""

    place: int
    live: Live
    length: int
    """Tokens of the chunk, or the most that it may forward; 0 where it sits out."""


def open_book(requests: Sequence[Request], sizes: Sizes) -> Book:
    """All requests waiting."""
    numbers = tuple(range(len(requests)))
    slots, blocks = tuple(range(sizes.slots)), tuple(range(sizes.blocks))
    return Book(numbers, (), slots, blocks, ((),) * len(requests), tuple(request.preempted_at for request in requests))


def is_done(book: Book) -> bool:
    """Whether nothing waits and nothing runs."""
    return not book.waiting and not book.live


def admitted(book: Book, requests: Sequence[Request], step: int, sizes: Sizes) -> Book:
    """The book with every request that has arrived and finds a slot and blocks for all of its tokens."""
    for number in book.waiting:
        request = requests[number]
        longest = len(request.prompt) + request.new_tokens + sizes.drafts
        count = -(-longest // sizes.block_size)
        if request.arrival > step or not book.free_slots or len(book.free_blocks) < count:
            continue
        prefix = request.prompt + book.emitted[number]
        live = Live(number, book.free_slots[0], book.free_blocks[:count], prefix, 0)
        book = book._replace(
            waiting=tuple(other for other in book.waiting if other != number),
            live=(*book.live, live),
            free_slots=book.free_slots[1:],
            free_blocks=book.free_blocks[count:],
        )
    return book


def preempted(book: Book) -> Book:
    """The book with every request back in the queue that has come to where it is preempted."""
    for live in book.live:
        if live.read and 0 <= book.preempted_at[live.request] <= len(book.emitted[live.request]):
            book = released(book, live)._replace(
                waiting=(live.request, *book.waiting),
                preempted_at=tuple(-1 if i == live.request else at for i, at in enumerate(book.preempted_at)),
            )
    return book


def released(book: Book, live: Live) -> Book:
    """The book without a running request."""
    return book._replace(
        live=tuple(other for other in book.live if other != live),
        free_slots=(*book.free_slots, live.slot),
        free_blocks=(*book.free_blocks, *live.blocks),
    )


def chosen(book: Book, requests: Sequence[Request], sizes: Sizes, rng: np.random.Generator) -> list[Row]:
    """The rows of a step: running requests in any order and any place, within the capacity.

    Where there are more requests than rows some are not in the batch; of those that are, one in seven sits out, and so
    does one for which there is no room.
    """
    order, places = rng.permutation(len(book.live)), rng.permutation(sizes.rows)
    rows, room = [], sizes.capacity
    for place, number in zip(places, order, strict=False):
        live = book.live[number]
        left = _unread(live)
        wanted = requests[live.request].new_tokens - len(book.emitted[live.request])
        chunk = min(left, room, int(rng.integers(1, sizes.chunk, endpoint=True)))
        # A rectangular row takes K + 1 places whatever it was allowed.
        length, needed = (chunk, chunk) if left else (min(wanted, sizes.drafts + 1), sizes.drafts + 1)
        if needed > room or (rows and rng.random() < 0.15):
            length = needed = 0
        rows.append(Row(int(place), live, length))
        room -= needed
    return rows


def staged(rows: Sequence[Row], sizes: Sizes) -> Staged:
    """What the host hands over; what it must not know is poisoned."""
    chunks = np.full((sizes.rows, sizes.chunk), POISON, np.int32)
    lens, computed = (np.zeros(sizes.rows, np.int32) for _ in range(2))
    sources, slots = (np.full(sizes.rows, -1, np.int32) for _ in range(2))
    tables = np.full((sizes.rows, sizes.pages), -1, np.int32)
    for row in rows:
        live, place = row.live, row.place
        lens[place], slots[place] = row.length, live.slot
        tables[place, : len(live.blocks)] = live.blocks
        if _unread(live):
            chunks[place, : row.length] = live.prefix[live.read : live.read + row.length]
            computed[place] = live.read
        else:
            sources[place], computed[place] = live.slot, POISON
    return Staged(chunks, lens, sources, computed, slots, tables)


def settled(book: Book, requests: Sequence[Request], rows: Sequence[Row], seen: Seen) -> tuple[Book, list[list[int]]]:
    """The book after a step, and what each row emitted."""
    gained = []
    for row in rows:
        live, request = row.live, row.live.request
        read = live.read + row.length if _unread(live) else live.read
        gained.append([])
        if row.length and read == len(live.prefix):
            count = int(seen.num_accepted[row.place]) + 1
            left = requests[request].new_tokens - len(book.emitted[request])
            gained[-1] = seen.output_token_ids[row.place].tolist()[: min(count, left)]
        emitted = book.emitted[request] + tuple(gained[-1])
        book = book._replace(
            live=tuple(other._replace(read=read) if other == live else other for other in book.live),
            emitted=(*book.emitted[:request], emitted, *book.emitted[request + 1 :]),
        )
        if len(emitted) == requests[request].new_tokens:
            book = released(book, live._replace(read=read))
    return book, gained


def _unread(live: Live) -> int:
    """Tokens of its prefix that it still has to read; a request that has none decodes."""
    return len(live.prefix) - live.read
