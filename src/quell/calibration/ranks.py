"""Whether error bars can be trusted: ranks of the true parameters, coverage of the evidence.

If parameters are drawn from the prior, data from the model, and the posterior of these data is
right, then the rank of a true parameter among independent draws from its posterior is uniform
(simulation-based calibration; Talts et al. 2018, arXiv:1804.06788). Ranks that pile up at both
ends come from posteriors that are too narrow, those in the middle from too wide ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc

from quell.calibration.shares import Z95

#: Draws among which a true parameter is ranked; its rank is one of 1000.
RANK_DRAWS = 999
#: Expected ranks in a bin, at least, and bins at most: enough for the law of χ² to hold.
PER_BIN, MOST_BINS = 5, 20


def rank(generating: ArrayLike, draws: ArrayLike) -> NDArray[np.int64]:
    """How many of the ``draws`` (..., n, D) lie below ``generating`` (..., D), per parameter.

    >>> rank([0.5, 3.0], [[0.0, 1.0], [1.0, 2.0]])
    array([1, 2])
    """
    below = np.asarray(draws) < np.asarray(generating)[..., None, :]
    return np.asarray(below.sum(axis=-2), dtype=np.int64)


def rank_p_values(ranks: ArrayLike, draws: int = RANK_DRAWS) -> NDArray[np.float64]:
    """How well ``ranks`` (R, D) of R runs agree with uniform ones on 0 .. ``draws``: p, (D,).

    By χ² on 2 to 20 equal bins. Fewer than ten runs cannot be tested and give nan.

    >>> even = np.arange(100) * 10
    >>> extreme = np.where(even < 500, even // 10, 999 - even // 10)
    >>> rank_p_values(np.column_stack([even, extreme])).round(3)
    array([1., 0.])
    """
    ranks = np.asarray(ranks)
    runs, dimension = ranks.shape
    bins = min(runs // PER_BIN, MOST_BINS)
    if bins < 2:
        return np.full(dimension, np.nan)
    # Bins of whole ranks differ by one rank in size where their number does not divide.
    edges = np.ceil(np.linspace(0, draws + 1, bins + 1))
    expected = runs * np.diff(edges) / (draws + 1)
    counts = [np.histogram(column, bins=edges - 0.5)[0] for column in ranks.T]
    statistic = ((np.array(counts) - expected) ** 2 / expected).sum(axis=1)
    return np.asarray(chdtrc(bins - 1, statistic))


def covered(loss: float, sd: float) -> bool:
    """Whether the 95 % interval of an estimate with this SD and absolute error has the truth.

    >>> covered(0.19, 0.1), covered(0.2, 0.1)
    (True, False)
    """
    return loss <= Z95 * sd
