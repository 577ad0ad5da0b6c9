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
from quell.problem.integers import round_to_integers
from quell.results import Marginal, Posterior
from quell.results.moments import along

#: Cells of a curve: finer than what can be seen.
N_CURVE = 300
#: Points of a parameter's grid about each component, in its SDs.
ABOUT = np.linspace(-4.0, 4.0, 33)
#: Points of a map along each parameter: spread evenly, and at even steps of probability.
N_MAP, N_SHARES = 48, 40
#: A peak higher than this many times the level that holds all but 1 % of the mass is cut off: it
#: is a spike at a bound, beside which nothing else could be seen.
SPIKE, CUT_SHARE = 1.6, 0.99
#: Draws by which the part of a mixture inside a support is told, and cells along each parameter.
#: The share is smoothed over so many cells.
N_DRAWS, N_CELLS, SMOOTH = 40_000, 40, 1.2
#: Places in the cell of an integer at which the density is averaged, and their weights.
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(3)
#: Components whose weight is less do not show.
LEAST_WEIGHT = 1e-6


def density_curve(marginal: Marginal, shown: Range) -> tuple[FloatArray, FloatArray]:
    """Values of a parameter (n,) and the density there (n,); for an integer its probabilities.

    The density is the probability of a small cell around each value, over its width: what the eye
    resolves. So a light tail that is squeezed into a spike at a bound has the height of its mass.
    """
    with np.errstate(all="ignore"):
        if shown.integer:
            k = shown.integers()
            return k, _probabilities(marginal, shown, np.append(k - 0.5, k[-1:] + 0.5))
        low, high = shown.low, shown.high
        if not shown.period:
            low, high = max(low, shown.lower), min(high, shown.upper)
        edges = np.linspace(low, high, N_CURVE + 1)
        x = 0.5 * edges[1:] + 0.5 * edges[:-1]
        return x, _probabilities(marginal, shown, edges) / np.diff(edges)


def _probabilities(marginal: Marginal, shown: Range, edges: FloatArray) -> FloatArray:
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
    low, high = shown.low, shown.high
    if not shown.period:
        low, high = max(low, shown.lower), min(high, shown.upper)
    near = shown.place(one.value(v))
    x = np.concatenate([np.linspace(low, high, N_MAP), near[(near > low) & (near < high)]])
    return np.unique(x)


def peak(x: FloatArray, density: FloatArray, *, integer: bool = False) -> float:
    """How high to draw a curve: its peak, unless that is a spike (see `SPIKE`)."""
    density = np.where(np.isfinite(density), density, 0.0)
    top = float(np.max(density, initial=0.0))
    if integer or len(x) < 2:
        return top or 1.0
    mass = density * _cells(x)
    order = np.argsort(density)
    share = np.cumsum(mass[order]) / max(float(mass.sum()), np.finfo(np.float64).tiny)
    level = float(density[order][min(int(np.searchsorted(share, CUT_SHARE)), len(x) - 1)])
    return (top if top <= SPIKE * level else level) or 1.0


