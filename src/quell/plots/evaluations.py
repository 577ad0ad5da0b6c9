"""Where the target was evaluated, what came back, and why each point was chosen."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from quell.arrays import BoolArray, FloatArray
from quell.evaluations import Evaluations, Origin
from quell.plots.keys import marker_key
from quell.plots.ranges import Range, range_of
from quell.plots.sources import Parameters, chosen_parameters
from quell.plots.style import (
    BLACK,
    COLOUR_MAP,
    FONT,
    GREY,
    SMALL_FONT,
    VERMILLION,
    add_legend,
    as_is,
    few_ticks,
    inches,
    label,
    new_figure,
    short,
    tidy,
)
from quell.results import Posterior, Result
from quell.space import InferenceSpace
from quell.vbmc.low_values import resolved_depth

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

#: The marker of each origin, and the word for it.
MARKERS: dict[str, tuple[str, str]] = {
    Origin.START: ("*", "start"),
    Origin.DESIGN: ("s", "design"),
    Origin.SEARCH: ("o", "search"),
    Origin.LOOK: ("^", "look around"),
    Origin.AGAIN: ("X", "again"),
    Origin.CHECK: ("P", "repeated"),
    Origin.USER: ("D", "told"),
    Origin.GIVEN: ("v", "given"),
}
#: Inches around the panels; on the right is the scale of colours.
LEFT, BOTTOM, RIGHT, TOP, GAP = 0.55, 0.46, 0.62, 0.3, 0.1
#: More parameters than these are warned about.
MOST = 12
#: Inches: smaller panels have smaller markers and fewer ticks.
SMALL = 0.9


def plot_evaluations(
    result: Result | Evaluations,
    parameters: Parameters = None,
    *,
    depth: float | None = None,
    zoom: bool = False,
    figure: Figure | SubFigure | None = None,
    width: float | str = "full",
) -> Figure | SubFigure:
    """Draw the points that were evaluated, two parameters at a time, coloured by the log joint.

    The shape of a marker says why the point was chosen; crosses are evaluations that failed. With
    one parameter the log joint is drawn over it, with error bars.

    Parameters
    ----------
    result
        A result, or a table of evaluations.
    parameters
        Names or indices of those to show; by default all that are not fixed.
    depth
        Values so far below the best, in nats, have the darkest colour; by default as far as
        differences matter for a posterior of this dimension.
    zoom
        Show only the range of the posterior (of a result), not all evaluations.
    figure
        A figure, or a part of one, to draw in; a new one by default.
    width
        Width of a new figure: "column" (3.3 in), "full" (6.9 in), or inches.

    Returns
    -------
    The figure. Its axes are the panels row by row, then the scale of colours.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> table = Evaluations.from_arrays(
    ...     [[0.0, 1.0], [1.0, 2.0], [2.0, 1.0]], [-1.0, -2.0, -np.inf], 0.5, names=["a", "b"]
    ... )
    >>> figure = plot_evaluations(table)
    >>> figure.axes[0].get_xlabel(), len(figure.axes)
    ('a', 2)
    >>> plt.close(figure)
    """
    table, chosen = _table_and_parameters(result, parameters)
    posterior = result.posterior if isinstance(result, Result) else None
    if zoom and posterior is None:
        raise TypeError("zoom=True needs a quell.Result: a table alone has no posterior")
    places = [_place(table, posterior, i) for i in chosen]
    limits_of = [_limits(posterior, table, table.names[i], zoom=zoom) for i in chosen]
    known = table.log_joint if np.isfinite(table.log_joint).any() else table.value
    what = "log joint" if known is table.log_joint else "log-likelihood"
    ok = table.ok & np.isfinite(known)
    best = float(np.max(known[ok])) if ok.any() else 0.0
    depth = resolved_depth(len(chosen)) if depth is None else float(depth)
    if not depth > 0:
        raise ValueError(f"depth must be a positive number of nats, got {depth}")
    n = max(1, len(chosen) - 1)
    if parameters is None and len(chosen) > MOST:
        warnings.warn(
            f"{len(chosen)} parameters two by two are hard to read: choose some with parameters=",
            UserWarning,
            stacklevel=2,
        )
    where, grid, panel = _layout(figure, n, inches(width))
    if len(chosen) == 1:
        ax = where.add_subplot(grid[0, 0])
        tidy(ax)
        _over_one(ax, table, chosen[0], known, ok)
        label(ax, short(table.names[chosen[0]], panel), what)
        few_ticks(ax.xaxis, 5)
        entries = _entries(table)
        add_legend(ax, entries, loc="best")
        return where
    lowest = float(np.min(known[ok])) if ok.any() else best - depth
    limits = (max(best - depth, min(lowest, best - 1e-9)), best)
    mappable: Any = None
    for row in range(n):
        for column in range(row + 1):
            ax = where.add_subplot(grid[row, column])
            tidy(ax)
            x, y = places[column], places[row + 1]
            found = _scatter(ax, table, x, y, known, ok, limits, small=panel < SMALL)
            mappable = mappable or found
            few_ticks(ax.xaxis, 4 if panel > SMALL else 2)
            few_ticks(ax.yaxis, 4 if panel > SMALL else 2)
            for shown, put in ((limits_of[column], Range.on_x), (limits_of[row + 1], Range.on_y)):
                if shown is not None:
                    put(shown, ax, 4 if panel > SMALL else 2)
            if panel < SMALL:
                ax.tick_params(axis="x", labelrotation=45)
            size = FONT if panel > SMALL else SMALL_FONT
            if row == n - 1:
                label(ax, short(table.names[chosen[column]], max(panel, 0.4), size), size=size)
            else:
                ax.tick_params(axis="x", labelbottom=False)
                ax.xaxis.get_offset_text().set_visible(False)
            if column == 0:
                label(ax, y=short(table.names[chosen[row + 1]], max(panel, 0.4), size), size=size)
            else:
                ax.tick_params(axis="y", labelleft=False)
                ax.yaxis.get_offset_text().set_visible(False)
    if mappable is not None:
        _scale(where, mappable, what, cut=lowest < limits[0])
    entries = _entries(table)
    if n == 1:
        add_legend(where, entries, loc="upper center", ncols=len(entries), columnspacing=0.8)
    else:
        add_legend(where, entries, loc="upper right", bbox_to_anchor=(0.88, 1.0))
    return where


def _place(table: Evaluations, posterior: Posterior | None, i: int) -> FloatArray:
    """Where the values (N,) of a parameter are drawn: on a circle around the plausible box."""
    values = table.theta[:, i]
    if posterior is None or not posterior.space.bounds.periodic[i]:
        return values
    return range_of([posterior], table.names[i]).place(values)


def _limits(
    posterior: Posterior | None, table: Evaluations, name: str, *, zoom: bool
) -> Range | None:
    """The range to show; None for wherever the points are."""
    if posterior is None:
        return None
    shown = range_of([posterior], name)
    if zoom:
        return shown
    if shown.period:  # all around, so that no point is left out
        middle = 0.5 * shown.low + 0.5 * shown.high
        half = 0.5 * shown.period
        return replace(shown, low=middle - half, high=middle + half)
    if shown.log:  # so that not all points are in one corner
        values = table.theta[:, table.names.index(name)]
        return replace(shown, low=0.8 * float(values.min()), high=1.25 * float(values.max()))
    return None


def _table_and_parameters(
    result: Result | Evaluations, parameters: Parameters
) -> tuple[Evaluations, list[int]]:
    if isinstance(result, Result):
        return result.evaluations, chosen_parameters(result.posterior.space, parameters)
    if not isinstance(result, Evaluations):
        raise TypeError(
            f"result must be a quell.Result or quell.Evaluations, got {type(result).__name__}"
        )
    if len(result) == 0:
        raise ValueError("the table has no evaluations to plot")
    # Without a problem a column that never changes is a fixed parameter.
    low, high = result.theta.min(axis=0), result.theta.max(axis=0)
    fixed = (low == high) & (len(result) > 1)
    box = (np.where(fixed, low, low - 1.0), np.where(fixed, low, high + 1.0))
    inner = (np.where(fixed, low, low - 0.5), np.where(fixed, low, high + 0.5))
    space = InferenceSpace.from_bounds(*box, *inner, names=result.names)
    return result, chosen_parameters(space, parameters)


def _layout(figure: Any, n: int, width: float) -> tuple[Any, Any, float]:
    if figure is None:
        panel = (width - LEFT - RIGHT) / (n + GAP * (n - 1))
        rows = panel * (n + GAP * (n - 1)) if n > 1 else 0.75 * panel
        figure = new_figure(width, BOTTOM + TOP + rows)
    size = (figure.bbox.width / figure.dpi, figure.bbox.height / figure.dpi)
    panel = (size[0] - LEFT - RIGHT) / (n + GAP * (n - 1))
    grid = figure.add_gridspec(
        n, n, left=LEFT / size[0], right=1 - RIGHT / size[0], bottom=BOTTOM / size[1],
        top=1 - TOP / size[1], wspace=GAP, hspace=GAP,
    )  # fmt: skip
    return figure, grid, panel


def _scatter(
    ax: Axes, table: Evaluations, x: FloatArray, y: FloatArray, known: FloatArray, ok: BoolArray,
    limits: tuple[float, float], *, small: bool,
) -> Any:  # fmt: skip
    """Points of one panel, the best on top; something that has the scale of colours."""
    origins = np.array([str(origin) for origin in table.origin])
    size, found = (7.0 if small else 16.0), None
    for origin, (marker, word) in MARKERS.items():
        rows = np.flatnonzero(ok & (origins == str(origin)))
        if not len(rows):
            continue
        rows = rows[np.argsort(known[rows], kind="stable")]
        found = ax.scatter(
            x[rows], y[rows], c=np.clip(known[rows], *limits), s=size, marker=marker,
            cmap=COLOUR_MAP, vmin=limits[0], vmax=limits[1], edgecolors=BLACK, linewidths=0.3,
            gid=word,
        )  # fmt: skip
    failed = ~table.ok
    if failed.any():
        ax.scatter(
            x[failed], y[failed], c=VERMILLION, s=size, marker="x", linewidths=0.8, gid="failed"
        )
    return found


def _over_one(
    ax: Axes, table: Evaluations, parameter: int, known: FloatArray, ok: BoolArray
) -> None:
    """Values over the only parameter, with error bars."""
    x, sd = table.theta[:, parameter], np.nan_to_num(table.sd)
    origins = np.array([str(origin) for origin in table.origin])
    ax.errorbar(x[ok], known[ok], yerr=sd[ok], fmt="none", ecolor=GREY, elinewidth=0.6)
    for origin, (marker, word) in MARKERS.items():
        rows = ok & (origins == str(origin))
        if rows.any():
            ax.plot(x[rows], known[rows], marker, color=BLACK, markersize=3.5, gid=word)
    failed = ~table.ok
    if failed.any():
        bottom = float(np.min(known[ok])) if ok.any() else 0.0
        ax.plot(
            x[failed], np.full(int(failed.sum()), bottom), "x", color=VERMILLION, markersize=4,
            gid="failed",
        )  # fmt: skip


def _entries(table: Evaluations) -> list[tuple[Artist, str]]:
    used = {str(origin) for origin, ok in zip(table.origin, table.ok, strict=True) if ok}
    entries: list[tuple[Artist, str]] = [
        (marker_key(marker, GREY), word)
        for origin, (marker, word) in MARKERS.items()
        if str(origin) in used
    ]
    if table.n_failed:
        entries.append((marker_key("x", VERMILLION), "failed"))
    return entries


def _scale(figure: Any, mappable: Any, what: str, *, cut: bool) -> None:
    height = figure.bbox.height / figure.dpi
    width = figure.bbox.width / figure.dpi
    bottom = BOTTOM / height
    box = (1 - 0.56 / width, bottom, 0.1 / width, min(0.45, 1 - TOP / height - bottom))
    ax = figure.add_axes(box)
    bar = figure.colorbar(mappable, cax=ax, extend="min" if cut else "neither")
    ax.tick_params(labelsize=SMALL_FONT, length=2, width=0.5, pad=1.5)
    bar.outline.set_linewidth(0.5)
    as_is(ax.set_title(what, fontsize=SMALL_FONT, loc="left", pad=3))
