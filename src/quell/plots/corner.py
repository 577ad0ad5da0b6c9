"""All parameters two by two: the posterior at one look."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quell.arrays import FloatArray
from quell.evaluations import Evaluations
from quell.plots.curves import (
    draw_density,
    draw_quantiles,
    draw_truth,
    finish_panel,
    interval_text,
)
from quell.plots.keys import line_key, marker_key, note, patch_key
from quell.plots.ranges import Range, own_range, range_of
from quell.plots.regions import DARK, LIGHT, draw_outlines, draw_regions
from quell.plots.sources import (
    Parameters,
    Shown,
    chosen_parameters,
    overlay_of,
    point_of,
    posterior_of,
    status_note,
)
from quell.plots.stacked import AnyDensities, densities_of
from quell.plots.style import (
    BLACK,
    FONT,
    GREY,
    LOOKS,
    SMALL_FONT,
    add_legend,
    as_is,
    cautious_numbers,
    inches,
    label,
    new_figure,
    short,
    tidy,
    title,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from numpy.typing import ArrayLike

#: More parameters than these in one corner are warned about.
MOST = 12
#: Inches around the panels, and between them, as a part of a panel.
LEFT, BOTTOM, RIGHT, TOP, GAP = 0.52, 0.46, 0.06, 0.18, 0.08
#: Inches for names on the right of the diagonal.
NAMES = 0.7
#: Inches: panels smaller than the first have no ticks, than the second names beside the diagonal
#: instead of outside, than the third fewer ticks, than the fourth no titles.
BARE, CROWDED, SMALL, TITLED = 0.36, 0.48, 0.8, 1.15


def plot_corner(
    result: Shown,
    parameters: Parameters = None,
    *,
    truth: ArrayLike | Mapping[str, float] | None = None,
    other: Shown | None = None,
    evaluations: bool = False,
    shares: Sequence[float] = (0.5, 0.9),
    quantiles: Sequence[float] = (0.025, 0.5, 0.975),
    titles: bool | None = None,
    names: tuple[str, str] = ("posterior", "other"),
    figure: Figure | SubFigure | None = None,
    width: float | str = "full",
) -> Figure | SubFigure:
    """Draw all parameters two by two, and each alone on the diagonal.

    Densities on the diagonal are closed forms, with dashed lines at quantiles; below it are regions
    of highest density. Grey bars are out of bounds. A periodic parameter is shown as one piece of
    its circle; where it goes on past a bound a line says so. Integers have bars and steps.

    Parameters
    ----------
    result
        A result, also a stacked one, or a posterior alone.
    parameters
        Names or indices of those to show; by default all that are not fixed.
    truth
        True values, a mapping by name or one for each parameter; nan for those not known.
    other
        A second result or posterior, drawn as lines where it has parameters of the same names.
    evaluations
        Whether to draw where the target was evaluated (of a result only); failed ones as crosses.
    shares
        Probabilities of the regions of highest density.
    quantiles
        Shares of the probability below the dashed lines; empty for none.
    titles
        Whether median and central 95 % interval stand over the diagonal; by default where there is
        room.
    names
        What the legend calls the two.
    figure
        A figure, or a part of one, to draw in; a new one by default.
    width
        Width of a new figure: "column" (3.3 in), "full" (6.9 in), or inches.

    Returns
    -------
    The figure. Its axes are the panels row by row: the first of each row belongs to the first
    parameter, the last to that of the row.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from quell import Posterior
    >>> from quell.mixture import Mixture
    >>> from quell.space import InferenceSpace
    >>> space = InferenceSpace.from_bounds([0, -9], [1, 9], [0.3, -1], [0.7, 1], names=["a", "b"])
    >>> posterior = Posterior(Mixture([1.0], [[0.0, 0.0]], [0.3], [1.0, 1.0]), space)
    >>> figure = plot_corner(posterior, truth=[0.5, 0.0])
    >>> len(figure.axes), figure.axes[1].get_ylabel()
    (3, 'b')
    >>> plt.close(figure)
    """
    posterior = posterior_of(result)
    chosen = chosen_parameters(posterior.space, parameters)
    shares = _checked_shares(shares)
    true = point_of("truth", {} if truth is None else truth, posterior.names)
    second = overlay_of(other, [posterior.names[i] for i in chosen])
    table = getattr(result, "evaluations", None) if evaluations else None
    if evaluations and table is None:
        raise TypeError("evaluations=True needs a quell.Result: a posterior alone has none")
    if parameters is None and len(chosen) > MOST:
        warnings.warn(
            f"a corner of {len(chosen)} parameters is hard to read: choose some with parameters=, "
            "or use plot_marginals",
            UserWarning,
            stacklevel=2,
        )
    both = [posterior] if second is None else [posterior, second]
    ranges = [range_of(both, posterior.names[i], true[i : i + 1]) for i in chosen]
    where, grid, panel = _layout(figure, len(chosen), inches(width))
    titles = panel >= TITLED if titles is None else titles
    drawn = [densities_of(one) for one in both]
    with cautious_numbers():
        for row, down in enumerate(ranges):
            for column, across in enumerate(ranges[: row + 1]):
                ax = where.add_subplot(grid[row, column])
                tidy(ax, size=SMALL_FONT if panel > SMALL else SMALL_FONT - 1)
                n_ticks = 4 if panel > TITLED else 3 if panel > SMALL else 2
                across.on_x(ax, n_ticks)
                if row == column:
                    _draw_alone(ax, drawn, across, quantiles, float(true[chosen[row]]))
                    if titles:
                        text = interval_text(posterior.marginal(across.name), across)
                        title(ax, text, size=SMALL_FONT)
                else:
                    down.on_y(ax, n_ticks)
                    _draw_two(ax, drawn, across, down, shares)
                    point = true[[across.parameter, down.parameter]]
                    _draw_points(ax, across, down, point, table)
                _outer_labels(ax, row, column, len(ranges), across, down, panel)
    entries = _entries(
        names, shares, second is not None, bool(np.isfinite(true[chosen]).any()), table
    )
    _legend(where, entries, len(chosen), status_note(result))
    return where


def _checked_shares(shares: Sequence[float]) -> tuple[float, ...]:
    found = tuple(sorted(float(share) for share in np.atleast_1d(np.asarray(shares, float))))
    if not found or not all(0 < share < 1 for share in found) or len(set(found)) < len(found):
        raise ValueError(f"shares must be different numbers between 0 and 1, got {list(shares)}")
    return found


def _layout(figure: Any, n: int, width: float) -> tuple[Any, Any, float]:
    """The figure, its grid of n times n cells, and the size of a panel in inches."""
    given = figure is not None
    if given:
        width = figure.bbox.width / figure.dpi
    left, bottom, right = LEFT, BOTTOM, RIGHT
    panel = (width - left - right) / (n + GAP * (n - 1))
    if panel < CROWDED:  # names are on the right of the diagonal
        right = NAMES
        left, bottom = (0.1, 0.1) if panel < BARE else (left, bottom)
        panel = (width - left - right) / (n + GAP * (n - 1))
    # One panel alone would be a tall block: it is drawn flat.
    height = bottom + TOP + (0.62 * panel if n == 1 else panel * (n + GAP * (n - 1)))
    if given:
        height = figure.bbox.height / figure.dpi
    else:
        figure = new_figure(width, height)
    grid = figure.add_gridspec(
        n, n, left=left / width, right=1 - right / width, bottom=bottom / height,
        top=1 - TOP / height, wspace=GAP, hspace=GAP,
    )  # fmt: skip
    return figure, grid, panel


def _draw_alone(
    ax: Axes, drawn: Sequence[AnyDensities], shown: Range, quantiles: Sequence[float], true: float
) -> None:
    height = draw_density(ax, drawn[0], shown, LOOKS[0])
    for more in drawn[1:]:
        if shown.name in more.posterior.space.free_names:
            own = own_range(more.posterior, shown)
            height = max(height, draw_density(ax, more, own, LOOKS[1], fill=False, shift=0.2))
    draw_quantiles(ax, drawn[0].posterior.marginal(shown.name), shown, quantiles, LOOKS[0])
    draw_truth(ax, true, shown)
    finish_panel(ax, height)


def _draw_two(
    ax: Axes, drawn: Sequence[AnyDensities], across: Range, down: Range, shares: tuple[float, ...]
) -> None:
    draw_regions(ax, *drawn[0].pair(across, down, shares), LOOKS[0])
    for more in drawn[1:]:
        if {across.name, down.name} <= set(more.posterior.space.free_names):
            own = [own_range(more.posterior, shown) for shown in (across, down)]
            draw_outlines(ax, *more.pair(own[0], own[1], shares), LOOKS[1])


def _draw_points(
    ax: Axes, across: Range, down: Range, true: FloatArray, table: Evaluations | None
) -> None:
    if table is not None:
        x = across.place(table.theta[:, across.parameter])
        y = down.place(table.theta[:, down.parameter])
        ok = table.ok
        ax.plot(
            x[ok], y[ok], ".", color=BLACK, markersize=2.0, alpha=0.6, zorder=2.2, gid="evaluations"
        )
        ax.plot(x[~ok], y[~ok], "x", color=GREY, markersize=2.5, zorder=2.2, gid="failed")
    if np.isfinite(true[0]):
        ax.axvline(float(across.place(true[:1])[0]), color=BLACK, linewidth=0.8, linestyle="-.")
    if np.isfinite(true[1]):
        ax.axhline(float(down.place(true[1:])[0]), color=BLACK, linewidth=0.8, linestyle="-.")
    if np.isfinite(true).all():
        x, y = across.place(true[:1]), down.place(true[1:])
        ax.plot(x, y, "s", color=BLACK, markersize=2.5, zorder=2.5, gid="truth")


def _outer_labels(
    ax: Axes, row: int, column: int, n: int, across: Range, down: Range, panel: float
) -> None:
    """Numbers and names at the left and the lower edge of the corner only."""
    size = FONT if panel > SMALL else SMALL_FONT
    if panel < BARE:
        ax.tick_params(left=False, bottom=False)
    if row < n - 1 or panel < BARE:
        ax.tick_params(axis="x", labelbottom=False)
        ax.xaxis.get_offset_text().set_visible(False)
    elif panel < SMALL:
        ax.tick_params(axis="x", labelrotation=45)
    if column > 0 or panel < BARE:
        ax.tick_params(axis="y", labelleft=False)
        ax.yaxis.get_offset_text().set_visible(False)
    if panel < CROWDED:
        if row == column:
            _name_beside(ax, across.name)
        return
    if row == n - 1:
        label(ax, short(across.name, panel, size), size=size)
    if column == 0 and row > 0:
        label(ax, y=short(down.name, panel, size), size=size)


def _name_beside(ax: Axes, name: str) -> None:
    """The name of a parameter on the right of its panel on the diagonal."""
    size = SMALL_FONT - 1
    text = ax.text(
        1.1, 0.5, short(name, NAMES, size), transform=ax.transAxes, fontsize=size, va="center"
    )
    as_is(text)


def _entries(
    names: tuple[str, str], shares: Sequence[float], second: bool, true: bool,
    table: Evaluations | None,
) -> list[tuple[Artist, str]]:  # fmt: skip
    """What the legend explains."""
    entries: list[tuple[Artist, str]] = [(line_key(LOOKS[0].colour, LOOKS[0].line), names[0])]
    strengths = np.linspace(DARK, LIGHT, len(shares))
    for share, strength in zip(sorted(shares), strengths, strict=True):
        entries.append((patch_key(LOOKS[0].colour, strength), f"{100 * share:g} % region"))
    if second:
        entries.append((line_key(LOOKS[1].colour, LOOKS[1].line), names[1]))
    if true:
        entries.append((line_key(BLACK, "-."), "truth"))
    if table is not None:
        entries.append((marker_key(".", BLACK), "evaluations"))
        if table.n_failed:
            entries.append((marker_key("x", GREY), "failed"))
    return entries


def _legend(figure: Any, entries: list[tuple[Artist, str]], n: int, caution: str) -> None:
    if n == 1:
        entries = [entry for entry in entries if not entry[1].endswith("% region")]
        ax = figure.axes[-1]
        ax.set_ylim(0.0, (1.0 + 0.12 * (len(entries) + bool(caution))) * ax.get_ylim()[1])
        note(add_legend(ax, entries, loc="upper right"), caution)
        return
    note(add_legend(figure, entries, loc="upper right"), caution)
