"""How heavy are the tails of the weights that turn the posterior into its surrogate?

The largest weights exp(f̄)/q of draws from the posterior q follow a generalised Pareto
distribution. Its shape k says how many moments they have: below ½ a finite variance, above 0.7 so
few that no number of draws helps (Vehtari et al. 2024). A large k means that the posterior is too
narrow for its surrogate somewhere. The fit is that of Zhang and Stephens (2009): the mean of k over
a grid of the one free parameter, weighted by the profile likelihood.
"""

import numpy as np

from quell.arrays import FloatArray
from quell.diagnostics.case import Case
from quell.diagnostics.finding import Finding

#: Shape above which importance sampling fails (Vehtari et al. 2024).
LARGEST_SHAPE = 0.7
#: Draws in the tail: at most this share, and this many times √n.
TAIL_SHARE, TAIL_ROOTS = 0.2, 3.0
#: Grid points of the fit: this many and √n. The prior pulls k to ½ with the weight of so many
#: draws, and the grid is spaced by the first quartile (all as published).
GRID_SIZE, PRIOR_DRAWS, PRIOR_SHAPE, SPACING = 30, 10, 0.5, 3.0
#: Fewest draws in the tail from which a shape can be told.
FEWEST_IN_TAIL = 20


def pareto_shape(log_weights: FloatArray) -> float:
    """The shape k of the tail of weights, given their logarithms (n,); nan where n is too small.

    >>> rng = np.random.default_rng(1)
    >>> round(pareto_shape(0.9 * rng.exponential(size=200_000)), 1)  # a Pareto tail of shape 0.9
    0.9
    """
    n = len(log_weights)
    size = int(min(TAIL_SHARE * n, TAIL_ROOTS * np.sqrt(n)))
    if size < FEWEST_IN_TAIL or not np.isfinite(log_weights).all():
        return np.nan
    ordered = np.sort(log_weights - log_weights.max())[-size - 1 :]
    tail = np.exp(ordered[1:]) - np.exp(ordered[0])
    if tail[-1] <= 0 or tail[0] <= 0:
        return 0.0 if tail[-1] > 0 else -np.inf  # equal weights have no tail
    return _fitted_shape(tail)


def _fitted_shape(tail: FloatArray) -> float:
    """k of sorted positive exceedances (m,)."""
    m = len(tail)
    grid = GRID_SIZE + int(np.sqrt(m))
    quartile = tail[int(m / 4 + 0.5) - 1]
    b = 1 - np.sqrt(grid / (np.arange(1, grid + 1) - 0.5))
    b = b / (SPACING * quartile) + 1 / tail[-1]
    shapes = np.mean(np.log1p(-b[:, None] * tail), axis=1)
    profile = m * (np.log(-b / shapes) - shapes - 1)
    weights = np.exp(profile - profile.max())
    mean_b = float(weights @ b / weights.sum())
    k = float(np.mean(np.log1p(-mean_b * tail)))
    return (m * k + PRIOR_DRAWS * PRIOR_SHAPE) / (m + PRIOR_DRAWS)


def pareto_tail(case: Case) -> Finding:
    """The shape of the tail of the weights at the draws."""
    return Finding("pareto_k", pareto_shape(case.expected[0] - case.claimed), LARGEST_SHAPE)
