"""The launches that each program may cost: a table in the repository, and what a measurement says against it."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from parity_tests.amd.compilation import Outcome, Program
from parity_tests.amd.counts import Counts

TABLE = Path(__file__).with_name("budgets.json")
# Nothing else has a place in a hot path, whatever the table says.
BUDGETED = ("kernels", "copies", "memsets")

Budgets = dict[Program, Counts]


class Finding(NamedTuple):
    """A program that is not what the table says, and what to do about it; `spare` if the table only asks too little."""

    program: Program
    text: str
    spare: bool = False


def load(text: str) -> Budgets:
    """The table from its JSON: operation, shape, target, then the counts that are not 0."""
    return {
        Program(operation, target, shape): Counts(**counts)
        for operation, shapes in json.loads(text).items()
        for shape, targets in shapes.items()
        for target, counts in targets.items()
    }


def dump(budgets: Budgets) -> str:
    """The table as JSON, a line for each operation and shape."""
    tree: dict[str, dict[str, dict[str, dict[str, int]]]] = {}
    for program, counts in budgets.items():
        shapes = tree.setdefault(program.operation, {})
        shapes.setdefault(program.shape, {})[program.target] = nonzero(counts)
    operations = (
        f" {json.dumps(operation)}: {{\n"
        + ",\n".join(f"  {json.dumps(shape)}: {json.dumps(targets)}" for shape, targets in shapes.items())
        + "\n }"
        for operation, shapes in tree.items()
    )
    return "{\n" + ",\n".join(operations) + "\n}\n"


def judge(outcomes: Iterable[Outcome], budgets: Budgets) -> list[Finding]:
    """What the outcomes say against the table, the programs in order."""
    return [finding for outcome in outcomes if (finding := _judged(outcome, budgets.get(outcome.program)))]


def tightened(outcomes: Iterable[Outcome], budgets: Budgets) -> Budgets:
    """The table with every measured count that is lower, and with every program that it lacked; never a higher one."""
    new = dict(budgets)
    for program, counts, *_ in outcomes:
        if counts is not None:
            budget = budgets.get(program, counts)
            new[program] = Counts(**{name: min(getattr(counts, name), getattr(budget, name)) for name in BUDGETED})
    return new


def nonzero(counts: Counts) -> dict[str, int]:
    """The counts that are not 0, by name."""
    return {name: value for name, value in counts._asdict().items() if value}


def _judged(outcome: Outcome, budget: Counts | None) -> Finding | None:
    program, counts = outcome.program, outcome.counts
    if counts is None:
        return Finding(program, f"not compiled: {outcome.error}")
    if budget is None:
        return Finding(program, f"{_said(counts)}, and no budget: add one with --tighten")
    over = [name for name in counts._fields if getattr(counts, name) > getattr(budget, name)]
    if over:
        return Finding(program, f"{_said(counts)}, the budget is {_said(budget)}")
    if counts != budget:
        return Finding(program, f"{_said(counts)}, less than the budget, {_said(budget)}: use --tighten", spare=True)
    return None


def _said(counts: Counts) -> str:
    return ", ".join(f"{name} {value}" for name, value in nonzero(counts).items()) or "nothing"
