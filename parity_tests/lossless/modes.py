"""How many tokens each decoding row forwards: one, all K + 1, or as many as its confidence is worth."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from parity_tests.lossless.model import Sizes


class Asked(NamedTuple):
    """What the lengths of a step are made from, on the device."""

    scheduled_lens: Any
    """int32 `[B]`, what the host allows each row: K + 1, less where fewer tokens are wanted, 0 for no row."""
    live: Any
    """bool `[B]`, whether the row decodes."""
    confidence: Any
    """float32 `[B, K]`, the drafter's own, 0 where the row does not decode."""
    sps_table: Any
    """float32 `[N]`, steps a second by tokens in the batch."""
    num_accepted_max: Any
    """int32 `[]`, the most drafts that a row accepted in the last step."""
    sizes: Sizes


class Mode(NamedTuple):
    """A way to run."""

    name: str
    query_lens: Callable[[Any, Any, Asked], Any]
    """`(package, xp, asked) -> query_lens[B]`, of which the rows that decode count."""


def _plain(_package: Any, xp: Any, asked: Asked) -> Any:
    return xp.clip(asked.scheduled_lens, 0, 1)


def _rectangular(_package: Any, xp: Any, asked: Asked) -> Any:
    return xp.where(asked.live, xp.zeros_like(asked.scheduled_lens) + (asked.sizes.drafts + 1), 0)


def _ragged(package: Any, xp: Any, asked: Asked) -> Any:
    return _scheduled(package, xp, asked, xp.zeros_like(asked.num_accepted_max))


def _floored(package: Any, xp: Any, asked: Asked) -> Any:
    return _scheduled(package, xp, asked, asked.num_accepted_max)


def _scheduled(package: Any, xp: Any, asked: Asked, num_accepted_max: Any) -> Any:
    verify_lens = package.schedule_verify_lens(asked.confidence, asked.sps_table, asked.live)
    bounded = package.bound_query_lens(
        verify_lens, num_accepted_max, asked.scheduled_lens, num_speculative_tokens=asked.sizes.drafts
    )
    return xp.where(bounded.representable, bounded.query_lens, asked.scheduled_lens)


PLAIN = Mode("plain", _plain)
RECTANGULAR = Mode("rectangular", _rectangular)
RAGGED = Mode("ragged", _ragged)
FLOORED = Mode("floored", _floored)
"""Ragged, but no row shorter than what the last step's best row accepted, and its anchor."""


def throughput(sizes: Sizes) -> np.ndarray:
    """Steps a second with 0, 1, ... tokens, of an engine that takes as long for a step as for 16 of its tokens."""
    return (1000 / (16 + np.arange(sizes.capacity + 1))).astype(np.float32)
