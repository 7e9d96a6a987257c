"""What runs of a model say to a reader."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from parity_tests.lossless.report_data import Found, Outcome, Report, closing_line, padding_saved, plain_forwards

SHOWN = 2
"""Requests whose text is shown."""


def print_report(console: Console, report: Report) -> None:
    """Some text, the runs, the acceptance, what differs, and the closing line."""
    for prompt, text in report.found.texts[:SHOWN]:
        console.print(Text.assemble((" ".join(prompt.split()), "bold"), " ", " ".join(text.split())))
    console.print(_runs(report.found))
    console.print(_acceptance(report.found))
    for outcome in report.found.outcomes:
        for told in outcome.differences:
            where = f"{outcome.framework}, {outcome.mode}, K = {outcome.drafts}"
            console.print(f"{where}: {told}", markup=False, soft_wrap=True)
    console.print(closing_line(report), soft_wrap=True)


def _runs(found: Found) -> Table:
    """A row for each mode, its counts those of the first framework; a column for each framework."""
    table = Table(caption="the last columns: requests / those whose tokens or verdicts differ")
    frameworks = list(dict.fromkeys(outcome.framework for outcome in found.outcomes))
    table.add_column("K", justify="right")
    table.add_column("mode", no_wrap=True)
    for title in ("forwards", "saved", "tokens a\nforward", "accepted\nof verified", "padding\nsaved"):
        table.add_column(title, justify="right")
    for name in frameworks:
        table.add_column(name.replace("-", "-\n"), justify="right", no_wrap=True)
    rows: dict[tuple[int, str], dict[str, Outcome]] = {}
    for outcome in found.outcomes:
        rows.setdefault((outcome.drafts, outcome.mode), {})[outcome.framework] = outcome
    for (drafts, mode), outcomes in rows.items():
        first = next(iter(outcomes.values()))
        table.add_row(str(drafts), mode, *_counts(found, first), *(_cell(outcomes.get(name)) for name in frameworks))
    return table


def _counts(found: Found, outcome: Outcome) -> tuple[str, ...]:
    counts, plain = outcome.counts, plain_forwards(found, outcome)
    return (
        f"{counts.forwards:,}",
        f"{1 - counts.forwards / plain:.0%}" if plain else "-",
        f"{counts.emitted / max(counts.forwards, 1):.1f}",
        _share(counts.accepted, counts.verified),
        f"{padding_saved(outcome):,}",
    )


def _cell(outcome: Outcome | None) -> str:
    if outcome is None:
        return "-"
    text = f"{outcome.requests} / {len(outcome.differences)}"
    return f"[bold red]{text}[/]" if outcome.differences else text


def _acceptance(found: Found) -> Table:
    """A row for each K of the first framework: drafts accepted of those verified, by position."""
    table = Table(caption="accepted of verified drafts by position; where both verified, and how many verdicts differ")
    shown = {each.drafts: each for each in reversed(found.acceptances)}
    table.add_column("K", justify="right")
    table.add_column("draft", justify="right")
    for title in ("rectangular", "ragged", "both", "differ"):
        table.add_column(title, justify="right")
    for drafts in sorted(shown):
        each = shown[drafts]
        for number, columns in enumerate(zip(each.rectangular, each.ragged, each.both, strict=True)):
            differing = sum(other.both[number].differing for other in found.acceptances if other.drafts == drafts)
            shares = (_share(column.accepted, column.verified) for column in columns)
            table.add_row(str(drafts), str(number), *shares, str(differing))
    return table


def _share(accepted: int, verified: int) -> str:
    return f"{accepted:,} of {verified:,}"