@dataclass(frozen=True, eq=False)
class Densities:
    """Densities of a posterior, of one parameter or two at a time."""

    posterior: Posterior

    @cached_property
    def _draws(self) -> tuple[FloatArray, BoolArray] | None:
        """Draws (n, D) of the mixture and whether they are in the support; None if all are."""
        p = self.posterior
        if p.support is None:
            return None
        draws = p.mixture.sample(N_DRAWS, np.random.default_rng(0), stratified=True)
        theta = p.space.to_original(draws)
        if p.integer is not None and any(p.integer):
            theta = round_to_integers(theta, p.space.bounds, np.array(p.integer))
        inside = p.support(theta)
        return None if inside.all() or not inside.any() else (theta, inside)

    def alone(self, shown: Range) -> tuple[FloatArray, FloatArray]:
        """Values (n,) of one parameter and its density (n,), or the probabilities of integers."""
        p = self.posterior
        if self._draws is None:
            return density_curve(p.marginal(shown.name), shown)
        column = int(p.space.free[: shown.parameter].sum())
        mixture = along(p.mixture, p.space, column)
        x, density = density_curve(Marginal(p.space, shown.parameter, column, *mixture), shown)
        if p.space.dimension == 1:
            theta = np.tile(p.space.bounds.lower, (len(x), 1))
            theta[:, shown.parameter] = x
            density = density * p.support(theta) if p.support is not None else density
        else:
            density = density * self._share_along(shown, x)
        widths = np.ones(len(x)) if shown.integer else _cells(x)
        return x, density / (float((density * widths).sum()) or 1.0)

    def _share_along(self, shown: Range, x: FloatArray) -> FloatArray:
        """Of the mixture's mass at values x (n,) of one parameter, the share (n,) inside."""
        from scipy.ndimage import gaussian_filter1d

        assert self._draws is not None
        theta, inside = self._draws
        at = shown.place(theta[:, shown.parameter])
        edges = np.linspace(shown.low, shown.high, N_CELLS + 1)
        if shown.integer:
            edges = np.append(x - 0.5, x[-1:] + 0.5)
        every, kept = (np.histogram(v, edges)[0].astype(float) for v in (at, at[inside]))
        if not shown.integer:
            every, kept = gaussian_filter1d(every, SMOOTH), gaussian_filter1d(kept, SMOOTH)
        share = kept / np.maximum(every, np.finfo(np.float64).tiny)
        known = every > 1e-6 * every.sum()
        middles = 0.5 * edges[1:] + 0.5 * edges[:-1]
        return np.interp(x, middles[known], share[known])

    def pair(self, first: Range, second: Range) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Values (m,), (n,) of two parameters and their density (n, m).

        It is in units of the ranges, both of width one, and normalised there: in the units of the
        parameters it may be out of the reach of numbers.

        An integer has two values for each cell, its edges, with the probability of the cell: drawn
        as it is, the density is a staircase.
        """
        with np.errstate(all="ignore"):
            x, y = (self._points(shown) for shown in (first, second))
            fine = self._closed_form(first, second, _refined(x, first), _refined(y, second))
            fine = _averaged(_averaged(fine, first, axis=1), second, axis=0)
            if self._draws is not None:
                fine = fine * self._share_inside(first, second, x, y)
            fine = np.where(np.isfinite(fine), fine, 0.0)
            x, fine = _staircase(x, fine, first, axis=1)
            y, fine = _staircase(y, fine, second, axis=0)
            cells = _cells(y / second.width)[:, None] * _cells(x / first.width)
            return x, y, fine / (float((fine * cells).sum()) or 1.0)

    def _points(self, shown: Range) -> FloatArray:
        if shown.integer:
            return shown.integers()
        marginal = self.posterior.marginal(shown.name)
        curve = curve_points(marginal, shown)
        density = marginal.density(curve)
        share = np.cumsum(np.where(np.isfinite(density), density, 0.0) * _cells(curve))
        share /= share[-1] if share[-1] > 0 else 1.0
        even = np.interp(np.linspace(0.005, 0.995, N_SHARES), share, curve)
        return np.unique(np.concatenate([np.linspace(curve[0], curve[-1], N_MAP), even]))

    def _closed_form(self, first: Range, second: Range, x: FloatArray, y: FloatArray) -> FloatArray:
        """The density (n, m) of the mixture at values x (m,) and y (n,), in units of the ranges."""
        p = self.posterior
        columns = [int(p.space.free[: shown.parameter].sum()) for shown in (first, second)]
        used = p.mixture.weights > LEAST_WEIGHT
        weights, mean_x, _ = (a[used] for a in along(p.mixture, p.space, columns[0]))
        _, mean_y, _ = (a[used] for a in along(p.mixture, p.space, columns[1]))
        scale = p.mixture.scales[used]
        directions = p.space.rotation[columns] * p.space.scales * p.mixture.lengths
        (a, b), (_, c) = directions @ directions.T
        in_x, v_x, slope_x = p.space.standard_coordinate(first.parameter, x)
        in_y, v_y, slope_y = p.space.standard_coordinate(second.parameter, y)
        # v_y given v_x is normal around a line, with what is left of its variance.
        rest = max(c - b * b / a, 1e-12 * c)
        z_x = (v_x[:, None] - mean_x) / scale  # (m, K)
        z_y = (v_y[:, None] - mean_y) / scale  # (n, K)
        marginal = weights / scale**2 * np.exp(-0.5 * z_x**2 / a)  # (m, K)
        off = z_y[:, None, :] - (b / a) * z_x
        conditional = np.exp(-0.5 / rest * off**2)  # (n, m, K)
        density = np.einsum("nmk,mk->nm", conditional, marginal) / (2 * np.pi * np.sqrt(a * rest))
        density *= np.exp(np.log(second.width) - slope_y)[:, None]
        density *= np.exp(np.log(first.width) - slope_x)
        return np.asarray(np.where(in_y[:, None] & in_x, density, 0.0))

    def _share_inside(
        self, first: Range, second: Range, x: FloatArray, y: FloatArray
    ) -> FloatArray:
        """Of the mixture's mass at values x (m,), y (n,), the share (n, m) in the support."""
        from scipy.ndimage import gaussian_filter, map_coordinates

        p = self.posterior
        assert p.support is not None
        assert self._draws is not None
        if p.space.dimension == 2:  # nothing to integrate over
            theta = np.tile(p.space.bounds.lower, (len(y), len(x), 1))
            theta[..., first.parameter], theta[..., second.parameter] = np.meshgrid(x, y)
            return p.support(theta.reshape(-1, p.dimension)).reshape(len(y), len(x)).astype(float)
        theta, inside = self._draws
        at = [shown.place(theta[:, shown.parameter]) for shown in (second, first)]
        edges = [np.linspace(shown.low, shown.high, N_CELLS + 1) for shown in (second, first)]
        every = np.histogramdd(np.stack(at, axis=1), bins=edges)[0]
        kept = np.histogramdd(np.stack(at, axis=1)[inside], bins=edges)[0]
        few = float(every.sum()) * 1e-6  # where there are no draws the share is that around
        smooth = [gaussian_filter(counts, SMOOTH) for counts in (kept, every)]
        wide = [gaussian_filter(counts, 4.0) for counts in (kept, every)]
        share = (smooth[0] + few * wide[0] / (wide[1] + few)) / (smooth[1] + few)
        cells = [
            (values - shown.low) / shown.width * N_CELLS - 0.5
            for values, shown in ((y, second), (x, first))
        ]
        places = np.meshgrid(*cells, indexing="ij")
        return np.asarray(map_coordinates(share, places, order=1, mode="nearest"))


