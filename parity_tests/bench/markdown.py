"""A run as a table of Markdown, an operation a line; made from its data."""

from collections.abc import Iterator
from typing import Any

from parity_tests.bench.results import STEADY
from parity_tests.bench.tables import aim_lines, circumstances
from parity_tests.bench.variants import FLOOR, NUMPY, in_order_of_tables

Data = dict[str, Any]

# A line has the batch sizes side by side, as many as can be read; where none of these was measured, the largest.
BATCHES = (8, 64, 256)


def as_markdown(data: Data) -> str:
    """The table at the most drafts and drawn lengths (if there are any), what it means, the aims and the machine."""
    return "\n".join([*_table(data), "", *_legend(data), "", *(f"- {line}" for line in _lines(data)), ""])


def _table(data: Data) -> Iterator[str]:
    known = dict.fromkeys(figure["lengths"] for figure in data["figures"])
    lengths = "drawn" if "drawn" in known else next(iter(known))
    alike = [figure for figure in data["figures"] if figure["lengths"] == lengths]
    columns = max(figure["K"] for figure in alike)
    chosen = [figure for figure in alike if figure["K"] == columns]
    present = sorted({figure["B"] for figure in chosen})
    batches = BATCHES if set(BATCHES) & set(present) else present[-len(BATCHES) :]
    figures = {(figure["operation"], figure["variant"], figure["B"]): figure for figure in chosen}
    variants = in_order_of_tables(figure["variant"] for figure in chosen)
    sizes, titles = " / ".join(map(str, batches)), " | ".join(f"`{name}`" for name in variants)
    yield f"| µs at B = {sizes}, K = {columns}{'' if lengths == 'drawn' else f', {lengths}'} | {titles} |"
    yield f"|---|{'--:|' * len(variants)}"
    for operation in dict.fromkeys(figure["operation"] for figure in chosen):
        cells = [[figures.get((operation, variant, batch)) for batch in batches] for variant in variants]
        yield f"| `{operation}` | {' | '.join(' / '.join(map(_cell, cell)) if any(cell) else '-' for cell in cells)} |"


def _cell(figure: Data | None) -> str:
    if figure is None:
        return "-"
    median, mark = figure["median_ns"] / 1e3, "~" if figure["unstable"] else ""
    return mark + (f"{median:,.0f}" if median >= 9.95 else f"{median:.1f}")


def _legend(data: Data) -> Iterator[str]:
    yield (
        "Median microseconds from the call in Python until the result is there, arguments in place. "
        f"`{FLOOR}` is a jitted call with the same arguments that gives zeros of the same shapes, `{NUMPY}` a "
        f"vectorised host form on host arrays; `~` scatters by more than {STEADY:.0%}."
    )
    faster = dict.fromkeys(row["operation"] for row in data["numpy_is_faster"])
    if faster:
        yield f"NumPy on the host is faster, at one size at least, in {', '.join(f'`{name}`' for name in faster)}."


def _lines(data: Data) -> Iterator[str]:
    yield from aim_lines(data)
    yield from circumstances(data)
