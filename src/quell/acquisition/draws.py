"""Quasi-random draws: Sobol sequences sent through the quantiles of what is drawn."""

import numpy as np
from scipy import special

from quell.arrays import FloatArray
from quell.mixture import Mixture
from quell.mixture.quasirandom import uniform_points


def normal_draws(
    rng: np.random.Generator, n: int, mean: FloatArray, covariance: FloatArray
) -> FloatArray:
    """``n`` draws (n, D) from the normal distribution with this mean and covariance.

    >>> x = normal_draws(np.random.default_rng(0), 256, np.array([1.0]), np.array([[4.0]]))
    >>> bool(abs(x.mean() - 1) < 0.05), bool(abs(x.std() - 2) < 0.05)
    (True, True)
    """
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return mean + special.ndtri(uniform_points(rng, n, len(mean))) @ root.T


def mixture_draws(
    rng: np.random.Generator, n: int, mixture: Mixture, df: float | None = None
) -> FloatArray:
    """``n`` draws (n, D) from a mixture; with ``df`` its components have Student-t tails.

    Component k has n w_k draws, rounded up or down.

    >>> q = Mixture([0.25, 0.75], [[-9.0], [9.0]], [1.0, 1.0], [1.0])
    >>> x = mixture_draws(np.random.default_rng(0), 100, q)
    >>> int((x < 0).sum())
    25
    """
    dimension = mixture.dimension
    u = uniform_points(rng, n, dimension + 1 + (df is not None))
    # The ranks of one coordinate choose the component: systematic, yet in step with the others.
    ranks = u[:, 0].argsort().argsort()
    edges = np.cumsum(mixture.weights)
    last = int(np.flatnonzero(mixture.weights)[-1])
    level = (ranks + rng.random()) / max(n, 1)
    component = np.minimum(np.searchsorted(edges, level, side="right"), last)
    offsets = special.ndtri(u[:, 1 : dimension + 1])
    if df is not None:
        gamma = special.gammaincinv(0.5 * df, u[:, -1])
        offsets *= np.sqrt(0.5 * df / gamma)[:, None]
    return np.asarray(
        mixture.means[component] + mixture.scales[component, None] * mixture.lengths * offsets
    )
