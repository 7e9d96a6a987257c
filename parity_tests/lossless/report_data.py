"""What runs of a model came to, as data."""

from typing import Any, NamedTuple

from parity_tests.lossless.record import Column, Counts, Run, in_both

SCHEMA = 1


class Outcome(NamedTuple):
    """One run of one framework in one mode."""

    drafts: int
    mode: str
    framework: str
    counts: Counts
    requests: int
    differences: list[str]
    """Of each request that differs, what."""


class Acceptance(NamedTuple):
    """Ragged on and off, a column for each draft position."""

    drafts: int
    framework: str
    rectangular: list[Column]
    """All that the rectangular run verified."""
    ragged: list[Column]
    """All that the ragged run verified."""
    both: list[Column]
    """Where both did."""


class Found(NamedTuple):
    """All runs."""

    outcomes: list[Outcome]
    acceptances: list[Acceptance]
    texts: list[tuple[str, str]]
    """Of each request its prompt, and what plain decoding made of it."""


class Report(NamedTuple):
    """What was run, and what came of it."""

    model: str
    seed: int
    found: Found
    left_out: dict[str, str]
    """Frameworks that are not installed, by what would have run in them."""
    seconds: float


def acceptance(framework: str, drafts: int, rectangular: Run, ragged: Run) -> Acceptance:
    """Ragged on and off in one framework."""
    pairs = (rectangular, rectangular), (ragged, ragged), (rectangular, ragged)
    return Acceptance(drafts, framework, *(in_both(one, other, drafts) for one, other in pairs))


def is_identical(found: Found) -> bool:
    """Whether every run emitted the same tokens, and no verdict depends on the mode."""
    columns = [column for each in found.acceptances for column in each.both]
    return not any(outcome.differences for outcome in found.outcomes) and not any(c.differing for c in columns)


def plain_forwards(found: Found, outcome: Outcome) -> int | None:
    """Forwards that plain decoding took beside a run, if it ran."""
    beside = ((o.counts.forwards, o.drafts, o.framework) for o in found.outcomes if o.mode == "plain")
    return next((count for count, *key in beside if key == [outcome.drafts, outcome.framework]), None)


def padding_saved(outcome: Outcome) -> int:
    """Tokens that the rows which decoded would have had beyond their own, had all been K + 1 long."""
    return outcome.counts.decoding * (outcome.drafts + 1) - outcome.counts.decoded


def closing_line(report: Report) -> str:
    """The result in one line."""
    found = report.found
    differing = sum(len(outcome.differences) for outcome in found.outcomes)
    tokens = sum(outcome.counts.emitted for outcome in found.outcomes)
    both = [column for each in found.acceptances for column in each.both]
    verdicts, moved = sum(column.verified for column in both), sum(column.differing for column in both)
    return (
        f"{'identical' if is_identical(found) else 'different'}: "
        f"{len(found.outcomes)} runs of {len(found.texts)} requests, {tokens:,} tokens, {differing} requests differ; "
        f"{verdicts:,} drafts verified with ragged on and off, {moved} verdicts differ; {report.seconds:.0f} s"
    )


def as_data(report: Report) -> dict[str, Any]:
    """The report as JSON has it."""
    found = report.found
    return {
        "schema": SCHEMA,
        "model": report.model,
        "result": closing_line(report),
        "identical": is_identical(found),
        "seconds": round(report.seconds, 1),
        "seed": report.seed,
        "left_out": report.left_out,
        "runs": [_run(found, outcome) for outcome in found.outcomes],
        "acceptance": [_acceptance(each) for each in found.acceptances],
        "requests": [{"prompt": prompt, "text": text} for prompt, text in found.texts],
    }


def _run(found: Found, outcome: Outcome) -> dict[str, Any]:
    told = {
        "num_speculative_tokens": outcome.drafts,
        "mode": outcome.mode,
        "framework": outcome.framework,
        "requests": outcome.requests,
        "differences": outcome.differences,
    }
    counted = {"plain_forwards": plain_forwards(found, outcome), "padding_saved": padding_saved(outcome)}
    return told | outcome.counts._asdict() | counted


def _acceptance(each: Acceptance) -> dict[str, Any]:
    columns = {"rectangular": each.rectangular, "ragged": each.ragged, "both": each.both}
    told = {name: [column._asdict() for column in some] for name, some in columns.items()}
    return {"num_speculative_tokens": each.drafts, "framework": each.framework} | told
