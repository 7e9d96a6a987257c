"""The picture: host and device before and after on one time axis, with what blocks the host in a colour of its own."""

from pathlib import Path
from typing import Any

from parity_tests.bench.overlap.device import FORWARD
from parity_tests.bench.overlap.host import ASSEMBLE, DISPATCH, PACE, READ, SCHEDULE, Span
from parity_tests.bench.overlap.measure import Lanes
from parity_tests.bench.overlap.traces import LANES

TITLES = {"before": "before: the step is built on the host", "after": "after: the step is built on the device"}
# Colours that stay apart for the colour-blind and in grey.
COLOURS = {
    READ: "#d55e00",
    SCHEDULE: "#56b4e9",
    ASSEMBLE: "#cc79a7",
    DISPATCH: "#4d4d4d",
    PACE: "#e3e3e3",
    FORWARD: "#009e73",
}
REST, REST_COLOUR = "the step's other programs", "#a6dcc9"
LABELS = {
    READ: "host blocked in a read",
    SCHEDULE: "host schedules",
    ASSEMBLE: "host assembles",
    DISPATCH: "host dispatches",
    PACE: "host is two steps ahead and rests",
    FORWARD: "device: forward",
    REST: f"device: {REST}",
}
HEIGHT = 0.8


def draw(path: Path, drawn: list[Lanes], caption: str) -> None:
    """Write the picture as SVG, its text as text."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "overlap", "font.size": 9, "font.family": "sans-serif"}):
        figure = Figure(figsize=(9.6, 3.9), layout="constrained")
        axes = figure.subplots(len(drawn), 1, sharex=True)
        for axis, lanes in zip(axes, drawn, strict=True):
            _draw_way(axis, lanes)
        axes[-1].set_xlabel(caption)
        axes[-1].set_xlim(0, 1e3 * max(lanes.seconds for lanes in drawn))
        figure.legend(handles=_legend(), loc="outside lower center", ncols=4, frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None})


def _draw_way(axis: Any, lanes: Lanes) -> None:
    axis.set_title(f"{TITLES[lanes.way]}   ({1e3 * lanes.seconds:.0f} ms)", loc="left", fontsize=10)
    for height, lane in enumerate(reversed(LANES)):
        spans: list[Span] = getattr(lanes, lane)
        for name, colour in [*COLOURS.items(), (REST, REST_COLOUR)]:
            bars = [_bar(span) for span in spans if _kind(span, lane) == name]
            if bars:
                bar = axis.broken_barh(bars, (height - HEIGHT / 2, HEIGHT), facecolors=colour, linewidth=0)
                bar.set_gid(f"{lanes.way} {lane} {name}".replace(" ", "-"))
    for number, span in enumerate((span for span in lanes.device if span.name == FORWARD), 1):
        middle = 1e3 * (span.start + span.end) / 2
        axis.text(middle, 0, number, ha="center", va="center", color="white", fontsize=8)
    axis.set_yticks(range(len(LANES)), reversed(LANES))
    axis.tick_params(axis="y", length=0)
    axis.spines[["top", "right", "left"]].set_visible(False)


def _kind(span: Span, lane: str) -> str:
    return span.name if lane == "host" or span.name == FORWARD else REST


def _bar(span: Span) -> tuple[float, float]:
    return 1e3 * span.start, 1e3 * (span.end - span.start)


def _legend() -> list[Any]:
    from matplotlib.patches import Patch

    colours = COLOURS | {REST: REST_COLOUR}
    return [Patch(facecolor=colours[name], label=label) for name, label in LABELS.items()]
