"""Which rows a run measures: all of them would take hours, most of them in `torch.compile`."""

from collections.abc import Iterable
from typing import NamedTuple

from parity_tests.bench.cases import LENGTHS, STEP, Row
from parity_tests.kit.contract import OPERATIONS

BATCHES, COLUMNS = (1, 8, 64, 256, 1024), (3, 5, 7)
OPERATION_NAMES = (*(name for name, operation in OPERATIONS.items() if not operation.donates), STEP.name)
# The two that the speed aims are about: these are also measured with fewer drafts and with other lengths.
AIMED = ("assemble_input_ids", STEP.name)
AIMED_BATCHES = (64, 256)


class Selection(NamedTuple):
    """The rows of a run, those of them that are also compiled by torch, and in words what is not among them."""

    rows: tuple[Row, ...]
    compiled_by_torch: frozenset[Row]
    left_out: str


def everything() -> Selection:
    """The full cross product."""
    rows = tuple(
        Row(name, batch, columns, lengths)
        for name in OPERATION_NAMES
        for batch in BATCHES
        for columns in COLUMNS
        for lengths in LENGTHS
    )
    return Selection(rows, frozenset(rows), "")


def usual() -> Selection:
    """Every operation at every batch size with the most drafts and drawn lengths, and more of those with an aim."""
    rows = tuple(row for row in everything().rows if _is_usual(row))
    told = (
        f"K below {max(COLUMNS)} but in {' and '.join(AIMED)}, other lengths than drawn ones but in these at B = "
        f"{AIMED_BATCHES[0]}, torch-compiled but in these at B = {' and '.join(map(str, AIMED_BATCHES))}: use --all"
    )
    return Selection(rows, _with_an_aim(), told)


def quick(named: Iterable[str] = ()) -> Selection:
    """The operations of the speed aims, and once each the parts of the step or those that were named."""
    names = sorted(set(named) - set(AIMED)) or ("prepare_step", "commit_step", "store_drafts")
    rows = (*sorted(_with_an_aim()), *(Row(name, AIMED_BATCHES[0], max(COLUMNS), "drawn") for name in names))
    return Selection(rows, frozenset(), "all but these rows, and torch-compiled: no --quick")


def _is_usual(row: Row) -> bool:
    most, aimed = row.columns == max(COLUMNS), row.operation in AIMED
    return (aimed or most) if row.lengths == "drawn" else (aimed and most and row.batch == AIMED_BATCHES[0])


def _with_an_aim() -> frozenset[Row]:
    return frozenset(Row(name, batch, max(COLUMNS), "drawn") for name in AIMED for batch in AIMED_BATCHES)
