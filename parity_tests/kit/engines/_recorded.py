"""A recorded step, and what an engine would hold of it in arrays of its own."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from parity_tests.kit.traces import Run, Step, load, replay


class Found(NamedTuple):
    """One array that an adapter gave under a name of theirs, and what it is by the recording, dtype included."""

    name: str
    expected: np.ndarray
    got: Any


class Recorded(NamedTuple):
    """One step of a run."""

    run: Run
    step: Step
    decodes: np.ndarray
    """Rows that continue what the device knows; the others are in their prompt, or empty."""
    of_decodes: np.ndarray
    """Flat places whose row is one of those."""
    emits: np.ndarray
    """Rows that have read their prompt to its end, and so emit what was sampled."""
    lens_after: np.ndarray
    """Tokens of each sequence with those of this step, 0 for an empty row."""
    num_rejected: np.ndarray
    """Drafts of each row that were not accepted."""
    positions: np.ndarray
    """Position of every token, 0 in the tail."""
    logits: list[int]
    """Flat places of the tokens whose logits are needed, row by row."""
    rejected_before: np.ndarray
    """Drafts that the last step of each slot rejected."""


def recorded_steps() -> Iterator[Recorded]:
    """Every step of every recorded run, in order."""
    for run in load():
        before = np.zeros(run.num_slots, np.int32)
        for step in replay(run):
            recorded = _recorded(run, step, before)
            yield recorded
            before = before.copy()
            before[step.slots[step.slots >= 0]] = recorded.num_rejected[step.slots >= 0]


def padded(values: np.ndarray, size: int) -> np.ndarray:
    """The values as int32, 0 behind them."""
    return np.pad(values, (0, size - values.size)).astype(np.int32)


def packed_decodes(recorded: Recorded, flat: np.ndarray) -> np.ndarray:
    """What stands at the places of decode rows in a flat array, packed to the front."""
    return padded(flat[: recorded.of_decodes.size][recorded.of_decodes], flat.size)


def in_rows(recorded: Recorded) -> np.ndarray:
    """What the target sampled, row by row as `[B, K+1]`, from each row's first draft on."""
    grid = np.zeros((recorded.run.rows, recorded.run.k + 1), np.int32)
    counts = np.where(recorded.step.query_lens > 0, recorded.step.num_draft_tokens + 1, 0)
    grid[np.arange(recorded.run.k + 1) < counts[:, None]] = recorded.step.sampled_token_ids[: counts.sum()]
    return grid


def _recorded(run: Run, step: Step, before: np.ndarray) -> Recorded:
    decodes = step.source_rows >= 0
    spans = [np.arange(a, a + n) for a, n in zip(step.num_computed_tokens, step.query_lens, strict=True)]
    ends = zip(pairwise(step.cu_seqlens_q.tolist()), step.num_draft_tokens.tolist(), strict=True)
    emitted = run.steps[step.number]["emitted"]
    return Recorded(
        run,
        step,
        decodes,
        np.repeat(decodes, step.query_lens),
        np.array([bool(tokens) for tokens in emitted] + [False] * (run.rows - len(emitted))),
        np.where(step.query_lens > 0, step.num_computed_tokens + step.query_lens, 0).astype(np.int32),
        step.num_draft_tokens - step.num_accepted,
        padded(np.concatenate(spans), run.capacity),
        [place for (start, end), drafts in ends if end > start for place in range(end - drafts - 1, end)],
        before,
    )
