"""Densities of one variable, and their estimate from draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import dct, idct
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq

from quell.arrays import FloatArray

#: Points of a density estimate, and how far its range exceeds that of the draws, on each side.
GRID_SIZE, MARGIN = 8192, 0.1
#: Parts into which a step of the densities' grids is cut for the integral of their difference.
PARTS = 8
STAGES = 7  # of the bandwidth's fixed-point equation; more change nothing


@dataclass(frozen=True, eq=False)
class Density:
    """A density on [lower, upper], zero outside; call it with values (...).

    ``grid`` (n,) are points fine enough to integrate it on, the two ends included.

    >>> uniform = Density(lambda x: np.full(x.shape, 0.5), np.linspace(0.0, 2.0, 5))
    >>> uniform([-1.0, 1.0])
    array([0. , 0.5])
    """

    function: Callable[[FloatArray], FloatArray]
    grid: FloatArray

    @property
    def lower(self) -> float:
        """Where the density begins."""
        return float(self.grid[0])

    @property
    def upper(self) -> float:
        """Where the density ends."""
        return float(self.grid[-1])

    def __call__(self, x: ArrayLike) -> FloatArray:
        """The density at ``x`` (...)."""
        x = np.asarray(x, dtype=np.float64)
        inside = (x >= self.lower) & (x <= self.upper)
        nearest = np.clip(x, self.lower, self.upper)
        return np.where(inside, np.maximum(self.function(nearest), 0.0), 0.0)

    @classmethod
    def from_function(
        cls, function: Callable[[FloatArray], FloatArray], lower: float, upper: float
    ) -> Density:
        """A density given by a formula."""
        return cls(function, np.linspace(lower, upper, GRID_SIZE))

    @classmethod
    def from_grid(cls, x: FloatArray, values: FloatArray) -> Density:
        """The cubic spline through ``values`` (n,) at the increasing points ``x`` (n,)."""
        return cls(CubicSpline(x, values), x)


def trapezoid(values: FloatArray, x: FloatArray) -> float:
    """The integral over points ``x`` (n,) of ``values`` (n,)."""
    return float(np.sum(0.5 * (values[1:] + values[:-1]) * np.diff(x)))


def total_variation(p: Density, q: Density) -> float:
    """½ ∫ |p − q|: 0 for equal densities, 1 for disjoint ones.

    >>> a = Density.from_function(lambda x: np.ones(x.shape), 0, 1)
    >>> b = Density.from_function(lambda x: np.ones(x.shape), 0.25, 1.25)
    >>> round(total_variation(a, b), 3)
    0.25
    """
    # Each end is taken twice, on either side of the jump there.
    ends = np.array([p.lower, p.upper, q.lower, q.upper])
    nodes = np.unique(np.concatenate([p.grid, q.grid, np.nextafter(ends, -np.inf),
                                      np.nextafter(ends, np.inf)]))  # fmt: skip
    # Where the densities cross, |p − q| has a kink that the nodes alone would miss; where both
    # are negligible, nothing is to be gained from more points.
    largest = np.maximum(p(nodes), q(nodes))
    matters = np.maximum(largest[1:], largest[:-1]) > 1e-9 * largest.max()
    between = nodes[:-1, None] + np.diff(nodes)[:, None] * (np.arange(1, PARTS) / PARTS)
    x = np.unique(np.concatenate([nodes, between[matters].ravel()]))
    return 0.5 * trapezoid(np.abs(p(x) - q(x)), x)


def inverse_cdf_draws(
    x: FloatArray, density: FloatArray, n: int, rng: np.random.Generator
) -> FloatArray:
    """``n`` draws (n,) from a density, normalised or not, given on a fine grid ``x``."""
    steps = 0.5 * (density[1:] + density[:-1]) * np.diff(x)
    cdf = np.concatenate([[0.0], np.cumsum(steps)])
    return np.interp(rng.random(n), cdf / cdf[-1], x)


def density_from_draws(
    draws: FloatArray, *, lower: float = -np.inf, upper: float = np.inf
) -> Density:
    """Kernel density estimate from ``draws`` (n,) with the diffusion bandwidth.

    A normal kernel on 8192 points over the range of the draws plus 10 % on each side, but not
    beyond [lower, upper]; reflected at the ends of that range, and of integral one. See Botev,
    Grotowski and Kroese (2010), Annals of Statistics 38, 2916-2957.

    >>> p = density_from_draws(np.random.default_rng(1).standard_normal(100_000))
    >>> bool(abs(p(0.0) - 1 / np.sqrt(2 * np.pi)) < 0.01)
    True
    """
    low, high = float(np.min(draws)), float(np.max(draws))
    margin = MARGIN * (high - low) or 1e-9 * max(1.0, abs(low))
    low, high = max(low - margin, lower), min(high + margin, upper)
    count, edges = np.histogram(draws, bins=GRID_SIZE, range=(low, high))
    smooth = np.maximum(_smoothed(count, len(np.unique(draws))), 0.0)
    # The values belong to the middle of the bins; at the very ends a reflected density is flat.
    x = np.concatenate([[low], 0.5 * (edges[1:] + edges[:-1]), [high]])
    values = np.concatenate([smooth[:1], smooth, smooth[-1:]])
    return Density.from_grid(x, values / trapezoid(values, x))


def density_of_logs(draws: FloatArray, *, lower: float = 0.0, upper: float = np.inf) -> Density:
    """The density of the logs of positive ``draws`` (n,) between positive bounds, by the same rule.

    Draws that are zero or infinite by rounding count as the nearest number that is not.

    >>> p = density_of_logs(np.exp(np.random.default_rng(1).standard_normal(100_000)))
    >>> bool(abs(p(0.0) - 1 / np.sqrt(2 * np.pi)) < 0.01)
    True
    """
    limits = np.finfo(np.float64)
    low, high = (np.log(end) if 0 < end < np.inf else sign * np.inf
                 for end, sign in ((lower, -1), (upper, 1)))  # fmt: skip
    return density_from_draws(
        np.log(np.clip(draws, limits.tiny, limits.max)), lower=low, upper=high
    )


def density_on_box(draws: FloatArray, *, lower: float, upper: float) -> Density:
    """The same estimate as the original benchmark makes it: on 8192 points from bound to bound.

    A draw counts for the point at or directly below it, which shifts the density by half a step
    of the grid to the left. The stored marginals of the benchmark's problems are shifted alike,
    so only this estimate compares with them where a posterior is narrow. Draws outside the
    bounds are dropped.

    >>> p = density_on_box(np.random.default_rng(1).random(100_000), lower=0.0, upper=1.0)
    >>> len(p.grid), bool(abs(p(0.0) - 1) < 0.1)
    (8192, True)
    """
    grid = np.linspace(lower, upper, GRID_SIZE)
    draws = draws[(draws >= lower) & (draws <= upper)]
    if len(draws) == 0:
        raise ValueError(f"no draws between {lower:g} and {upper:g}")
    below = np.floor((draws - lower) / (upper - lower) * (GRID_SIZE - 1)).astype(int)
    count = np.bincount(below, minlength=GRID_SIZE)
    smooth = np.maximum(_smoothed(count, len(np.unique(draws))), np.finfo(np.float64).eps)
    return Density.from_grid(grid, smooth / trapezoid(smooth, grid))


def _smoothed(count: NDArray[np.integer], n: int) -> FloatArray:
    """The histogram ``count`` (size,) of ``n`` different draws, smoothed; of mean about one.

    The cosine basis reflects the density at the ends of the range.
    """
    cosines = dct(count / count.sum(), type=2)
    t = bandwidth(cosines, n) ** 2
    return len(count) * idct(cosines * np.exp(-0.5 * np.arange(len(count)) ** 2 * np.pi**2 * t))


def bandwidth(cosines: FloatArray, n: int) -> float:
    """SD of the kernel in units of the range, from the histogram's cosine transform (size,).

    The root of t = ξ γ^[l](t): each functional ‖f^(s)‖² is estimated with the bandwidth that the
    next higher one makes optimal. ``n`` counts the different draws. Without a root a rule for
    normal densities is used.
    """
    squares = np.arange(1, len(cosines), dtype=np.float64) ** 2
    logs, power = np.log(squares), (0.5 * cosines[1:]) ** 2

    def functional(s: int, t: float) -> float:
        """‖f^(s)‖² of the density smoothed with t."""
        # Beyond this frequency a term is below 1e-30 of the largest.
        m = min(len(squares), int(np.sqrt((8 * s + 60) / (np.pi**2 * t))) + 1)
        weights = np.exp(s * logs[:m] - squares[:m] * np.pi**2 * t)
        return float(2 * np.pi ** (2 * s) * (weights @ power[:m]))

    def excess(t: float) -> float:
        """T minus what it should be."""
        f = functional(STAGES, t)
        for s in range(STAGES - 1, 1, -1):
            if not f > 0:
                return t - np.inf
            odd = np.prod(np.arange(1, 2 * s, 2)) / np.sqrt(2 * np.pi)
            constant = (1 + 0.5 ** (s + 0.5)) / 3
            # Of draws that are all but evenly spread f may be so small that a width is infinite.
            with np.errstate(over="ignore"):
                width = (2 * constant * odd / (n * f)) ** (2 / (3 + 2 * s))
            f = functional(s, width)
        return t - (2 * n * np.sqrt(np.pi) * f) ** -0.4 if f > 0 else -np.inf

    high = 0.01
    while high < 1 and not excess(high) > 0:
        high *= 2
    low = 1e-3 * high
    while low > 1e-18 and excess(low) > 0:
        high, low = low, 1e-3 * low
    if excess(low) < 0 < excess(high) and np.isfinite(excess(low)):
        return float(np.sqrt(brentq(excess, low, high, xtol=1e-6 * low, rtol=1e-8)))
    return float(np.sqrt(0.28 * n**-0.4))
