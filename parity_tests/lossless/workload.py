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
    preempted_at: int = -1
    """Emitted tokens with which it loses its slot and its blocks, once, to the others; -1 for never."""


def requests_from(prompts: Sequence[Sequence[int]], new_tokens: int, seed: int) -> list[Request]:
    """A request for each prompt, of three quarters to all of `new_tokens`; they arrive a few at a time.

    >>> requests_from([[5, 6], [7]], 8, seed=0)[0].prompt
    (5, 6)
    """
    rng = np.random.default_rng(seed)
    lengths = rng.integers(-(-3 * new_tokens // 4), new_tokens, len(prompts), endpoint=True)
    arrivals = np.cumsum(rng.integers(0, 3, len(prompts)))
    # By tokens, not by steps: so all modes have the same work.
    preempted = np.where(rng.random(len(prompts)) < 0.4, rng.integers(0, lengths), -1)
    return [
        Request(tuple(prompt), *map(int, numbers))
        for prompt, *numbers in zip(prompts, lengths, arrivals, preempted, strict=True)
    ]
