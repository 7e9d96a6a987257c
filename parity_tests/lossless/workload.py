"""Requests: what they ask, and when they come."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Request(NamedTuple):
    """One request; it ends after exactly `new_tokens`, whatever they are."""

    prompt: tuple[int, ...]
    """At least one token."""
    new_tokens: int
    """Tokens to emit, at least one."""
    arrival: int
    """Step at which it may start."""


def requests_from(prompts: Sequence[Sequence[int]], new_tokens: int, seed: int) -> list[Request]:
    """A request for each prompt, of three quarters to all of `new_tokens`, arriving a few at a time.

    >>> requests_from([[5, 6], [7]], 8, seed=0)[0].prompt
    (5, 6)
    """
    rng = np.random.default_rng(seed)
    lengths = rng.integers(-(-3 * new_tokens // 4), new_tokens, len(prompts), endpoint=True)
    arrivals = np.cumsum(rng.integers(0, 3, len(prompts)))
    return [
        Request(tuple(prompt), int(length), int(arrival))
        for prompt, length, arrival in zip(prompts, lengths, arrivals, strict=True)
    ]
