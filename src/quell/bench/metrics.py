"""How good an answer is, and what many runs say together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.bench.density import Density, density_from_draws, total_variation
from quell.mixture.divergence import gaussian_skl

if TYPE_CHECKING:
    from quell.bench.truth.known import DensityEstimator, Truth

#: Draws from a posterior behind its MMTV along a run and, for the benchmark's own ten problems,
#: at its end.
DRAWS, FINAL_DRAWS = 100_000, 1_000_000
#: A run is usable if it stays below all three.
USABLE = {"lml_loss": 1.0, "gskl": 1.0, "mmtv": 0.2}
#: A run is nonsense if it exceeds one of these, or is not finite.
NONSENSE = {"lml_loss": 10.0, "mean_shift_in_sds": 100.0}
BOOTSTRAPS = 10_000


def lml_loss(log_evidence: float, truth: float) -> float:
    """Absolute error of the log evidence (log marginal likelihood).

    >>> lml_loss(-3.0, -2.5)
    0.5
    """
    return abs(log_evidence - truth)


def gskl(mean: FloatArray, covariance: FloatArray, truth: Truth) -> float:
    """Gaussianised symmetrised KL divergence between a posterior's moments and the truth's.

    ½ [KL(a‖b) + KL(b‖a)] of the normals with these moments, mean (D,) and covariance (D, D);
    infinite if the covariance is not positive definite or not finite.
    """
    try:
        value = gaussian_skl(mean, covariance, truth.mean, truth.covariance)
    except (np.linalg.LinAlgError, ValueError):
        return np.inf
    return max(0.0, value) if np.isfinite(value) else np.inf


def mean_shift(mean: FloatArray, truth: Truth) -> float:
    """How far a posterior mean (D,) is from the true one, in true SDs of the worst parameter.

    >>> from quell.bench import load
    >>> mean_shift(np.array([0.5, -4.0]), load("normal", dim=2).truth)
    2.0
    """
    with np.errstate(invalid="ignore"):
        shifts = np.abs(mean - truth.mean) / np.sqrt(truth.covariance.diagonal())
    return float(shifts.max()) if np.isfinite(shifts).all() else np.inf


def mmtv(
    draws: FloatArray,
    reference: Sequence[Density],
    *,
    lower: ArrayLike = -np.inf,
    upper: ArrayLike = np.inf,
    estimator: DensityEstimator = density_from_draws,
) -> float:
    """Mean marginal total variation distance between ``draws`` (n, D) and a reference.

    The marginals of the draws are made, within the hard bounds, by the ``estimator`` that suits
    the reference (:attr:`~quell.bench.truth.Truth.estimator`).

    >>> normal = Density.from_function(lambda x: np.exp(-x**2 / 2) / np.sqrt(2 * np.pi), -9, 9)
    >>> mmtv(np.random.default_rng(1).standard_normal((100_000, 2)), [normal, normal]) < 0.01
    True
    """
    dimension = len(reference)
    low, high = np.broadcast_to(lower, dimension), np.broadcast_to(upper, dimension)
    distances = [
        min(1.0, total_variation(estimator(column, lower=low[i], upper=high[i]), reference[i]))
        for i, column in enumerate(draws.T)
    ]
    return float(np.mean(distances))


def usable(lml_loss: float, gskl: float, mmtv: float) -> bool:
    """Whether a run's answer can be used: all three metrics below their limits.

    >>> usable(0.3, 0.2, 0.1), usable(0.3, 0.2, 0.2)
    (True, False)
    """
    return lml_loss < USABLE["lml_loss"] and gskl < USABLE["gskl"] and mmtv < USABLE["mmtv"]


def nonsense(lml_loss: float, mean_shift_in_sds: float) -> bool:
    """Whether a run's answer is not only bad but absurd.

    >>> nonsense(3.0, 2.0), nonsense(3000.0, 2.0), nonsense(3.0, np.nan)
    (False, True, True)
    """
    small_loss = lml_loss <= NONSENSE["lml_loss"]
    return not (small_loss and mean_shift_in_sds <= NONSENSE["mean_shift_in_sds"])


def quantile(values: ArrayLike, p: float) -> float:
    """Sample quantile; infinite values are allowed.

    >>> quantile([1.0, 2.0, np.inf], 0.5)
    2.0
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    place = p * (len(ordered) - 1)
    low, share = int(place), place - int(place)
    if share == 0 or ordered[low] == ordered[low + 1]:
        return float(ordered[low])
    return float((1 - share) * ordered[low] + share * ordered[low + 1])


def bootstrap_interval(
    values: ArrayLike,
    statistic: Callable[[FloatArray], FloatArray] | None = None,
    *,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentile bootstrap interval of the median of ``values`` (n,), or of another statistic.

    ``statistic`` maps resamples (m, n) to (m,).

    >>> low, high = bootstrap_interval(np.arange(101.0))
    >>> 30 < low < 50 < high < 70
    True
    """
    values = np.asarray(values, dtype=np.float64)
    if statistic is None:
        statistic = _medians
    rows = np.random.default_rng(seed).integers(len(values), size=(BOOTSTRAPS, len(values)))
    replicates = statistic(values[rows])
    return quantile(replicates, 0.5 - level / 2), quantile(replicates, 0.5 + level / 2)


def _medians(samples: FloatArray) -> FloatArray:
    ordered = np.sort(samples, axis=1)
    n = ordered.shape[1]
    low, high = ordered[:, (n - 1) // 2], ordered[:, n // 2]
    return np.where(low == high, low, 0.5 * low + 0.5 * high)
