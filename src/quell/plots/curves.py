"""The distribution of one parameter in a panel: curve or bars, quantiles, truth, prior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from quell.arrays import FloatArray
from quell.plots.densities import peak
from quell.plots.ranges import Range
from quell.plots.stacked import AnyDensities
from quell.plots.style import BLACK, GREY, LINE, THIN_LINE, Look, rounded
from quell.results import Result
from quell.results.one_parameter import OneParameter
from quell.stacking import StackedResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: How much of a panel is above the highest curve.
HEADROOM = 1.1
#: Standardised coordinates over which a prior is normalised: 60 plausible boxes to both sides,
#: densest in the middle.
PRIOR_GRID = np.sinh(np.linspace(-7.0, 7.0, 4001)) / np.sinh(7.0) * 60.0


def draw_density(
    ax: Axes, densities: AnyDensities, shown: Range, look: Look, *, fill: bool = True,
    shift: float = 0.0,
) -> float:  # fmt: skip
    """Draw a density and return how high it is; bars of integers are moved by ``shift``."""
    x, density = densities.alone(shown)
    if shown.integer:
        ax.vlines(
            x + shift, 0.0, density, color=look.colour, linewidth=2.0, alpha=0.9, gid="density"
        )
        ax.plot(x + shift, density, look.marker, color=look.colour, markersize=3, gid="density")
        return peak(x, density, shown)
    ax.plot(x, density, color=look.colour, linestyle=look.line, linewidth=LINE, gid="density")
    if fill:
        ax.fill_between(x, density, color=look.colour, alpha=0.18, linewidth=0)
    return peak(x, density, shown)


def shown_quantile(marginal: OneParameter, shown: Range, p: float) -> float:
    """A quantile of a marginal: of an integer a whole number."""
    value = marginal.quantile(p)
    return float(np.rint(value)) if shown.integer else value


def draw_quantiles(
    ax: Axes, marginal: OneParameter, shown: Range, quantiles: Sequence[float], look: Look
) -> None:
    """Dashed lines at quantiles of a marginal."""
    for p in quantiles:
        x = float(shown.place(np.array(shown_quantile(marginal, shown, p))))
        ax.axvline(x, color=look.colour, linewidth=THIN_LINE, linestyle=(0, (4, 2)), gid="quantile")


def draw_truth(ax: Axes, value: float, shown: Range) -> None:
    """A line at the true value; nothing where it is nan."""
    if np.isfinite(value):
        x = float(shown.place(np.array(value)))
        ax.axvline(x, color=BLACK, linewidth=LINE, linestyle="-.", gid="truth")


def draw_prior(ax: Axes, prior: tuple[FloatArray, FloatArray], shown: Range) -> None:
    """The prior density as a dotted line; that of an integer at whole numbers."""
    x, density = prior
    if shown.integer:
        ax.plot(x, density, "_", color=GREY, markersize=6, gid="prior")
    else:
        ax.plot(x, density, color=GREY, linestyle=":", linewidth=LINE, gid="prior")


def finish_panel(ax: Axes, height: float) -> None:
    """A vertical axis from zero, without numbers: a density has no scale to compare."""
    ax.set_ylim(0.0, HEADROOM * height)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)


def interval_text(marginal: OneParameter, shown: Range) -> str:
    """The median and the central 95 % interval, in words."""
    low, median, high = (shown_quantile(marginal, shown, p) for p in (0.025, 0.5, 0.975))
    if shown.integer:
        return f"{median:.0f} [{low:.0f}, {high:.0f}]"
    if shown.log:
        return f"{median:.2g} [{low:.2g}, {high:.2g}]"
    # Of a period the interval may go on past a bound: its width is less than it looks.
    spread = (np.mod(high - low, shown.period) if shown.period else abs(high - low)) / 4
    return f"{rounded(median, spread)} [{rounded(low, spread)}, {rounded(high, spread)}]"


def prior_curve(
    result: Result | StackedResult, shown: Range
) -> tuple[FloatArray, FloatArray] | None:
    """Values (n,) of a parameter and its prior density (n,); None where that is not known.

    It is where parameters are independent a priori: the log prior along one of them is then that
    of its marginal, up to a constant. Not with an improper prior, one that the target includes, a
    joint one, or a constraint.
    """
    kind = dict(result.problem.get("prior", {})).get("kind")
    if result.log_prior is None or kind not in ("uniform", "independent"):
        return None
    if result.problem.get("constraint"):
        return None
    posterior, i = result.posterior, shown.parameter
    one = posterior.space.coordinate(i)
    with np.errstate(all="ignore"):
        everywhere = one.value(PRIOR_GRID)
        log_slope = one.log_slope(PRIOR_GRID)
        x = shown.integers() if shown.integer else shown.spread(201)
        inside = (x > shown.lower) & (x < shown.upper) | bool(shown.period)
        x = x[inside]
        theta = np.tile(posterior.mode(), (len(everywhere) + len(x), 1))
        theta[:, i] = np.concatenate([everywhere, x])
        logs = np.asarray(result.log_prior(theta), dtype=np.float64)
        top = float(np.max(logs))
        if not np.isfinite(top):
            return None
        known, here = np.split(np.exp(logs - top), [len(everywhere)])
        height = known * np.exp(log_slope)
        total = float(np.sum(0.5 * (height[1:] + height[:-1]) * np.diff(PRIOR_GRID)))
    here = here * x if shown.log else here  # the density of the logarithm
    return (x, here / total) if np.isfinite(total) and total > 0 else None
