"""The distribution of every parameter, a panel each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quell.plots.curves import (
    draw_density,
    draw_prior,
    draw_quantiles,
    draw_truth,
    finish_panel,
    interval_text,
    prior_curve,
)
from quell.plots.keys import legend_above, line_key
from quell.plots.ranges import own_range, range_of
from quell.plots.sources import (
    Parameters,
    Shown,
    chosen_parameters,
    overlay_of,
    point_of,
    posterior_of,
    status_note,
)
from quell.plots.stacked import densities_of
from quell.plots.style import (
    BLACK,
    GREY,
    LOOKS,
    SMALL_FONT,
    inches,
    label,
    panels,
    short,
    tidy,
    title,
)
from quell.results import Result
from quell.stacking import StackedResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure
    from numpy.typing import ArrayLike

#: Inches: the least width of a panel, and the height of a row.
PANEL, ROW = 1.5, 1.35


def plot_marginals(
    result: Shown,
    parameters: Parameters = None,
    *,
    truth: ArrayLike | Mapping[str, float] | None = None,
    other: Shown | None = None,
    prior: bool = True,
    quantiles: Sequence[float] = (0.025, 0.5, 0.975),
    names: tuple[str, str] = ("posterior", "other"),
    axes: Any = None,
    width: float | str = "full",
) -> Figure | SubFigure:
    """Draw the posterior density of every parameter, with the prior where it is known.

    Densities are closed forms, not histograms. Integers have bars. The prior is known where
    parameters are independent a priori (a list of distributions, or uniform on finite bounds).

    Parameters
    ----------
    result
        A result, also a stacked one, or a posterior alone (without a prior then).
    parameters
        Names or indices of those to show; by default all that are not fixed.
    truth
        True values, a mapping by name or one for each parameter; nan for those not known.
    other
        A second result or posterior, drawn as a line where it has a parameter of the same name.
    prior
        Whether to draw the prior.
    quantiles
        Shares of the probability below the dashed lines; empty for none.
    names
        What the legend calls the two.
    axes
        Where to draw: as many Axes as there are parameters, or a figure to fill; a new figure by
        default.
    width
        Width of a new figure: "column" (3.3 in), "full" (6.9 in), or inches.

    Returns
    -------
    The figure.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from quell import Posterior
    >>> from quell.mixture import Mixture
    >>> from quell.space import InferenceSpace
    >>> space = InferenceSpace.from_bounds([0, -9], [1, 9], [0.3, -1], [0.7, 1], names=["a", "b"])
    >>> posterior = Posterior(Mixture([1.0], [[0.0, 0.0]], [0.3], [1.0, 1.0]), space)
    >>> figure = plot_marginals(posterior, truth={"a": 0.5}, width="column")
    >>> [ax.get_xlabel() for ax in figure.axes]
    ['a', 'b']
    >>> plt.close(figure)
    """
    posterior = posterior_of(result)
    chosen = chosen_parameters(posterior.space, parameters)
    true = point_of("truth", {} if truth is None else truth, posterior.names)
    second = overlay_of(other, [posterior.names[i] for i in chosen])
    columns = max(1, min(len(chosen), int(inches(width) / PANEL)))
    figure, made = panels(axes, len(chosen), columns=columns, width=width, height=ROW)
    room = inches(width) / columns
    densities, beside = densities_of(posterior), None if second is None else densities_of(second)
    keys = {names[0]: line_key(LOOKS[0].colour, LOOKS[0].line)}
    for ax, i in zip(made, chosen, strict=True):
        name = posterior.names[i]
        both = [posterior] if second is None else [posterior, second]
        shown = range_of(both, name, np.array([true[i]]))
        marginal = posterior.marginal(i)
        tidy(ax)
        shown.on_x(ax, 4)
        height = draw_density(ax, densities, shown, LOOKS[0])
        if second is not None and beside is not None and name in second.space.free_names:
            tall = draw_density(
                ax, beside, own_range(second, shown), LOOKS[1], fill=False, shift=0.2
            )
            height = max(height, tall)
            keys[names[1]] = line_key(LOOKS[1].colour, LOOKS[1].line)
        draw_quantiles(ax, marginal, shown, quantiles, LOOKS[0])
        if np.isfinite(true[i]):
            draw_truth(ax, float(true[i]), shown)
            keys["truth"] = line_key(BLACK, "-.")
        curve = (
            prior_curve(result, shown)
            if prior and isinstance(result, Result | StackedResult)
            else None
        )
        if curve is not None:
            draw_prior(ax, curve, shown)
            keys["prior"] = line_key(GREY, ":")
        finish_panel(ax, height)
        label(ax, short(name, room))
        title(ax, short(interval_text(marginal, shown), room, SMALL_FONT), size=SMALL_FONT)
    legend_above(figure, made, [(key, name) for name, key in keys.items()], status_note(result))
    return figure
