"""The parts of the loop: text and tables of the exact model, the host's book, what is told of a difference."""

from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest

from parity_tests.lossless import batching, frameworks, pages
from parity_tests.lossless.compare import differences
from parity_tests.lossless.exact.sweep import sizes_for
from parity_tests.lossless.exact.tables import tables_of
from parity_tests.lossless.exact.text import documentation, prompts, text_of, tokenize
from parity_tests.lossless.model import Batch
from parity_tests.lossless.modes import PLAIN, RAGGED
from parity_tests.lossless.record import Verdict
from parity_tests.lossless.workload import Request, requests_from
from parity_tests.meta.lossless_runs import REQUESTS, run

TEXT = tokenize("to be, or not to be: that is the question: whether to be or not to be, that is not the question")


def test_words_are_the_text():
    text = documentation()
    whole = text_of(text.words, text.ids.tolist())
    assert len(whole) == 400_000
    assert len(set(text.words)) == len(text.words) == text.ids.max() + 1
    assert "context manager" in whole
    assert text_of(("", "a"), [1, -1, 2]) == "a<-1><2>"


def test_prompts_are_pieces_of_the_text():
    text = documentation()
    whole = text_of(text.words, text.ids.tolist())
    found = prompts(text, 20, seed=1)
    assert all(text_of(text.words, prompt) in whole and 3 <= len(prompt) <= 40 for prompt in found)
    assert found == prompts(text, 20, seed=1) != prompts(text, 20, seed=2)


def followers_of(ids: list[int], length: int) -> dict[tuple[int, ...], list[int]]:
    """What stands behind each context, by brute force."""
    ring, found = ids + ids[:length], defaultdict(list)
    for place in range(len(ids)):
        found[tuple(ring[place : place + length])].append(ring[place + length])
    return found


@pytest.mark.parametrize("length", [1, 2, 3])
def test_tables_hold_what_follows(length: int):
    size, ids = len(TEXT.words), TEXT.ids.tolist()
    orders, chains = tables_of(TEXT.ids, size)
    found = followers_of(ids, length)
    assert len(orders[length - 1].keys) == len(found)
    for context, expected in found.items():
        number = context[0]
        for order, word in zip(orders[1:], context[1:], strict=False):
            number = np.searchsorted(order.keys, number * size + word)
        start, end = orders[length - 1].starts[number : number + 2]
        assert orders[length - 1].followers[start:end].tolist() == sorted(expected)
        if length < 3:
            best, times = min(Counter(expected).items(), key=lambda item: (-item[1], item[0]))
            chain = chains[length - 1]
            assert (chain.best[number], chain.share[number]) == (best, np.float32(times / len(expected)))
            assert orders[1].keys[chain.pair[number]] == context[-1] * size + best


def test_a_text_too_large_for_int32_is_refused():
    ids = np.arange(60_000, dtype=np.int32)
    with pytest.raises(ValueError, match="`ids`: got 60000 contexts of 2 of 60000 words, too many for int32"):
        tables_of(ids, 60_000)


def test_requests_come_in_turn():
    requests = requests_from([[1], [2, 3], [4]] * 5, 8, seed=0)
    assert [request.prompt for request in requests[:3]] == [(1,), (2, 3), (4,)]
    assert all(6 <= request.new_tokens <= 8 for request in requests)
    assert all(before.arrival <= after.arrival for before, after in pairwise(requests))


def test_a_request_waits_for_slots_and_blocks():
    sizes = sizes_for(REQUESTS, 3)
    book = batching.admitted(batching.open_book(REQUESTS, sizes), REQUESTS, 0, sizes)
    assert [live.request for live in book.live] == [i for i, request in enumerate(REQUESTS) if request.arrival == 0]
    many = [Request((1,) * 30, 16, 0)] * 12
    book = batching.admitted(batching.open_book(many, sizes), many, 0, sizes)
    blocks = [block for live in book.live for block in live.blocks]
    assert 0 < len(book.live) < 8
    assert len(set(blocks)) == len(blocks) == sizes.blocks - len(book.free_blocks)
    assert [*book.waiting, *(live.request for live in book.live)] == [
        *range(len(book.live), 12),
        *range(len(book.live)),
    ]


def test_a_preempted_request_reads_all_that_it_had():
    sizes, requests = sizes_for(REQUESTS, 3), [Request((5, 6), 4, 0, preempted_at=1)]
    book = batching.admitted(batching.open_book(requests, sizes), requests, 0, sizes)
    running = book._replace(live=(book.live[0]._replace(read=2),))
    assert batching.preempted(running) == running
    book = batching.preempted(running._replace(emitted=((7, 8),)))
    assert (book.waiting, book.live, len(book.free_slots)) == ((0,), (), sizes.slots)
    book = batching.admitted(book, requests, 1, sizes)
    assert book.live[0].prefix == (5, 6, 7, 8)
    assert batching.preempted(book._replace(live=(book.live[0]._replace(read=2),))).live != (), "once is enough"


def test_a_page_is_read_through_its_table_only():
    oracle, sizes = frameworks.oracle_framework(), sizes_for(REQUESTS, 3)
    cache = oracle.put(np.arange(sizes.blocks * 8, dtype=np.int32) + 100)
    tables = np.full((6, sizes.pages), -1, np.int32)
    tables[2, :2] = 3, 1
    batch = Batch(None, None, None, None, tables)
    positions = np.array([0, 9, 16, -1, 8 * sizes.pages], np.int32)
    found = pages.read(oracle, cache, batch, np.full(5, 2, np.int32), positions, 8)
    assert found.tolist() == [124, 109, pages.NOTHING, pages.NOTHING, pages.NOTHING]


def test_differences_name_request_token_and_draft():
    oracle = frameworks.oracle_framework()
    plain, judge = (run(oracle, 1, mode) for mode in (PLAIN, RAGGED))
    assert differences(judge, plain, judge) == []
    other = (*judge.tokens[0][:5], judge.tokens[0][5] + 1, *judge.tokens[0][6:])
    found = differences(judge._replace(tokens=(other, *judge.tokens[1:])), plain, judge)
    assert found == [f"request 0: token 5: expected {judge.tokens[0][5]}, got {other[5]}"]
    place = next(place for place, verdict in judge.verdicts.items() if place[0] == 2 and verdict.accepted)
    draft = judge.verdicts[place].draft
    found = differences(judge._replace(verdicts=judge.verdicts | {place: Verdict(draft, False)}), plain, judge)
    assert found == [f"request 2: draft 0 behind token {place[1]}: expected {draft} accepted, got {draft} rejected"]
    fewer = {key: verdict for key, verdict in judge.verdicts.items() if key != place}
    found = differences(judge._replace(verdicts=fewer), plain, judge)
    assert found == [f"request 2: draft 0 behind token {place[1]}: expected {draft} accepted, got it not verified"]
