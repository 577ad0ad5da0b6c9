"""Slices through the surrogate: what it believes of the log joint, and what that rests on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from quell.arrays import FloatArray
from quell.gp import GaussianProcess
from quell.plots.keys import legend_above, line_key, marker_key, patch_key
from quell.plots.slices import MOST_NEAR, Nearby, near_slice, slice_along, slice_point
from quell.plots.sources import Parameters, chosen_parameters, result_of, status_note
from quell.plots.style import (
    BLACK,
    BLUE,
    GREY,
    LINE,
    ORANGE,
    THIN_LINE,
    VERMILLION,
    Z95,
    cautious_numbers,
    few_ticks,
    inches,
    label,
    panels,
    short,
    tidy,
)
from quell.results import Result

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from numpy.typing import ArrayLike

#: Inches: the least width of a panel, and the height of a row.
PANEL, ROW = 1.6, 1.7


def plot_surrogate(
    result: Result,
    parameters: Parameters = None,
    *,
    at: ArrayLike | Mapping[str, float] | None = None,
    near: int = MOST_NEAR,
    axes: Any = None,
    width: float | str = "full",
) -> Figure | SubFigure:
    """Draw slices of the log joint as the surrogate has it, along one parameter each.

    All other parameters are at one point. The band is the surrogate's 95 % interval, of the log
    joint without noise; the dotted line is the posterior times the evidence, which should agree
    with it wherever either is high. Evaluations near the slice are drawn with error bars, the
    paler the further away: being beside the slice, they need not be on the curve. The plausible box
    is grey at the lower edge. Everything is in your parameters and your units.

    Parameters
    ----------
    result
        A result.
    parameters
        Names or indices of those to vary; by default all that are not fixed.
    at
        The point that slices go through, by name or one value for each parameter; by default the
        mode of the posterior.
    near
        Evaluations shown with each slice at most.
    axes
        As many Axes as there are slices, or a figure to fill; a new figure by default.
    width
        Width of a new figure: "column" (3.3 in), "full" (6.9 in), or inches.

    Returns
    -------
    The figure.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import quell
    >>> problem = quell.Problem(
    ...     lambda theta: -0.5 * theta[0]**2, lower=-10, upper=10, plausible_lower=-3,
    ...     plausible_upper=3, noise="exact", names=["shift"],
    ... )
    >>> result = quell.infer(problem, budget=15, seed=1, progress=False)
    >>> figure = plot_surrogate(result, at={"shift": 0.0})
    >>> figure.axes[0].get_xlabel()
    'shift'
    >>> plt.close(figure)
    """
    result = result_of(result)
    chosen = chosen_parameters(result.posterior.space, parameters)
    point = slice_point(result, at)
    gp = result.solution.surrogate()
    columns = max(1, min(len(chosen), int(inches(width) / PANEL)))
    figure, made = panels(axes, len(chosen), columns=columns, width=width, height=ROW)
    room = inches(width) / columns
    with cautious_numbers():
        for place, (ax, i) in enumerate(zip(made, chosen, strict=True)):
            tidy(ax)
            _slice(ax, result, gp, i, point, near)
            name = short(result.posterior.names[i], room)
            label(ax, name, "log joint" if place % columns == 0 else None)
    entries: list[tuple[Artist, str]] = [
        (line_key(BLUE), "surrogate"),
        (patch_key(BLUE, 0.25), "95 % band"),
        (line_key(VERMILLION, ":"), "posterior × evidence"),
        (marker_key("o", BLACK, size=3), "evaluations nearby"),
        (line_key(ORANGE, "-", width=3), "plausible box"),
        (line_key(GREY, "--"), "the point"),
    ]
    legend_above(figure, made, entries, status_note(result))
    return figure


def _slice(
    ax: Axes, result: Result, gp: GaussianProcess, i: int, point: FloatArray, near: int
) -> None:
    along = slice_along(result, gp, i, point)
    shown, values, mean, sd = along.shown, along.values, along.mean, along.sd
    ax.fill_between(
        values, mean - Z95 * sd, mean + Z95 * sd, color=BLUE, alpha=0.25, linewidth=0, gid="band"
    )
    style = "o-" if shown.integer else "-"
    ax.plot(values, mean, style, color=BLUE, linewidth=LINE, markersize=2, gid="surrogate")
    ax.plot(values, along.answer, ":", color=VERMILLION, linewidth=LINE, gid="answer")
    limits = along.limits
    if limits is not None:
        ax.set_ylim(*limits)
    _nearby(ax, near_slice(result, gp, along, near))
    shown.on_x(ax, 4)
    few_ticks(ax.yaxis, 5)
    ax.axvline(
        float(shown.place(point[i : i + 1])[0]), color=GREY, linewidth=THIN_LINE, linestyle="--",
        gid="point",
    )  # fmt: skip
    b = result.posterior.space.bounds
    box = shown.place(np.array([b.plausible_lower[i], b.plausible_upper[i]]))
    if box[0] < box[1]:
        ax.plot(
            box, [0.0, 0.0], color=ORANGE, linewidth=3, solid_capstyle="butt",
            transform=ax.get_xaxis_transform(), zorder=1.2, gid="plausible",
        )  # fmt: skip


def _nearby(ax: Axes, near: Nearby) -> None:
    for x, y, sd, distance in zip(near.x, near.log_joint, near.sd, near.distance, strict=True):
        ax.errorbar(
            x, y, yerr=sd, fmt="o", color=BLACK, markersize=2.5, elinewidth=0.7,
            alpha=1.0 - 0.75 * float(distance), zorder=2.2, gid="evaluation",
        )  # fmt: skip
