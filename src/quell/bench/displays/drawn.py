"""What a display is made from and what comes of it: a figure with its caption, or a plain no."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quell.bench.displays.looks import LOOKS, NAMES, TITLES, Metric
from quell.bench.displays.scores import AS_IT_WENT, BOOSTED
from quell.bench.displays.selection import Count, noise_in_words, versions_in_words
from quell.bench.summary import Record
from quell.plots.keys import legend_above, line_key
from quell.plots.style import (
    BLACK,
    FONT,
    GREY,
    LETTER,
    SMALL_FONT,
    Look,
    as_is,
    label,
    tidy,
)
from quell.results import Result

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

#: Inches: the height of a row of panels, and the width a panel needs.
ROW, PANEL = 1.45, 1.6
#: Points: names of axes.
AXIS_FONT = FONT - 1
#: How solid bands are, of so many algorithms in a panel at most, and of more.
BAND_ALPHA, FEW_BANDS, FAINT_ALPHA = 0.2, 4, 0.11
#: A logarithmic axis over a smaller factor has numbers between powers of ten.
SHORT = 30.0


@dataclass(frozen=True, eq=False)
class Material:
    """What figures are made from.

    ``records`` are rows of benchmark runs, ``results`` saved results by name (for Figure 1),
    ``truths`` draws from true posteriors by problem and data (for Figure S5), ``width`` that of
    figures: "column", "full" or inches.
    """

    records: Sequence[Record] = ()
    results: dict[str, Result] = field(default_factory=dict)
    truths: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    width: float | str = "full"


@dataclass(frozen=True, eq=False)
class Drawn:
    """A figure, its caption, how many rows and panels it has, and what is left out of it."""

    figure: Figure | SubFigure
    caption: str
    rows: int
    panels: int
    left_out: tuple[str, ...] = ()


class NotMade(Exception):
    """There is nothing to make a display from; the message says what is missing."""


def finish(figure: Any, axes: Sequence[Axes], algorithms: Sequence[str]) -> None:
    """The legend over all panels: the algorithms that are in them, and the target line."""
    entries: list[tuple[Artist, str]] = [
        (algorithm_key(name), NAMES.get(name, name)) for name in algorithms
    ]
    entries.append((line_key(GREY, "--", width=0.9), "target"))
    legend_above(figure, axes, entries)


def footer(figure: Any, text: str) -> None:
    """A line below all panels."""
    room = int(figure.get_figwidth() * 72 / (LETTER * SMALL_FONT))
    lines = textwrap.fill(text, room)
    as_is(figure.supxlabel(lines, fontsize=SMALL_FONT - 0.5, color=GREY))


def algorithm_key(name: str) -> Artist:
    """The key of an algorithm: its line with its marker."""
    look = LOOKS[name]
    key = line_key(look.colour, look.line)
    key.set_marker(look.marker)
    key.set_markersize(3.5)
    return key


def head(ax: Axes, name: str, record: Record | None, count: Count) -> None:
    """The title of a panel: the problem and its noise, and below how many runs it has."""
    noise = "" if record is None else f", {noise_in_words(record)}"
    simulated = record is not None and record.get("data") == "simulated"
    text = TITLES.get(name, name) + noise + ", simulated data" * simulated
    as_is(ax.set_title(f"{text}\n{count}", fontsize=SMALL_FONT, pad=2, linespacing=1.1))
    if count.mixed:
        ax.title.set_color("#8C2D04")


def target_line(ax: Axes, target: float) -> None:
    """The value to stay below."""
    ax.axhline(target, color=GREY, linestyle="--", linewidth=0.9, zorder=1.0, gid="target")


def look_of(name: str) -> Look:
    """The look of an algorithm; black for one that has none."""
    return LOOKS.get(name, Look(BLACK, "-", "."))


def log_axis(ax: Axes, axis: str = "y") -> None:
    """A logarithmic axis whose numbers are plain: 0.1, 1, 10."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    getattr(ax, f"set_{axis}scale")("log")
    one = ax.yaxis if axis == "y" else ax.xaxis
    one.set_major_locator(LogLocator(numticks=5))
    one.set_major_formatter(FuncFormatter(plain))
    one.set_minor_formatter(NullFormatter())


def plain(value: float, _place: object = None) -> str:
    """A power of ten without exponents where that is short.

    >>> plain(0.01), plain(100.0), plain(1e6)
    ('0.01', '100', '1e6')
    """
    if 1e-3 <= value < 1e4:
        return f"{value:g}"
    return f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-")


def labels(axes: Sequence[Axes], columns: int, x: str) -> None:
    """Small ticks everywhere; the name of the horizontal axis below the last of each column."""
    for place, ax in enumerate(axes):
        tidy(ax)
        label(ax, x if place + columns >= len(axes) else None, None, size=AXIS_FONT)


def how_in_words(ways: dict[str, set[str]]) -> str:
    """How the curves were read, in words; ``ways`` by algorithm.

    >>> print(how_in_words({"quell": {"as the run went"}, "viqr": set()}))
    Curves are scored as the run went. No curve, for want of a trace: VBMC-VIQR.
    """
    text = ""
    for way in (BOOSTED, AS_IT_WENT):
        names = [NAMES.get(name, name) for name, those in ways.items() if way in those]
        everyone = all(way in those for those in ways.values() if those)
        if names:
            text += f"Curves{'' if everyone else ' of ' + ', '.join(names)} are scored {way}. "
    bare = [NAMES.get(name, name) for name, those in ways.items() if not those]
    return (text + f"No curve, for want of a trace: {', '.join(bare)}." * bool(bare)).rstrip()


def provenance(records: Sequence[Record]) -> str:
    """The sentence of a caption that says of which versions the runs are."""
    return f"Versions: {versions_in_words(records)}."


def log_limits(ax: Axes, metric: Metric, values: Sequence[float]) -> None:
    """Limits of a logarithmic axis that show these values and the target, within reason."""
    from matplotlib.ticker import LogLocator

    shown = [value for value in values if 0 < value < float("inf")] + [metric.target]
    low, high = min(shown), max(shown)
    if high / low < SHORT:
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=9))
    ax.set_ylim(max(0.6 * low, metric.target * 1e-3), min(1.7 * high, metric.target * 1e5))
