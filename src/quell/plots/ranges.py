"""The range of values that a parameter is shown over.

It holds nearly all of the posterior, and whatever else is drawn; a hard bound within reach is
inside, with a little room beyond it. A periodic parameter is shown as one piece of its circle: the
range may go on past a bound, and the numbers at the ticks are those of the user's period. A
positive parameter whose posterior spans orders of magnitude has a logarithmic axis; its density is
then that of the logarithm, so that areas are probabilities to the eye.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from quell.arrays import FloatArray
from quell.plots.style import PALE, few_ticks
from quell.results.distribution import Distribution
from quell.results.one_parameter import OneParameter
from quell.space import InferenceSpace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Shares of the posterior at which a range ends, before its margins.
ENDS = (0.0015, 0.9985)
#: Margins on both sides, as a part of the range.
MARGIN = 0.06
#: A bound nearer to the range than this part of it is shown.
NEAR = 0.15
#: A periodic parameter is shown all around if its range is more than this part of the period.
WHOLE = 0.7
#: Integers with more values in the range than these are drawn like other parameters.
MOST_INTEGERS = 60
#: A positive parameter has a logarithmic axis if its range is from one to more than this.
DECADES = 1e3


@dataclass(frozen=True)
class Range:
    """Values of one parameter from ``low`` to ``high``.

    ``lower`` and ``upper`` are the hard bounds: for an integer the outer edges of its first and
    last cell. ``integer``: drawn as whole numbers. ``period`` is 0 where there is none. ``log``:
    with a logarithmic axis.
    """

    parameter: int
    name: str
    low: float
    high: float
    lower: float
    upper: float
    integer: bool = False
    period: float = 0.0
    log: bool = False

    @property
    def width(self) -> float:
        """From one end to the other."""
        return self.high - self.low

    def place(self, values: FloatArray) -> FloatArray:
        """Where values (...) are drawn: periodic ones moved by whole periods into the range."""
        if not self.period:
            return values
        # The range may be less than a period: its middle is what must be nearest.
        middle = 0.5 * self.low + 0.5 * self.high
        return values - self.period * np.round((values - middle) / self.period)

    def fraction(self, values: FloatArray) -> FloatArray:
        """How far along the axis values (...) are: 0 at its beginning, 1 at its end."""
        if self.log:
            with np.errstate(all="ignore"):
                return np.log(values / self.low) / np.log(self.high / self.low)
        return (values - self.low) / self.width

    def spread(self, n: int) -> FloatArray:
        """``n`` values from end to end, within the bounds, evenly along the axis."""
        low, high = self.low, self.high
        if not self.period:
            low, high = max(low, self.lower), min(high, self.upper)
        return np.geomspace(low, high, n) if self.log else np.linspace(low, high, n)

    def log_stretch(self, values: FloatArray) -> FloatArray:
        """Log of how much of the parameter a unit of the whole axis is, at values (...)."""
        if self.log:
            return np.asarray(np.log(values) + np.log(np.log(self.high / self.low)))
        return np.full(np.shape(values), np.log(self.width))

    def integers(self) -> FloatArray:
        """The whole numbers in the range, within the bounds."""
        low, high = max(self.low, self.lower), min(self.high, self.upper)
        return np.arange(np.ceil(low), np.floor(high) + 1)

    def on_x(self, ax: Axes, n_ticks: int) -> None:
        """Limits, ticks and bounds on the horizontal axis."""
        if self.log:
            ax.set_xscale("log")
        ax.set_xlim(self.low, self.high)
        _ticks(self, ax.xaxis, n_ticks)
        for bound in self.bounds_in_sight():
            ax.axvline(bound, color="0.35", linewidth=0.8, zorder=0.5, gid="bound")
        for ends in self.beyond():
            ax.axvspan(*ends, color=PALE, linewidth=0, zorder=0.4, gid="beyond")

    def on_y(self, ax: Axes, n_ticks: int) -> None:
        """Limits, ticks and bounds on the vertical axis."""
        if self.log:
            ax.set_yscale("log")
        ax.set_ylim(self.low, self.high)
        _ticks(self, ax.yaxis, n_ticks)
        for bound in self.bounds_in_sight():
            ax.axhline(bound, color="0.35", linewidth=0.8, zorder=0.5, gid="bound")
        for ends in self.beyond():
            ax.axhspan(*ends, color=PALE, linewidth=0, zorder=0.4, gid="beyond")

    def bounds_in_sight(self) -> list[float]:
        """Hard bounds in the range; of a period, where it begins again."""
        bounds = [self.lower, self.upper]
        if self.period:
            bounds += [self.lower - self.period, self.upper + self.period]
        edge = 1e-9 * self.width  # a period shown from bound to bound is not cut by them
        inside = [b for b in bounds if self.low + edge < b < self.high - edge]
        return sorted(set(inside))

    def beyond(self) -> list[tuple[float, float]]:
        """Parts of the range that are out of bounds."""
        if self.period:
            return []
        parts = [(self.low, min(self.lower, self.high)), (max(self.upper, self.low), self.high)]
        return [(a, b) for a, b in parts if np.isfinite(a) and np.isfinite(b) and b > a]


def _ticks(shown: Range, axis: object, n: int) -> None:
    from matplotlib.axis import Axis
    from matplotlib.ticker import (
        FuncFormatter,
        LogFormatterSciNotation,
        LogLocator,
        MaxNLocator,
        NullLocator,
    )

    assert isinstance(axis, Axis)
    if shown.log:
        axis.set_major_locator(LogLocator(numticks=n + 1))
        axis.set_major_formatter(LogFormatterSciNotation())
        axis.set_minor_locator(NullLocator())
        return
    few_ticks(axis, n)
    if shown.integer:
        axis.set_major_locator(MaxNLocator(nbins=n, integer=True, min_n_ticks=1))
    if shown.period:
        low, period = shown.lower, shown.period

        def wrapped(value: float, _: object) -> str:
            return f"{low + np.mod(value - low, period):.4g}"

        axis.set_major_formatter(FuncFormatter(wrapped))


def range_of(
    posteriors: Sequence[Distribution],
    name: str,
    also: FloatArray | None = None,
    wider: float = 0.0,
) -> Range:
    """The range of the parameter of this name: all of the ``posteriors`` that have it.

    ``also`` (n,) are more values that must be in it, nan for none. ``wider`` adds that part of it
    on both sides.
    """
    having = [p for p in posteriors if name in p.names and p.space.free[p.names.index(name)]]
    space, i = having[0].space, having[0].names.index(name)
    marginals = [posterior.marginal(name) for posterior in having]
    integer = having[0].integer is not None and having[0].integer[i]
    lower, upper = float(space.bounds.lower[i]), float(space.bounds.upper[i])
    period = upper - lower if space.bounds.periodic[i] else 0.0
    extra = np.empty(0) if also is None else also[np.isfinite(also)]
    if period:
        low, high = _arc(space, i, marginals, extra, wider)
        return Range(i, name, low, high, lower, upper, integer, period)
    ends = [np.clip(m.quantile(p), lower, upper) for m in marginals for p in ENDS]
    low, high = float(np.min([*ends, *extra])), float(np.max([*ends, *extra]))
    if lower == 0.0 and low > 0 and high > DECADES * low and not integer:
        stretch = (high / low) ** (MARGIN + wider)
        low, high = low / stretch, min(high * stretch, upper)
        return Range(i, name, low, high, lower, upper, log=True)
    if not high > low:  # all mass within rounding of one value
        pad = max(abs(low) * 1e-6, np.finfo(np.float64).tiny * 1e10)
        low, high = low - pad, high + pad
    width = min(high - low, np.finfo(np.float64).max / 10)
    low, high = low - wider * width, high + wider * width
    integer = integer and high - low < MOST_INTEGERS
    if integer:
        low, high = np.rint(low) - 0.5, np.rint(high) + 0.5
    low, high = _with_bound(low, high, lower, upper)
    return Range(i, name, low, high, lower, upper, integer)


def own_range(posterior: Distribution, shown: Range) -> Range:
    """The same range for a posterior that may have the parameter in another place."""
    return replace(shown, parameter=posterior.names.index(shown.name))


def _with_bound(low: float, high: float, lower: float, upper: float) -> tuple[float, float]:
    """A range with its margins: bounds that are near are in, with some room beyond."""
    width = high - low
    low = lower - MARGIN * width if low - lower < NEAR * width else low - MARGIN * width
    high = upper + MARGIN * width if upper - high < NEAR * width else high + MARGIN * width
    return float(low), float(high)


def _arc(
    space: InferenceSpace,
    i: int,
    marginals: Sequence[OneParameter],
    extra: FloatArray,
    wider: float,
) -> tuple[float, float]:
    """The part of a circle from which a periodic parameter is seen, around its plausible box."""
    b = space.bounds
    period = float(b.upper[i] - b.lower[i])
    centre = 0.5 * float(b.plausible_lower[i]) + 0.5 * float(b.plausible_upper[i])
    centre = float(b.lower[i] + np.mod(centre - b.lower[i], period))
    ends = np.concatenate([[m.quantile(p) for m in marginals for p in ENDS], extra])
    # Relative to the centre every value is within half a period: the seam is opposite.
    offsets = np.mod(ends - centre + 0.5 * period, period) - 0.5 * period
    low, high = float(offsets.min()), float(offsets.max())
    margin = (MARGIN + wider) * (high - low)
    low, high = low - margin, high + margin
    if high - low > WHOLE * period:
        low, high = -0.5 * period, 0.5 * period
    return centre + low, centre + high
