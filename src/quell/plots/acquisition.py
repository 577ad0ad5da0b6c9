"""A map of the acquisition function: where an evaluation is wanted next."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from quell.acquisition import (
    Acquisition,
    SearchBox,
    Situation,
    by_name,
    candidates,
    maximise,
)
from quell.acquisition.noise import NoiseTable
from quell.acquisition.regularise import vetoed_scores
from quell.acquisition.situation import training_box
from quell.arrays import BoolArray, FloatArray
from quell.plots.keys import legend_above, marker_key
from quell.plots.ranges import Range, range_of
from quell.plots.slices import points_along, slice_point
from quell.plots.sources import Parameters, chosen_parameters, result_of, status_note
from quell.plots.style import (
    BLACK,
    COLOUR_MAP,
    GREY,
    SMALL_FONT,
    VERMILLION,
    as_is,
    cautious_numbers,
    inches,
    label,
    panels,
    short,
    tidy,
)
from quell.problem.integers import round_to_integers
from quell.results import Result
from quell.vbmc.looks import failed_points
from quell.vbmc.search_point import acquisition_of
from quell.vbmc.support import inside

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from numpy.typing import ArrayLike

#: Places of the map along each parameter, and how much wider it is than the posterior.
N_PLACES, WIDER = 60, 0.25
#: The scale of colours leaves out the lowest of the scores: they differ by orders of magnitude.
LOWEST_SHARE = 0.1
#: The map and the search draw random numbers of their own: the same for a result every time.
SEED = 0


def plot_acquisition(
    result: Result,
    parameters: Parameters = None,
    *,
    acquisition: str | Acquisition | None = None,
    at: ArrayLike | Mapping[str, float] | None = None,
    ax: Axes | None = None,
    width: float | str = "column",
) -> Figure | SubFigure:
    """Draw the acquisition function over two parameters, with the next point it asks for.

    The surrogate and the posterior are those that the result returns. With more than two free
    parameters this is a slice through one point; the next point and the evaluations are then
    projected onto it, and hollow. With one parameter it is a curve. A run mixes in other points as
    well: looks around, and climbs while the posterior is searched for.

    Parameters
    ----------
    result
        A result.
    parameters
        Names or indices of one or two; by default the first two that are not fixed.
    acquisition
        Name of an acquisition function ("wiqr", "viqr", "imiqr", "eig", "npro", "pro"), or one of
        your own; by default that of the run.
    at
        The point that a slice goes through, by name or one value for each parameter; by default
        the mode of the posterior.
    ax
        Where to draw; a new figure by default.
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
    ...     lambda theta: -0.5 * (theta**2).sum(), lower=[-10, -10], upper=[10, 10],
    ...     plausible_lower=[-3, -3], plausible_upper=[3, 3], noise="exact", names=["a", "b"],
    ... )
    >>> result = quell.infer(problem, budget=20, seed=1, progress=False)
    >>> figure = plot_acquisition(result)
    >>> figure.axes[0].get_ylabel()
    'b'
    >>> plt.close(figure)
    """
    result = result_of(result)
    space = result.posterior.space
    chosen = chosen_parameters(space, parameters)
    if parameters is None:
        chosen = chosen[:2]
    if len(chosen) > 2:
        raise ValueError(f"parameters must be one or two for a map, got {len(chosen)}")
    point = slice_point(result, at)
    figure, [ax] = panels(ax, 1, columns=1, width=width, height=0.8 * inches(width))
    tidy(ax)
    with cautious_numbers():
        search = Search(result, acquisition)
        following = search.next_point()
        seen = point[None] if following is None else np.stack([point, following])
        ranges = [
            range_of([result.posterior], space.names[i], seen[:, i], wider=WIDER) for i in chosen
        ]
        if len(chosen) == 1:
            _curve(ax, result, search, ranges[0], point, following)
        else:
            _map(figure, ax, result, search, ranges, point, following)
    hollow = space.dimension > len(chosen)
    entries: list[tuple[Artist, str]] = [
        (marker_key("o", BLACK, hollow=hollow, size=3), "evaluations"),
        (marker_key("*", VERMILLION, hollow=hollow, size=7), "next point"),
    ]
    legend_above(figure, [ax], entries, status_note(result))
    return figure


class Search:
    """The search for the next point, as it would be from what a result returns."""

    def __init__(self, result: Result, acquisition: str | Acquisition | None) -> None:
        solution = result.solution
        gp = solution.surrogate()
        noise = NoiseTable.of(gp)
        failed = solution.space.to_inference(failed_points(result.evaluations))
        gp = gp.append_pending(failed, 0.0)
        self.result, self.space = result, solution.space
        self.within = None
        if solution.support is not None:
            self.within = partial(inside, solution.support, solution.space)
        self.situation = Situation(gp, solution.mixture, noise, self.within)
        if acquisition is None:
            acquisition = acquisition_of(result.settings)
        elif isinstance(acquisition, str):
            acquisition = by_name(acquisition)
        self.rng = np.random.default_rng(SEED)
        self.score = acquisition.prepare(self.rng, self.situation)

    def allowed(self, x: FloatArray) -> BoolArray:
        """Which of the points (n, D) may be evaluated."""
        clear = np.asarray(self.space.clear_of_bounds(self.space.to_original(x)))
        return clear if self.within is None else clear & self.within(x)

    def snap(self, x: FloatArray) -> FloatArray:
        """Points (n, D) with integers at whole numbers."""
        return self.space.to_inference(self._rounded(self.space.to_original(x)))

    def _rounded(self, theta: FloatArray) -> FloatArray:
        integer = self.result.posterior.integer
        if integer is None or not any(integer):
            return theta
        return round_to_integers(theta, self.space.bounds, np.array(integer))

    def scores(self, theta: FloatArray) -> FloatArray:
        """Log acquisition (n,) at points (n, n_parameters); nan where none may be evaluated."""
        scores, _ = vetoed_scores(self.score, self.space.to_inference(theta), self.allowed)
        return np.where(np.isfinite(scores), scores, np.nan)

    def next_point(self) -> FloatArray | None:
        """The point (n_parameters,) with the best score; None where no point is allowed."""
        box = SearchBox(*training_box(self.situation.gp, self.situation.mixture))
        tried = self.snap(candidates(self.rng, self.situation, box))
        if not self.allowed(tried).any():
            return None
        found = maximise(self.score, box, tried, allowed=self.allowed, snap=self.snap)
        return self._rounded(self.space.to_original(found.x))


def _places(shown: Range) -> FloatArray:
    """Values in the range, inside the bounds; whole numbers of an integer."""
    if shown.integer:
        return shown.integers()
    # Places are in the middle of cells, off the bounds.
    return shown.spread(2 * N_PLACES + 1)[1::2]


def _map(
    figure: Any, ax: Axes, result: Result, search: Search, ranges: list[Range], point: FloatArray,
    following: FloatArray | None,
) -> None:  # fmt: skip
    across, down = ranges
    x, y = _places(across), _places(down)
    grid = np.meshgrid(x, y)
    values = {across.parameter: grid[0].ravel(), down.parameter: grid[1].ravel()}
    scores = search.scores(points_along(result, point, values)).reshape(len(y), len(x))
    seen = scores[np.isfinite(scores)]
    low, high = (np.quantile(seen, LOWEST_SHARE), seen.max()) if len(seen) else (0.0, 1.0)
    drawn = ax.pcolormesh(
        x, y, scores, cmap=COLOUR_MAP, vmin=low, vmax=max(high, low + 1e-12), shading="nearest",
        rasterized=True, gid="acquisition",
    )  # fmt: skip
    bar = figure.colorbar(drawn, ax=ax, extend="min", shrink=0.8, pad=0.02)
    bar.ax.tick_params(labelsize=SMALL_FONT, length=2, width=0.5)
    bar.outline.set_linewidth(0.5)
    as_is(bar.ax.set_title("log score", fontsize=SMALL_FONT, pad=3))
    table, hollow = result.evaluations, search.space.dimension > 2
    places = [shown.place(table.theta[table.ok, shown.parameter]) for shown in ranges]
    ax.plot(
        *places, "o", color="white" if hollow else BLACK, markeredgecolor="white",
        markerfacecolor="none" if hollow else BLACK, markeredgewidth=0.4, markersize=3,
        gid="evaluations",
    )  # fmt: skip
    if following is not None:
        best = [shown.place(following[shown.parameter : shown.parameter + 1]) for shown in ranges]
        ax.plot(
            *best, "*", color=VERMILLION, markersize=11, markeredgewidth=1.0, gid="next",
            markeredgecolor=VERMILLION if hollow else "white",
            markerfacecolor="none" if hollow else VERMILLION,
        )  # fmt: skip
    across.on_x(ax, 5)
    down.on_y(ax, 5)
    label(ax, short(across.name, 2.5), short(down.name, 2.0))


def _curve(
    ax: Axes, result: Result, search: Search, shown: Range, point: FloatArray,
    following: FloatArray | None,
) -> None:  # fmt: skip
    x = _places(shown)
    scores = search.scores(points_along(result, point, {shown.parameter: x}))
    ax.plot(x, scores, color=BLACK, linewidth=1.2, gid="acquisition")
    table = result.evaluations
    places = shown.place(table.theta[table.ok, shown.parameter])
    bottom = float(np.nanmin(scores)) if np.isfinite(scores).any() else 0.0
    ax.plot(places, np.full(len(places), bottom), "|", color=GREY, gid="evaluations")
    if following is not None:
        at = shown.place(following[shown.parameter : shown.parameter + 1])
        score = search.scores(following[None])
        ax.plot(at, score, "*", color=VERMILLION, markersize=9, gid="next")
    shown.on_x(ax, 5)
    label(ax, short(shown.name, 2.5), "log score")