def _refined(points: FloatArray, shown: Range) -> FloatArray:
    """Places in the cells of an integer; other values as they are."""
    return (points[:, None] + 0.5 * NODES).ravel() if shown.integer else points


def _averaged(density: FloatArray, shown: Range, axis: int) -> FloatArray:
    """The average over the places in each cell of an integer."""
    if not shown.integer:
        return density
    shape = list(density.shape)
    shape[axis : axis + 1] = [shape[axis] // len(NODES), len(NODES)]
    return np.asarray(
        np.tensordot(density.reshape(shape), 0.5 * NODE_WEIGHTS, axes=([axis + 1], [0]))
    )


def _staircase(
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


def density_levels(
    x: FloatArray, y: FloatArray, density: FloatArray, shares: Sequence[float]
) -> FloatArray:
    """Levels above which the shares of the probability lie, the lowest first and all distinct.

    >>> x = np.linspace(-5, 5, 201)
    >>> density = np.exp(-0.5 * (x**2 + x[:, None] ** 2))
    >>> density_levels(x, x, density, [0.5, 0.9]).round(2)  # 1 - share, for a normal
    array([0.1, 0.5])
    """
    cells = [_cells(points / np.ptp(points)) for points in (y, x)]  # products may overflow
    mass = (density * cells[0][:, None] * cells[1]).ravel()
    flat = density.ravel()
    order = np.argsort(-flat, kind="stable")
    share = np.cumsum(mass[order]) / max(float(mass.sum()), np.finfo(np.float64).tiny)
    places = np.minimum(np.searchsorted(share, sorted(shares, reverse=True)), len(flat) - 1)
    levels = flat[order][places]
    for i in range(1, len(levels)):  # contours must rise
        levels[i] = max(levels[i], np.nextafter(levels[i - 1], np.inf))
    return np.asarray(levels)
