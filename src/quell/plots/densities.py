"""Densities to draw: of one parameter, and of two at a time with their regions of highest density.

Both are closed forms of the mixture: any two standardised coordinates v are a mixture of normal
distributions as well, and a parameter is a function of its own v. Where the posterior ends at the
edge of a support, the share of the mixture that is inside is estimated from draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quell.arrays import BoolArray, FloatArray
from quell.plots.ranges import Range
from quell.results import Marginal, Posterior
from quell.results.one_parameter import OneParameter

#: Cells of a curve: finer than what can be seen.
N_CURVE = 300
#: Points of a parameter's grid about each component, in its SDs.
ABOUT = np.linspace(-4.0, 4.0, 33)
#: Points of a map along each parameter: spread evenly, and at even steps of probability.
N_MAP, N_SHARES = 48, 40
#: A peak higher than this many times the level that holds all but 5 % of the mass is cut off: it
#: is a spike at a bound, beside which nothing else could be seen.
SPIKE, CUT_SHARE = 1.6, 0.95
#: Draws by which the part of a mixture inside a support is told, and cells along each parameter.
#: The share is smoothed over so many cells. Draws by which the levels of regions are told.
N_DRAWS, N_CELLS, SMOOTH, N_LEVELS = 40_000, 40, 1.2, 4_000
#: Components whose weight is less do not show.
LEAST_WEIGHT = 1e-6


def density_curve(marginal: OneParameter, shown: Range) -> tuple[FloatArray, FloatArray]:
    """Values of a parameter (n,) and the density there (n,); for an integer its probabilities.

    The density is the probability of a small cell around each value, over its width: what the eye
    resolves. So a light tail that is squeezed into a spike at a bound has the height of its mass.
    """
    with np.errstate(all="ignore"):
        if shown.integer:
            k = shown.integers()
            return k, _probabilities(marginal, shown, np.append(k - 0.5, k[-1:] + 0.5))
        edges = shown.spread(N_CURVE + 1)
        x = _middles(edges, shown)
        return x, _probabilities(marginal, shown, edges) / np.diff(_along_axis(edges, shown))


def _along_axis(values: FloatArray, shown: Range) -> FloatArray:
    """Values (n,) as they count along the axis: logarithms where that is logarithmic."""
    return np.log(values) if shown.log else values


def _middles(edges: FloatArray, shown: Range) -> FloatArray:
    """The middles (n,) of the cells between edges (n + 1,), along the axis."""
    if shown.log:
        return np.sqrt(edges[1:]) * np.sqrt(edges[:-1])
    return np.asarray(0.5 * edges[1:] + 0.5 * edges[:-1])


def _probabilities(marginal: OneParameter, shown: Range, edges: FloatArray) -> FloatArray:
    """Probabilities (n,) between neighbouring edges (n + 1,)."""
    below = marginal.cdf(edges)
    if not shown.period:
        below = np.where(edges <= shown.lower, 0.0, np.where(edges >= shown.upper, 1.0, below))
    steps = np.diff(below)
    return np.where(steps < 0, steps + 1.0, steps) if shown.period else steps


def curve_points(marginal: Marginal, shown: Range) -> FloatArray:
    """Values (n,) in the range that miss no peak of the marginal, however narrow."""
    one = marginal.space.coordinate(marginal.parameter)
    used = marginal.weights > LEAST_WEIGHT
    v = (marginal.means[used, None] + marginal.sds[used, None] * ABOUT).ravel()
    even = shown.spread(N_MAP)
    near = shown.place(one.value(v))
    return np.unique(np.append(even, near[(near > even[0]) & (near < even[-1])]))


def peak(x: FloatArray, density: FloatArray, shown: Range) -> float:
    """How high to draw a curve: its peak, unless that is a spike (see `SPIKE`)."""
    density = np.where(np.isfinite(density), density, 0.0)
    top = float(np.max(density, initial=0.0))
    if shown.integer or len(x) < 2:
        return top or 1.0
    mass = density * _cells(_along_axis(x, shown))
    order = np.argsort(density)
    share = np.cumsum(mass[order]) / max(float(mass.sum()), np.finfo(np.float64).tiny)
    level = float(density[order][min(int(np.searchsorted(share, CUT_SHARE)), len(x) - 1)])
    return (top if top <= SPIKE * level else level) or 1.0


@dataclass(frozen=True, eq=False)
class Densities:
    """Densities of a posterior, of one parameter or two at a time."""

    posterior: Posterior

    @cached_property
    def _drawn(self) -> tuple[FloatArray, BoolArray]:
        """Draws (n, D) of the mixture, and whether they are in the support (n,)."""
        p = self.posterior
        n = N_LEVELS if p.support is None else N_DRAWS
        theta = p._draw(n, np.random.default_rng(0))
        inside = np.ones(n, dtype=bool) if p.support is None else p.support(theta)
        # A lost run may have nothing there: it is drawn as it is, and its status says so.
        return theta, inside if inside.any() else ~inside

    @property
    def _is_cut(self) -> bool:
        """Whether some of the mixture is outside the support."""
        return not bool(self._drawn[1].all())

    def alone(self, shown: Range) -> tuple[FloatArray, FloatArray]:
        """Values (n,) of one parameter and its density (n,), or the probabilities of integers."""
        p = self.posterior
        column = int(p.space.free[: shown.parameter].sum())
        if not self._is_cut or p._parts.whole[column]:
            return density_curve(p.marginal(shown.name), shown)
        parts = p._parts.along(column)
        x, density = density_curve(Marginal(p.space, shown.parameter, column, *parts), shown)
        if p.space.dimension == 1:
            theta = np.tile(p.space.bounds.lower, (len(x), 1))
            theta[:, shown.parameter] = x
            density = density * p.support(theta) if p.support is not None else density
        else:
            density = density * self._share_along(shown, x)
        widths = np.ones(len(x)) if shown.integer else _cells(_along_axis(x, shown))
        return x, density / (float((density * widths).sum()) or 1.0)

    def _share_along(self, shown: Range, x: FloatArray) -> FloatArray:
        """Of the mixture's mass at values x (n,) of one parameter, the share (n,) inside."""
        from scipy.ndimage import gaussian_filter1d

        theta, inside = self._drawn
        at = shown.fraction(shown.place(theta[:, shown.parameter]))
        edges = np.linspace(0.0, 1.0, N_CELLS + 1)
        if shown.integer:
            edges = shown.fraction(np.append(x - 0.5, x[-1:] + 0.5))
        every, kept = (np.histogram(v, edges)[0].astype(float) for v in (at, at[inside]))
        if not shown.integer:
            every, kept = gaussian_filter1d(every, SMOOTH), gaussian_filter1d(kept, SMOOTH)
        share = kept / np.maximum(every, np.finfo(np.float64).tiny)
        known = every > 1e-6 * every.sum()
        middles = 0.5 * edges[1:] + 0.5 * edges[:-1]
        return np.interp(shown.fraction(x), middles[known], share[known])

    def pair(
        self, first: Range, second: Range, shares: Sequence[float]
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Values (m,), (n,) of two parameters, their density (n, m), and its levels.

        The density is in units of the ranges, both of width one: in the units of the parameters it
        may be out of the reach of numbers. An integer has two values for each cell, its edges, with
        the density of the cell: drawn as it is, the density is a staircase. Above each of the
        levels (ascending) lies a share of the probability, one for each of ``shares``.
        """
        with np.errstate(all="ignore"):
            x, y = (self.points(shown) for shown in (first, second))
            density = self.at(first, second, x[None, :], y[:, None])
            x, density = staircase(x, density, first, axis=1)
            y, density = staircase(y, density, second, axis=0)
            theta, inside = self._drawn
            theta = theta[inside][:N_LEVELS]
            at = [theta[:, shown.parameter] for shown in (first, second)]
            return x, y, density, rising_levels(self.at(first, second, at[0], at[1]), shares)

    def at(self, first: Range, second: Range, x: FloatArray, y: FloatArray) -> FloatArray:
        """The density at values x and y of two parameters, which are broadcast."""
        total = self._parts_at(first, second, x, y)
        if self._is_cut:
            total *= self._share_inside(first, second, x, y)
        return np.where(np.isfinite(total), total, 0.0)

    def points(self, shown: Range) -> FloatArray:
        """Values (n,) of one parameter at which its maps are computed."""
        marginal = self.posterior.marginal(shown.name)
        if shown.integer or not isinstance(marginal, Marginal):
            return shown.integers()
        curve = curve_points(marginal, shown)
        density = marginal.density(curve)
        share = np.cumsum(np.where(np.isfinite(density), density, 0.0) * _cells(curve))
        share /= share[-1] if share[-1] > 0 else 1.0
        even = np.interp(np.linspace(0.005, 0.995, N_SHARES), share, curve)
        return np.unique(np.append(shown.spread(N_MAP), even))

    def _parts_at(self, first: Range, second: Range, x: FloatArray, y: FloatArray) -> FloatArray:
        """The density of the normal distributions at values x and y, which are broadcast."""
        p = self.posterior
        columns = [int(p.space.free[: shown.parameter].sum()) for shown in (first, second)]
        used = p._parts.weights > LEAST_WEIGHT
        weights, scale = p._parts.weights[used], p._parts.scales[used]
        factors = p._parts.factor[columns]
        (a, b), (_, c) = factors @ factors.T
        density = np.ones((*np.broadcast_shapes(x.shape, y.shape), len(weights)))
        z, log_slope, inside = [], np.zeros(1), np.ones(1, bool)
        for shown, column, at in zip((first, second), columns, (x, y), strict=True):
            within, v, slope = p.space.standard_coordinate(shown.parameter, at)
            inside = inside & within
            log_slope = log_slope + shown.log_stretch(at)
            if p._parts.whole[column]:
                density = density * (np.rint(at)[..., None] == p._parts.integers[used, column])
            else:
                z.append((v[..., None] - p._parts.means[used, column]) / scale)
                log_slope = log_slope - slope
        if len(z) == 2:
            # v_y given v_x is normal around a line, with what is left of its variance.
            rest = max(c - b * b / a, 1e-12 * c)
            density = density * np.exp(-0.5 / rest * (z[1] - (b / a) * z[0]) ** 2)
            density = density * np.exp(-0.5 / a * z[0] ** 2)
            density = density / (2 * np.pi * np.sqrt(a * rest) * scale**2)
        elif z:
            size = max(a, c)  # that of the other one is zero
            density = density * np.exp(-0.5 / size * z[0] ** 2)
            density = density / (np.sqrt(2 * np.pi * size) * scale)
        return np.asarray(np.where(inside, (density @ weights) * np.exp(log_slope), 0.0))

    def _share_inside(
        self, first: Range, second: Range, x: FloatArray, y: FloatArray
    ) -> FloatArray:
        """Of the mixture's mass at values x and y, the share in the support."""
        from scipy.ndimage import gaussian_filter, map_coordinates

        p = self.posterior
        assert p.support is not None
        x, y = np.broadcast_arrays(x, y)
        if p.space.dimension == 2:  # nothing to integrate over
            points = np.tile(p.space.bounds.lower, (*x.shape, 1))
            points[..., first.parameter], points[..., second.parameter] = x, y
            return p.support(points.reshape(-1, p.dimension)).reshape(x.shape).astype(float)
        theta, inside = self._drawn
        columns = [r.fraction(r.place(theta[:, r.parameter])) for r in (second, first)]
        at, edges = np.stack(columns, axis=1), [np.linspace(0.0, 1.0, N_CELLS + 1)] * 2
        every, kept = np.histogramdd(at, edges)[0], np.histogramdd(at[inside], edges)[0]
        few = float(every.sum()) * 1e-6  # where there are no draws the share is that around
        smooth = [gaussian_filter(counts, SMOOTH) for counts in (kept, every)]
        wide = [gaussian_filter(counts, 4.0) for counts in (kept, every)]
        share = (smooth[0] + few * wide[0] / (wide[1] + few)) / (smooth[1] + few)
        cells = [second.fraction(second.place(y)), first.fraction(first.place(x))]
        places = np.stack(cells) * N_CELLS - 0.5
        return np.asarray(map_coordinates(share, places, order=1, mode="nearest"))


def staircase(
    points: FloatArray, density: FloatArray, shown: Range, axis: int
) -> tuple[FloatArray, FloatArray]:
    """Both edges of every cell of an integer, with its density; others as they are."""
    if not shown.integer:
        return points, density
    edge = 0.5 - 1e-6
    edges = np.stack([points - edge, points + edge], axis=1).ravel()
    return edges, np.repeat(density, 2, axis=axis)


def _cells(points: FloatArray) -> FloatArray:
    """Widths (n,) of the cells around points (n,), from half-way to half-way."""
    if len(points) < 2:
        return np.ones(len(points))
    steps = 0.5 * np.diff(points)
    return np.asarray(np.append(steps, 0.0) + np.append(0.0, steps))


def rising_levels(values: FloatArray, shares: Sequence[float]) -> FloatArray:
    """Levels above which the shares of some draws lie, given their densities (n,); ascending.

    >>> rising_levels(np.arange(1.0, 102.0), [0.5, 0.9])
    array([11., 51.])
    """
    levels = np.quantile(values, 1.0 - np.sort(np.asarray(shares, dtype=np.float64))[::-1])
    for i in range(1, len(levels)):  # contours must differ
        levels[i] = max(levels[i], np.nextafter(levels[i - 1], np.inf))
    return np.asarray(levels)
