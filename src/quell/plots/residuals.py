"""Does the surrogate predict evaluations that it has not seen? The noise audit, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from quell.arrays import BoolArray, FloatArray
from quell.diagnostics.residuals import OUTLYING
from quell.gp.leaving_out import left_out_errors
from quell.plots.keys import legend_above, line_key, marker_key, patch_key
from quell.plots.sources import result_of, status_note
from quell.plots.style import (
    BLACK,
    BLUE,
    GREY,
    LINE,
    SMALL_FONT,
    THIN_LINE,
    VERMILLION,
    Z95,
    as_is,
    cautious_numbers,
    few_ticks,
    inches,
    label,
    panels,
    tidy,
    title,
)
from quell.results import Result
from quell.vbmc.low_values import resolved_depth

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from numpy.typing import NDArray

#: Outliers that have their row of the table written beside them.
MOST_NAMED = 8
#: The vertical axis shows at least so many SDs, and at most so many: beyond are triangles.
LEAST_SHOWN, MOST_SHOWN = 3.5, 12.0


def plot_residuals(
    result: Result, *, axes: Any = None, width: float | str = "full"
) -> Figure | SubFigure:
    """Draw how far each evaluation is from what all the others predict of it.

    On the left standardised residuals over the prediction: if noise and surrogate are as they
    should be, 95 % of them are in the band, whatever the prediction. On the right the same in
    order, beside what a normal distribution would give: a line steeper than the diagonal means
    noise larger than reported (or a target too rough for the surrogate), a flatter one smaller, and
    ends that bend away outliers. Only points that the surrogate is trained on are shown; those so
    low that they do not matter are grey. Outliers have their row of ``result.evaluations`` beside
    them.

    Parameters
    ----------
    result
        A result.
    axes
        Two Axes to draw in, or a figure to fill; a new figure by default.
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
    ...     lambda theta, rng: (-0.5 * theta[0]**2 + rng.standard_normal(), 1.0), lower=-10,
    ...     upper=10, plausible_lower=-3, plausible_upper=3,
    ... )
    >>> result = quell.infer(problem, budget=30, seed=1, progress=False)
    >>> figure = plot_residuals(result, width="column")
    >>> len(figure.axes)
    2
    >>> plt.close(figure)
    """
    result = result_of(result)
    columns = 2 if inches(width) > 5 else 1
    figure, made = panels(axes, 2, columns=columns, width=width, height=2.3)
    with cautious_numbers():
        prediction, residual, matters, rows = standardised_residuals(result)
        reach = float(np.clip(1.1 * np.max(np.abs(residual)), LEAST_SHOWN, MOST_SHOWN))
        drawn = np.clip(residual, -0.97 * reach, 0.97 * reach)
        _over_prediction(made[0], prediction, residual, drawn, matters, rows, reach)
        _beside_normal(made[1], residual, drawn, matters, reach)
    entries: list[tuple[Artist, str]] = [
        (marker_key(".", BLUE), "evaluation"),
        (patch_key(GREY, 0.25), "95 % expected"),
        (line_key(BLACK), "normal"),
    ]
    if not matters.all():
        entries.insert(1, (marker_key(".", GREY), "too low to matter"))
    if (np.abs(residual) > OUTLYING).any():
        entries.append((marker_key("o", VERMILLION, hollow=True), f"beyond {OUTLYING:g} SD"))
    legend_above(figure, made, entries, status_note(result))
    return figure


def standardised_residuals(
    result: Result,
) -> tuple[FloatArray, FloatArray, BoolArray, NDArray[np.intp]]:
    """Predictions of each training value from the others, in the user's units, (N,); residuals.

    The residual (N,) is in SDs of the prediction, noise included, and positive where the value is
    higher. Then whether the point is high enough to matter (N,), and its row of the table (N,).
    """
    solution = result.solution
    data = solution.data
    error, sd = left_out_errors(solution.surrogate())
    prediction = data.y - error - solution.space.log_jacobian(data.x)
    matters = data.y > data.y.max() - resolved_depth(solution.space.dimension)
    merged = result.evaluations.merge_duplicates()
    known = solution.space.to_inference(merged.theta)
    distance = np.abs(data.x[:, None, :] - known).max(axis=2)
    return prediction, error / sd, matters, merged.row[distance.argmin(axis=1)]


def _over_prediction(
    ax: Axes, prediction: FloatArray, residual: FloatArray, drawn: FloatArray, matters: BoolArray,
    rows: NDArray[np.intp], reach: float,
) -> None:  # fmt: skip
    tidy(ax)
    ax.axhspan(-Z95, Z95, color=GREY, alpha=0.25, linewidth=0, zorder=0.5)
    ax.axhline(0.0, color=BLACK, linewidth=THIN_LINE)
    _points(ax, prediction, drawn, matters)
    off = np.flatnonzero(np.abs(residual) > OUTLYING)
    off = off[np.argsort(-np.abs(residual[off]))]
    ax.plot(
        prediction[off], drawn[off], "o", color=VERMILLION, markerfacecolor="none", markersize=6,
        gid="outliers",
    )  # fmt: skip
    for i in off[:MOST_NAMED]:
        text = ax.annotate(
            f"row {rows[i]}", (prediction[i], drawn[i]), xytext=(4, 2),
            textcoords="offset points", fontsize=SMALL_FONT - 1, color=VERMILLION,
        )  # fmt: skip
        as_is(text)
    ax.set_ylim(-reach, reach)
    few_ticks(ax.xaxis, 5)
    label(ax, "predicted log joint", "residual (SDs)")
    inside = float(np.mean(np.abs(residual[matters]) < Z95)) if matters.any() else np.nan
    title(ax, f"{100 * inside:.0f} % in the 95 % band", size=SMALL_FONT)


def _beside_normal(
    ax: Axes, residual: FloatArray, drawn: FloatArray, matters: BoolArray, reach: float
) -> None:
    tidy(ax)
    order = np.argsort(residual, kind="stable")
    n = len(residual)
    share = (np.arange(1, n + 1) - 0.5) / n
    normal = ndtri(share)
    # The spread of an ordered residual: that of a share, over the density there.
    density = np.exp(-0.5 * normal**2) / np.sqrt(2 * np.pi)
    half = Z95 * np.sqrt(share * (1 - share) / n) / density
    ax.fill_between(normal, normal - half, normal + half, color=GREY, alpha=0.25, linewidth=0)
    end = float(np.abs(normal).max()) * 1.1 if n > 1 else 1.0
    ax.plot([-end, end], [-end, end], color=BLACK, linewidth=LINE, gid="diagonal")
    _points(ax, normal, drawn[order], matters[order])
    ax.set_xlim(-end, end)
    ax.set_ylim(-reach, reach)
    label(ax, "normal quantile", "residual (SDs)")


def _points(ax: Axes, x: FloatArray, y: FloatArray, matters: BoolArray) -> None:
    ax.plot(x[~matters], y[~matters], ".", color=GREY, markersize=3, alpha=0.7, gid="low")
    ax.plot(x[matters], y[matters], ".", color=BLUE, markersize=4, gid="residuals")
