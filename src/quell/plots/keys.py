"""Keys of legends, and where a legend has its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from quell.plots.style import LINE, SMALL_FONT, VERMILLION, add_legend, as_is

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch


def line_key(colour: str, style: Any = "-", *, width: float = LINE) -> Line2D:
    """A piece of line."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, linestyle=style, linewidth=width)


def marker_key(marker: str, colour: str, *, hollow: bool = False, size: float = 4.0) -> Line2D:
    """A marker."""
    from matplotlib.lines import Line2D

    return Line2D(
        [], [], linestyle="none", marker=marker, color=colour, markersize=size,
        markerfacecolor="none" if hollow else colour,
    )  # fmt: skip


def patch_key(colour: str, alpha: float) -> Patch:
    """A patch of colour."""
    from matplotlib.patches import Patch

    return Patch(facecolor=colour, alpha=alpha, linewidth=0)


def note(legend: Any, text: str) -> None:
    """A word of caution over a legend."""
    if legend is not None and text:
        legend.set_title(text, prop={"size": SMALL_FONT, "weight": "bold"})
        as_is(legend.get_title()).set_color(VERMILLION)


def legend_above(
    figure: Any, axes: Sequence[Axes], entries: Sequence[tuple[Artist, str]], caution: str = ""
) -> None:
    """A legend in even rows over all panels where we laid them out; else in the first panel."""
    engine = getattr(figure, "get_layout_engine", lambda: None)()
    if engine is None:
        note(add_legend(axes[0], entries, loc="best"), caution)
        return
    width = figure.get_figwidth() if hasattr(figure, "get_figwidth") else 6.0
    rows = -(-len(entries) // max(1, int(width / 1.1)))
    columns = -(-len(entries) // max(1, rows))
    legend = add_legend(
        figure, entries, loc="outside upper center", ncols=columns, columnspacing=1.2
    )
    note(legend, caution)
