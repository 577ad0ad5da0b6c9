"""The SD of a synthetic likelihood's noise, from the simulations behind one value.

``bootstrap``
    The spread of the value over resamples of the N simulations with replacement, as in the
    benchmark of Acerbi (2020).
``jackknife``
    From the N values with one simulation left out each: √((N−1)/N Σ (f_i − f̄)²). No random
    numbers, and only as many covariances as there are simulations.

Every resample has its own mean and covariance. These are found from sums and sums of products of
the standardised simulations, which in these units loses no accuracy, and all resamples of a chunk
are factorised together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.checks import generator, integer
from quell.likelihoods.summaries import (
    JITTER,
    ROUNDING,
    Estimator,
    Shrinkage,
    checked_form,
    checked_summaries,
    least_rows,
    log_density,
    shrinkage_intensity,
    singular,
)

SdMethod = Literal["jackknife", "bootstrap"]
SD_METHODS: tuple[SdMethod, ...] = get_args(SdMethod)

#: Entries of the covariances that are factorised together; about what a processor's cache holds.
_CHUNK = 40_000


def bootstrap_sd(
    summaries: ArrayLike,
    observed: ArrayLike,
    rng: np.random.Generator,
    *,
    n_bootstrap: int = 2000,
    estimator: Estimator = "plain",
    shrinkage: Shrinkage = None,
    jitter: float = JITTER,
    floor: float = -np.inf,
) -> float:
    """The SD of :func:`synthetic_log_likelihood` with these arguments, by the bootstrap.

    Parameters
    ----------
    summaries
        Simulated summaries (N, d).
    observed
        Observed summaries (d,).
    rng
        Where the randomness of the resamples comes from.
    n_bootstrap
        Number of resamples.
    estimator
        "plain", "unbiased_log" or "unbiased", explained at :func:`synthetic_likelihood`.
    shrinkage
        For the plain estimator: the share, from 0 to 1, by which correlations are shrunk towards
        0, or "auto" to estimate the best, from all simulations; None for no shrinkage.
    jitter
        Added to the variances of the summaries.
    floor
        Values of resamples below it count as ``floor``.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> sd = bootstrap_sd(rng.standard_normal((100, 2)), [0.0, 0.0], rng)
    >>> 0.07 < sd < 0.13
    True
    """
    resampler = _Resampler.of(summaries, observed, estimator, shrinkage, jitter)
    rng, n_bootstrap = generator(rng), integer("n_bootstrap", n_bootstrap, least=2)
    z, n = resampler.z, len(resampler.z)
    products, values = _products(z), []
    for start in range(0, n_bootstrap, resampler.chunk):
        k = min(resampler.chunk, n_bootstrap - start)
        rows = rng.integers(n, size=(k, n)) + n * np.arange(k)[:, None]
        counts = np.bincount(rows.ravel(), minlength=k * n).reshape(k, n).astype(np.float64)
        values.append(resampler.values(counts @ z, counts @ products, n))
    return float(np.std(resampler.regular(values, floor), ddof=1))


def jackknife_sd(
    summaries: ArrayLike,
    observed: ArrayLike,
    *,
    estimator: Estimator = "plain",
    shrinkage: Shrinkage = None,
    jitter: float = JITTER,
    floor: float = -np.inf,
) -> float:
    """The SD of :func:`synthetic_log_likelihood` with these arguments, by the jackknife.

    Parameters
    ----------
    summaries
        Simulated summaries (N, d).
    observed
        Observed summaries (d,).
    estimator, shrinkage, jitter, floor
        As in :func:`bootstrap_sd`.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> sd = jackknife_sd(rng.standard_normal((100, 2)), [0.0, 0.0])
    >>> 0.07 < sd < 0.13
    True
    """
    resampler = _Resampler.of(summaries, observed, estimator, shrinkage, jitter)
    z, n = resampler.z, len(resampler.z)
    total, values = _products(z).sum(axis=0), []
    for start in range(0, n, resampler.chunk):
        left_out = z[start : start + resampler.chunk]
        # Standardised rows sum to 0, so what is left sums to minus the row left out.
        values.append(resampler.values(-left_out, total - _products(left_out), n - 1))
    return float(np.sqrt((n - 1) * np.var(resampler.regular(values, floor))))


def least_simulations(d: int, estimator: Estimator, shrinkage: Shrinkage, sd: SdMethod) -> int:
    """The fewest simulations with which a value of d summaries and its SD are defined.

    >>> least_simulations(13, "plain", None, "jackknife")
    15
    """
    least = least_rows(d, estimator, shrinkage)
    if sd == "jackknife" or shrinkage not in (None, 0.0):
        return least + 1  # one is left out
    # A resample has about 0.63 N different rows, and with d of them a singular covariance.
    return max(least, 4 * (d + 1))


@dataclass(frozen=True, eq=False)
class _Resampler:
    """Simulations ``z`` (N, d) and observed summaries ``target`` (d,) in units of the former.

    ``jitter`` (d,) is in these units too; ``log_scale`` takes log|C| back to the original ones.
    """

    z: FloatArray
    target: FloatArray
    jitter: FloatArray
    log_scale: float
    estimator: Estimator
    intensity: float

    @classmethod
    def of(
        cls,
        summaries: ArrayLike,
        observed: ArrayLike,
        estimator: Estimator,
        shrinkage: Shrinkage,
        jitter: float,
    ) -> _Resampler:
        simulated, target = checked_summaries(summaries, observed)
        estimator, shrinkage = checked_form(estimator, shrinkage)
        mean, scale = simulated.mean(axis=0), simulated.std(axis=0)
        scale[scale == 0.0] = 1.0
        return cls(
            z=(simulated - mean) / scale,
            target=(target - mean) / scale,
            jitter=jitter / scale**2,
            log_scale=2.0 * float(np.sum(np.log(scale))),
            estimator=estimator,
            intensity=shrinkage_intensity(simulated, shrinkage),
        )

    @property
    def chunk(self) -> int:
        """Resamples to handle at a time."""
        return max(1, _CHUNK // self.z.shape[1] ** 2)

    def values(self, sums: FloatArray, products: FloatArray, n: int) -> FloatArray:
        """Values (k,) of resamples of n rows with ``sums`` (k, d) and sums of products (k, ·).

        nan where the covariance is singular.
        """
        d = sums.shape[1]
        i, j = np.tril_indices(d)
        mean = sums / n
        lower = (products - n * mean[:, i] * mean[:, j]) / (n - 1)
        lower[:, i != j] *= 1.0 - self.intensity
        lower[:, i == j] += self.jitter
        covariances = np.empty((d, d, len(sums)))  # resamples last: the inner loop of NumPy
        covariances[i, j] = covariances[j, i] = lower.T
        log_det, q = _factorise(covariances, (self.target - mean).T)
        return log_density(log_det + self.log_scale, q, n, d, self.estimator)

    def regular(self, values: list[FloatArray], floor: float) -> FloatArray:
        """All values that are numbers, none below ``floor``; ``ValueError`` if they are few."""
        every = np.concatenate(values)
        kept = every[~np.isnan(every)]
        if len(kept) < max(2, len(every) // 2):
            raise ValueError(singular(self.z))
        return np.maximum(kept, floor)


def _products(z: FloatArray) -> FloatArray:
    """Products of pairs of columns (n, d) -> (n, d(d+1)/2), in the order of the lower triangle."""
    i, j = np.tril_indices(z.shape[1])
    return z[:, i] * z[:, j]


def _factorise(a: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """log|A| and xᵀ A⁻¹ x of k symmetric matrices (d, d, k) and vectors (d, k); overwrites both.

    Elimination without pivoting, which for positive definite matrices is the Cholesky
    factorisation (A = L D Lᵀ); both are nan where a pivot is not positive, up to rounding.
    """
    log_det, q = np.zeros(a.shape[-1]), np.zeros(a.shape[-1])
    least = ROUNDING * np.einsum("iik->ik", a)
    with np.errstate(invalid="ignore"):
        for j in range(len(a)):
            pivot = np.where(a[j, j] > least[j], a[j, j], np.nan)
            log_det += np.log(pivot)
            q += x[j] ** 2 / pivot
            factor = a[j + 1 :, j] / pivot
            x[j + 1 :] -= factor * x[j]
            a[j + 1 :, j + 1 :] -= factor[:, None] * a[j, j + 1 :]
    return log_det, q
