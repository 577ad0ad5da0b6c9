"""Do credible regions of the whole posterior contain the truth as often as they say?

Around a random point, the ball that just reaches the true parameters holds some share of the
posterior. If the posteriors are right that share is uniform over runs, whatever the random points
are (tests of accuracy with random points; Lemos et al. 2023, arXiv:2302.03026). Unlike ranks of
single parameters it sees the dependence between them.
"""

import numpy as np

from quell.arrays import FloatArray


def tarp_shares(rng: np.random.Generator, truth: FloatArray, draws: FloatArray) -> FloatArray:
    """The share (R,) of each run: of ``draws`` (R, n, D) nearer to a random point than the truth.

    Distances are in SDs of the truths (R, D), and random points are drawn uniformly from their
    range.

    >>> rng = np.random.default_rng(1)
    >>> truth, draws = rng.normal(size=(400, 2)), rng.normal(size=(400, 200, 2))
    >>> shares = tarp_shares(rng, truth, draws)
    >>> bool(abs(shares.mean() - 0.5) < 0.1)
    True
    """
    spread = truth.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    low, high = truth.min(axis=0), truth.max(axis=0)
    reference = rng.uniform(low, high, truth.shape)
    radius = np.sum(((truth - reference) / scale) ** 2, axis=1)
    distance = np.sum(((draws - reference[:, None]) / scale) ** 2, axis=2)
    return np.asarray(np.mean(distance < radius[:, None], axis=1))


def uniform_p_value(shares: FloatArray) -> float:
    """How well numbers (R,) agree with a uniform distribution on [0, 1]: p, by Kolmogorov-Smirnov.

    >>> uniform_p_value(np.linspace(0.01, 0.99, 50)) > 0.99
    True
    >>> uniform_p_value(np.full(50, 0.5)) < 1e-6
    True
    """
    from scipy.stats import kstest  # slow to import

    return float(kstest(shares, "uniform").pvalue)
