"""What a run came to: the tokens of every request, what the target said of every draft, and how much was forwarded."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from parity_tests.lossless.loop import Step
from parity_tests.lossless.workload import Request

Place = tuple[int, int, int]


class Verdict(NamedTuple):
    """What the target said of a draft."""

    draft: int
    accepted: bool
    """It and all drafts in front of it, in the same forward."""


class Counts(NamedTuple):
    """How much a run did."""

    forwards: int = 0
    emitted: int = 0
    """Tokens that the requests gained."""
    forwarded: int = 0
    """Real tokens in the flat buffers, prompts included."""
    decoding: int = 0
    """Rows that decoded, over all steps."""
    decoded: int = 0
    """Their tokens."""
    verified: int = 0
    """Drafts that the target judged."""
    accepted: int = 0
    """Of those, drafts that it accepted."""


class Run(NamedTuple):
    """The outcome of a run."""

    tokens: tuple[tuple[int, ...], ...]
    """What each request emitted."""
    verdicts: dict[Place, Verdict]
    """By request, number of the emitted token that the drafts follow, and draft: wherever one was verified."""
    counts: Counts


def collect(steps: Iterable[Step], requests: Sequence[Request]) -> Run:
    """The outcome of the steps of one run."""
    tokens: dict[int, list[int]] = defaultdict(list)
    verdicts: dict[Place, Verdict] = {}
    counts = Counts()
    for step in steps:
        for row in np.flatnonzero(step.request >= 0):
            tokens[int(step.request[row])] += step.emitted[row]
        verdicts |= dict(_verdicts(step))
        counts = Counts(*(before + now for before, now in zip(counts, _counts(step), strict=True)))
    return Run(tuple(tuple(tokens[number]) for number in range(len(requests))), verdicts, counts)


def _verdicts(step: Step) -> Iterable[tuple[Place, Verdict]]:
    """Of every row that decodes, its drafts as they stood in the flat buffer."""
    ends = np.cumsum(step.seen.query_lens)
    for row in np.flatnonzero(_decodes(step)):
        first = int(ends[row] - step.seen.query_lens[row]) + 1
        for draft in range(int(step.seen.num_draft_tokens[row])):
            place = int(step.request[row]), int(step.generated[row]) - 1, draft
            token, accepted = step.seen.input_ids[first + draft], draft < step.seen.num_accepted[row]
            yield place, Verdict(int(token), bool(accepted))


def _decodes(step: Step) -> np.ndarray:
    return (step.staged.source_rows >= 0) & (step.seen.query_lens > 0)


def _counts(step: Step) -> Counts:
    decoding, seen = _decodes(step), step.seen
    return Counts(
        1,
        sum(map(len, step.emitted)),
        int(seen.query_lens.sum()),
        int(decoding.sum()),
        int(seen.query_lens[decoding].sum()),
        int(seen.num_draft_tokens.sum()),
        int(seen.num_accepted[decoding].sum()),
    )


class Column(NamedTuple):
    """One draft position of two runs, over the places where both verified it."""

    verified: int
    accepted: int
    differing: int
    """Places where the drafts or the verdicts are not the same."""


def in_both(one: Run, other: Run, drafts: int) -> list[Column]:
    """For each draft position, the verdicts of two runs at the same token of the same request.

    A draft depends on the tokens up to its anchor alone, so where both runs verified one, both must have had the same
    draft and the same verdict; a run that verifies fewer has other anchors as well, and those places are not compared.
    """
    shared = one.verdicts.keys() & other.verdicts.keys()
    return [_column(one, other, [place for place in shared if place[2] == draft]) for draft in range(drafts)]


def _column(one: Run, other: Run, places: Sequence[Place]) -> Column:
    accepted = sum(one.verdicts[place].accepted for place in places)
    return Column(len(places), accepted, sum(one.verdicts[place] != other.verdicts[place] for place in places))
