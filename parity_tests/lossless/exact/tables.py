"""What follows one, two or three words of a text, as sorted tables that any framework can search."""

from typing import Any, NamedTuple

import numpy as np

LARGEST = 2**31 - 1


class Order(NamedTuple):
    """All contexts of one length, the text being a ring: each is followed by something. A context's number is its place
    in `keys`; that of a single word is the word.
    """

    keys: Any
    """int32 `[C]`, ascending: the number of the context without its last word, times the vocabulary, plus that word."""
    starts: Any
    """int32 `[C + 1]`, where the followers of each context start."""
    followers: Any
    """int32, the word behind every place where the context stands, ascending."""


class Chain(NamedTuple):
    """The likeliest follower of every context of one length."""

    best: Any
    """int32 `[C]`, the most frequent follower, of several the least."""
    share: Any
    """float32 `[C]`, its share of the followers."""
    pair: Any
    """int32 `[C]`, number of the context that it makes with the word in front of it."""


class Tables(NamedTuple):
    """All that target and drafter know of a text."""

    orders: tuple[Order, Order, Order]
    """One, two and three words."""
    chains: tuple[Chain, Chain]
    """One and two words."""


def tables_of(ids: np.ndarray, vocab_size: int) -> Tables:
    """The tables of a text.

    Args:
        ids: the text, int32, every id from 0 to `vocab_size - 1` at least once.
        vocab_size: number of words.

    >>> (one, two, _), (chain, _) = tables_of(np.array([1, 2, 1, 0], np.int32), 3)
    >>> one.keys.tolist(), chain.best.tolist(), chain.share.tolist()
    ([0, 1, 2], [1, 0, 1], [1.0, 0.5, 1.0])
    >>> two.keys.tolist(), chain.pair.tolist()
    ([1, 3, 5, 7], [0, 1, 3])
    """
    number, orders = np.zeros(len(ids), np.int64), []
    for length in (1, 2, 3):
        keys, number = np.unique(number * vocab_size + ids, return_inverse=True)
        if keys[-1] > LARGEST:
            raise ValueError(f"`ids`: got {len(keys)} contexts of {length} of {vocab_size} words, too many for int32")
        orders.append(_order(keys, number, np.roll(ids, -1)))
        # The context that ends in front of each word.
        number = np.roll(number, 1)
    one, two, three = orders
    return Tables((one, two, three), (_chain(one, two, vocab_size), _chain(two, two, vocab_size)))


def _order(keys: np.ndarray, number: np.ndarray, followers: np.ndarray) -> Order:
    starts = np.searchsorted(np.sort(number), np.arange(len(keys) + 1))
    return Order(
        keys.astype(np.int32),
        starts.astype(np.int32),
        followers[np.lexsort((followers, number))].astype(np.int32),
    )


def _chain(order: Order, pairs: Order, vocab_size: int) -> Chain:
    counts, contexts = np.diff(order.starts), np.arange(len(order.keys))
    told, times = np.unique(np.repeat(contexts, counts) * vocab_size + order.followers, return_counts=True)
    # By context, then by falling count, then by word: the first of each context is the best.
    ranked = np.lexsort((told, -times, told // vocab_size))
    first = ranked[np.searchsorted(told[ranked] // vocab_size, contexts)]
    best = told[first] % vocab_size
    pair = np.searchsorted(pairs.keys, order.keys % np.int64(vocab_size) * vocab_size + best)
    return Chain(best.astype(np.int32), (times[first] / counts).astype(np.float32), pair.astype(np.int32))
