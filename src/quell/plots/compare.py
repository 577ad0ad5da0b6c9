"""Several results side by side: their marginals and their evidences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quell.plots.curves import draw_density, draw_truth, finish_panel
from quell.plots.densities import Densities
from quell.plots.keys import legend_above, line_key
from quell.plots.ranges import own_range, range_of
from quell.plots.sources import point_of, result_of
from quell.plots.style import (
    BLACK,
    LOOKS,
    SMALL_FONT,
    Z95,
    as_is,
    cautious_numbers,
    few_ticks,
    inches,
    label,
    panels,
    short,
    tidy,
)
from quell.results import Result
from quell.text import printable

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

#: Inches: the least width of a panel, and the height of a row.
PANEL, ROW = 1.6, 1.45


def plot_compare(
    results: Mapping[str, Result] | Sequence[Result],
    parameters: Sequence[str] | str | None = None,
    *,
    truth: Mapping[str, float] | None = None,
    axes: Any = None,
    width: float | str = "full",
) -> Figure | SubFigure:
    """Draw the marginals of several results over each other, and their log evidences.

    Evidences have 95 % intervals; hollow markers are results whose status is not "stable". Where
    the prior of a result is improper its ELBO is not an evidence and it has no marker. Evidences
    may be compared between models of the same data only.

    Parameters
    ----------
    results
        Results by name, or a sequence of them; at most seven.
    parameters
        Names of those to show; by default all that any result has free.
    truth
        True values by name.
    axes
        One Axes for each parameter and one for the evidences, or a figure to fill; a new figure by
        default.
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
    ...     plausible_upper=3, noise="exact", names=["a"],
    ... )
    >>> runs = {f"seed {s}": quell.infer(problem, budget=15, seed=s, progress=False)
    ...         for s in (1, 2)}
    >>> figure = plot_compare(runs)
    >>> [ax.get_xlabel() for ax in figure.axes]
    ['a', 'log evidence']
    >>> plt.close(figure)
    """
    named = _named(results)
    names = _parameters(named, parameters)
    every = list(dict.fromkeys(name for one in named.values() for name in one.posterior.names))
    true = dict(zip(every, point_of("truth", truth or {}, every), strict=True))
    columns = max(1, min(len(names) + 1, int(inches(width) / PANEL)))
    figure, made = panels(axes, len(names) + 1, columns=columns, width=width, height=ROW)
    room = inches(width) / columns
    densities = {key: Densities(result.posterior) for key, result in named.items()}
    with cautious_numbers():
        for ax, name in zip(made, names, strict=False):
            tidy(ax)
            _marginal(ax, densities, name, float(true[name]))
            label(ax, short(name, room))
        tidy(made[-1])
        _evidences(made[-1], named, room)
    entries: list[tuple[Artist, str]] = [
        (line_key(look.colour, look.line), short(key, 2.0, SMALL_FONT))
        for key, look in zip(named, LOOKS, strict=False)
    ]
    if any(np.isfinite(true[name]) for name in names):
        entries.append((line_key(BLACK, "-."), "truth"))
    legend_above(figure, made, entries)
    return figure


def _named(results: Any) -> dict[str, Result]:
    if isinstance(results, Result):
        raise TypeError("results must be several: a mapping by name, or a sequence of results")
    pairs = (
        results.items()
        if isinstance(results, Mapping)
        else ((f"result {i}", one) for i, one in enumerate(results, start=1))
    )
    named = {str(key): result_of(one, f"results[{key!r}]") for key, one in pairs}
    if not 1 <= len(named) <= len(LOOKS):
        raise ValueError(
            f"results must be one to {len(LOOKS)} to be told apart, got {len(named)} (choose some, "
            "or use plot_study)"
        )
    return named


def _parameters(named: Mapping[str, Result], parameters: Any) -> list[str]:
    free = list(
        dict.fromkeys(name for one in named.values() for name in one.posterior.space.free_names)
    )
    if parameters is None:
        return free
    asked = [parameters] if isinstance(parameters, str) else list(parameters)
    for name in asked:
        if name not in free:
            raise ValueError(f"parameters has {name!r}, which is none of the names {free}")
    return asked


def _marginal(ax: Axes, densities: Mapping[str, Densities], name: str, true: float) -> None:
    having = [one.posterior for one in densities.values() if name in one.posterior.space.free_names]
    shown = range_of(having, name, np.array([true]))
    shown.on_x(ax, 4)
    height, n = 0.0, len(densities)
    for i, (one, look) in enumerate(zip(densities.values(), LOOKS, strict=False)):
        if name in one.posterior.space.free_names:
            own = own_range(one.posterior, shown)
            shift = 0.6 * ((i + 0.5) / n - 0.5)
            height = max(height, draw_density(ax, one, own, look, fill=n == 1, shift=shift))
    draw_truth(ax, true, shown)
    finish_panel(ax, height)


def _evidences(ax: Axes, named: Mapping[str, Result], room: float) -> None:
    n = len(named)
    for i, (result, look) in enumerate(zip(named.values(), LOOKS, strict=False)):
        if np.isfinite(result.log_evidence):
            ax.errorbar(
                [result.log_evidence], [n - 1 - i], xerr=[Z95 * result.log_evidence_sd],
                fmt=look.marker, color=look.colour, markersize=4, elinewidth=1.2, capsize=2,
                markerfacecolor=look.colour if result.converged else "none", gid="evidence",
            )  # fmt: skip
    ax.set_ylim(-0.6, n - 0.4)
    texts = [short(key, 0.5 * room, SMALL_FONT) for key in named]
    ax.set_yticks(range(n - 1, -1, -1), [printable(text) for text in texts])
    for text in ax.get_yticklabels():
        as_is(text)
    few_ticks(ax.xaxis, 4)
    label(ax, "log evidence")
