"""How a run came to its answer: ELBO, reliability, components and values by evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quell.arrays import FloatArray
from quell.evaluations import Evaluations
from quell.plots.keys import legend_above, line_key, marker_key, patch_key
from quell.plots.limits import elbo_limits, value_limits
from quell.plots.sources import result_of, status_note
from quell.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LINE,
    ORANGE,
    PURPLE,
    THIN_LINE,
    VERMILLION,
    Z95,
    cautious_numbers,
    inches,
    label,
    panels,
    tidy,
)
from quell.results import Result
from quell.vbmc.state import Action

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

#: Colour and line style of what an iteration did beside refitting, and the word for it.
MARKS: dict[str, tuple[str, Any, str]] = {
    Action.END_OF_WARMUP: (BLACK, "--", "end of warm-up"),
    Action.TRIMMED: (GREY, (0, (1, 1)), "lowest dropped"),
    Action.WHITENING: (GREEN, ":", "whitening"),
    Action.SOFTENED: (PURPLE, "-.", "soft edges"),
    Action.SHARPENED: (PURPLE, "-.", "soft edges"),
    Action.HEAVY_TAILS: (PURPLE, (0, (5, 1)), "heavy tails"),
    Action.LEAPT: (BLACK, (0, (4, 1, 1, 1)), "leap"),
    Action.WENT_BACK: (ORANGE, (0, (3, 1, 1, 1, 1, 1)), "went back"),
}
#: A reliability index below this counts as stable (paper, supplement B.1).
RELIABLE = 1.0


def plot_trace(
    result: Result, *, axes: Any = None, width: float | str = "full"
) -> Figure | SubFigure:
    """Draw how a run went: one panel each for ELBO, reliability, components and values.

    The band of the ELBO is its 95 % interval; the axis is chosen for the iterations after warm-up,
    and earlier ones may be below it. Vertical lines mark what the algorithm did; a diamond the
    iteration that is returned. Values far below the best are triangles at the lower edge, failed
    evaluations crosses.

    Parameters
    ----------
    result
        A result.
    axes
        Four Axes to draw in, or a figure to fill; a new figure by default.
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
    ...     plausible_upper=3, noise="exact",
    ... )
    >>> result = quell.infer(problem, budget=15, seed=1, progress=False)
    >>> figure = plot_trace(result)
    >>> [ax.get_ylabel() for ax in figure.axes]
    ['ELBO', 'reliability index', 'components', 'log joint']
    >>> plt.close(figure)
    """
    result = result_of(result)
    columns = 2 if inches(width) > 5 else 1
    figure, made = panels(axes, 4, columns=columns, width=width, height=1.45, sharex=True)
    rows, table = result.history, result.evaluations
    n = np.array([row["n_evaluations"] for row in rows], dtype=float)
    chosen = result.chosen - 1
    with cautious_numbers():
        _elbo(made[0], result, n)
        _reliability(made[1], result, n)
        _components(made[2], result, n)
        _values(made[3], table, result.posterior.space.dimension)
    keys: dict[str, Artist] = {
        "returned": marker_key("D", VERMILLION),
        "95 % band": patch_key(BLUE, 0.25),
    }
    for row, at in zip(rows, n, strict=True):
        if row["action"] in MARKS:
            colour, style, word = MARKS[row["action"]]
            for ax in made:
                ax.axvline(
                    at, color=colour, linestyle=style, linewidth=THIN_LINE, zorder=0.8, gid=word
                )
            keys[word] = line_key(colour, style)
    for ax in made:
        tidy(ax)
        ax.axvline(n[chosen], color=VERMILLION, linewidth=THIN_LINE, zorder=0.9, gid="returned")
        ax.set_xlim(0, max(len(table), n[-1]) + 1)
    for ax in made[-columns:]:
        label(ax, "evaluations")
    legend_above(figure, made, [(key, word) for word, key in keys.items()], status_note(result))
    return figure


def _mark_returned(ax: Axes, x: float, y: float) -> None:
    ax.plot([x], [y], "D", color=VERMILLION, markersize=4, zorder=3, gid="returned iteration")


def _elbo(ax: Axes, result: Result, n: FloatArray) -> None:
    rows, chosen = result.history, result.chosen - 1
    elbo = np.array([row["elbo"] for row in rows])
    half = Z95 * np.array([row["elbo_sd"] for row in rows])
    ax.fill_between(n, elbo - half, elbo + half, color=BLUE, alpha=0.25, linewidth=0)
    ax.plot(n, elbo, ".-", color=BLUE, linewidth=LINE, markersize=3, gid="elbo")
    _mark_returned(ax, n[chosen], elbo[chosen])
    limits = elbo_limits(rows, chosen)
    if limits is not None:
        ax.set_ylim(*limits)
    label(ax, y="ELBO")


def _reliability(ax: Axes, result: Result, n: FloatArray) -> None:
    from matplotlib.ticker import NullFormatter

    index = np.array([row["reliability"] for row in result.history], dtype=float)
    shown = np.where(np.isfinite(index) & (index > 0), index, np.nan)
    ax.axhline(RELIABLE, color=GREY, linewidth=THIN_LINE, linestyle="--")
    ax.plot(n, shown, ".-", color=BLUE, linewidth=LINE, markersize=3, gid="reliability")
    _mark_returned(ax, n[result.chosen - 1], shown[result.chosen - 1])
    ax.set_yscale("log")
    ax.yaxis.set_minor_formatter(NullFormatter())
    # A decade at least, so that there are numbers at the ticks.
    known = np.append(shown[np.isfinite(shown)], RELIABLE)
    ax.set_ylim(0.5 * min(float(known.min()), 0.2), 2.0 * max(float(known.max()), 2.0))
    label(ax, y="reliability index")


def _components(ax: Axes, result: Result, n: FloatArray) -> None:
    from matplotlib.ticker import MaxNLocator

    count = np.array([row["n_components"] for row in result.history])
    ax.step(n, count, where="post", color=BLUE, linewidth=LINE, gid="components")
    returned = result.posterior.mixture.n_components  # more than the iteration's after a polish
    _mark_returned(ax, n[result.chosen - 1], returned)
    ax.set_ylim(0, 1.1 * max(int(count.max()), returned) + 1)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    label(ax, y="components")


def _values(ax: Axes, table: Evaluations, dimension: int) -> None:
    at, value = np.arange(1, len(table) + 1), table.log_joint
    label(ax, y="log joint")
    limits = value_limits(table, dimension)
    if limits is None:
        return
    bottom, top = limits
    sd = np.nan_to_num(table.sd)
    inside = table.ok & (value >= bottom)
    ax.errorbar(
        at[inside], value[inside], yerr=sd[inside], fmt="none", ecolor=GREY, elinewidth=0.5,
        alpha=0.6, zorder=1.5,
    )  # fmt: skip
    ax.plot(at[inside], value[inside], ".", color=BLUE, markersize=3.5, gid="values")
    edge = bottom + 0.02 * (top - bottom)
    for mask, marker, colour, gid in (
        (table.ok & ~inside, "v", BLUE, "low values"),
        (~table.ok, "x", VERMILLION, "failed"),
    ):
        ax.plot(
            at[mask], np.full(int(mask.sum()), edge), marker, color=colour, markersize=3, gid=gid
        )
    ax.set_ylim(bottom, top)
