"""A run beside an earlier one. Times of two runs don't compare, not even on one machine; ratios to the floor do.

Unless the floor itself has moved, other than those of most rows have: one of many results, which XLA fills in several
threads, can do so from one process to the next.
"""

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from parity_tests.bench.cases import Row
from parity_tests.bench.plan import Plan, kept
from parity_tests.bench.variants import FLOOR, OURS

Data = dict[str, Any]
Key = tuple[str, ...]

# Less than this is no change, however steady both runs were.
LEAST = 1.15


class Change(NamedTuple):
    """One figure in both runs: its ratio to the floor then and now, and what that is called."""

    name: str
    before: float
    now: float
    verdict: str


def load(path: Path, plan: Plan) -> Data:
    """An earlier run, with which a run of `plan` can have figures in common.

    Raises:
        ValueError: it is no run, or there is nothing to compare.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    schema = json.loads(files("parity_tests.bench").joinpath("report.schema.json").read_text())
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ValueError(f"--compare {path}: cannot be read as JSON: {error}") from error
    if fault := best_match(Draft202012Validator(schema).iter_errors(data)):
        raise ValueError(
            f"--compare {path}: expected what a run of this command wrote with --json: "
            f"{fault.json_path}: {fault.message[:200]}"
        )
    if not any(_is_common(figure, plan) for figure in data["figures"]):
        raise ValueError(f"--compare {path}: it has none of the figures that this run would measure")
    return data


def changes(earlier: Data, later: Data) -> list[Change]:
    """Everything that both have, in the order of the later one."""
    before = {_key(figure): figure for figure in earlier["figures"]}
    pairs = [(before[_key(figure)], figure) for figure in later["figures"] if _key(figure) in before]
    moved = {_key(new)[:-1]: new["median_ns"] / old["median_ns"] for old, new in pairs if new["variant"] == FLOOR}
    usual = median(moved.values()) if moved else 1.0
    alone = {row for row, times in moved.items() if not usual / LEAST <= times <= usual * LEAST}
    both = ((old, new) for old, new in pairs if old["to_floor"] and new["to_floor"])
    return [_change(old, new, _key(new)[:-1] in alone) for old, new in both]


def told(found: list[Change]) -> Iterator[str]:
    """What changed beyond its spread, a line each, and how much was compared."""
    marked = [change for change in found if change.verdict in ("slower", "faster")]
    for change in sorted(marked, key=lambda change: change.before / change.now):
        yield f"{change.verdict}: {change.name}: {change.before:.2f}x the floor before, {change.now:.2f}x now"
    counts = {verdict: sum(change.verdict == verdict for change in found) for verdict in ("slower", "faster", "unsure")}
    yield (
        f"compared with the earlier run: {len(found)} figures as ratios to the floor, {counts['slower']} slower and "
        f"{counts['faster']} faster beyond their spread, {counts['unsure']} too unstable to say"
    )


def _change(old: Data, new: Data, floor_moved: bool) -> Change:
    before, now = old["to_floor"], new["to_floor"]
    verdict = "alike"
    if old["unstable"] or new["unstable"] or floor_moved:
        verdict = "unsure"
    elif now["low"] > before["high"] and now["median"] > LEAST * before["median"]:
        verdict = "slower"
    elif now["high"] < before["low"] and before["median"] > LEAST * now["median"]:
        verdict = "faster"
    return Change(" ".join(_key(new)), before["median"], now["median"], verdict)


def _is_common(figure: Data, plan: Plan) -> bool:
    row = Row(figure["operation"], figure["B"], figure["K"], figure["lengths"])
    names = [name for name in (*OURS, *plan.implementations) if name == figure["variant"] and figure["to_floor"]]
    return row in plan.rows and bool(kept(row, names, plan.texts))


def _key(figure: Data) -> Key:
    return figure["operation"], f"B={figure['B']}", f"K={figure['K']}", figure["lengths"], figure["variant"]
