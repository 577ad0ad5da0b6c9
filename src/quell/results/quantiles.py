"""Quantiles of a distribution on the line that knows its probabilities and its density."""

from collections.abc import Callable

import numpy as np

from quell.arrays import FloatArray

#: Steps at most: every third halves the bracket, which is then exact to rounding.
MOST_STEPS, HALVE_EVERY = 240, 3
#: Points between which the search begins.
FIRST_GRID = 65


def solve_quantiles(
    p: FloatArray,
    cdf: Callable[[FloatArray], FloatArray],
    density: Callable[[FloatArray], FloatArray],
    ends: tuple[float, float],
    tolerance: float,
) -> FloatArray:
    """The points (n,) below which shares ``p`` (n,), 0 < p < 1, of the probability lie.

    ``cdf`` and ``density`` take points (m,). Newton's method within a bracket, which begins at the
    two ``ends`` and is widened where they are too near; ``tolerance`` is that of the points.

    >>> from scipy.special import ndtr
    >>> normal = lambda x: np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi)
    >>> solve_quantiles(np.array([0.5, 0.975]), ndtr, normal, (-5.0, 5.0), 1e-12).round(6) + 0.0
    array([0.      , 1.959964])
    """
    first, last = ends
    while float(cdf(np.array([first]))[0]) > p.min(initial=1.0):
        first -= last - first
    while float(cdf(np.array([last]))[0]) < p.max(initial=0.0):
        last += last - first
    grid = np.linspace(first, last, FIRST_GRID)
    below = cdf(grid)
    at = np.clip(np.searchsorted(below, p), 1, FIRST_GRID - 1)
    low, high = grid[at - 1], grid[at]
    x = 0.5 * low + 0.5 * high
    for step in range(1, MOST_STEPS):
        excess = cdf(x) - p
        low, high = np.where(excess <= 0, x, low), np.where(excess >= 0, x, high)
        slope = density(x)
        safe = np.where(slope > 0, slope, 1.0)
        newton = np.where(slope > 0, x - excess / safe, low)
        usable = (newton > low) & (newton < high) & (step % HALVE_EVERY != 0)
        moved = np.where(usable, newton, 0.5 * low + 0.5 * high)
        close = np.maximum(tolerance, 4 * np.finfo(np.float64).eps * np.abs(moved))
        done = (np.abs(moved - x) <= close) & usable | (high - low <= close)
        x = moved
        if done.all():
            break
    return x
