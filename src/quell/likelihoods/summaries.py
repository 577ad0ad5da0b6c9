"""The synthetic likelihood: a normal density fitted to simulated summary statistics.

Wood (2010). N data sets are simulated at θ and reduced to summaries (N, d) with sample mean m and
sample covariance C (divisor N − 1). With the observed summaries s and q = (s − m)ᵀ C⁻¹ (s − m) all
three estimators are functions of log|C| and q, so that a resample of the simulations needs those
two numbers only:

``plain``
    log N(s; m, C). On average it is too low, by what is lost to estimating m and C.
``unbiased``
    The logarithm of the unbiased estimator of the density N(s; μ, Σ) of Ghurye & Olkin (1969), in
    the form of Price et al. (2018). Minus infinity where s is too far from m.
``unbiased_log``
    The unbiased estimator of log N(s; μ, Σ) (Ripley 1996, p. 56).

The last two are unbiased for normal summaries and an unshrunk covariance.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.special import gammaln, psi

from quell.arrays import FloatArray
from quell.checks import as_floats, choice, matrix, number, raise_at

Estimator = Literal["plain", "unbiased", "unbiased_log"]
Shrinkage = float | Literal["auto"] | None

ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)
#: What is added to the variances, in the summaries' squared units.
JITTER = 1e-12
#: A pivot of less than this share of its variance is nothing but rounding error.
ROUNDING = 1e-14


def synthetic_log_likelihood(
    summaries: ArrayLike,
    observed: ArrayLike,
    *,
    estimator: Estimator = "plain",
    shrinkage: Shrinkage = None,
    jitter: float = JITTER,
) -> float:
    """The log-likelihood of the summaries ``observed`` (d,) given simulated ones (N, d).

    Covariances of any condition number are used as they are: no eigenvalue is dropped.

    Parameters
    ----------
    summaries
        Simulated summaries (N, d).
    observed
        Observed summaries (d,).
    estimator
        "plain", "unbiased_log" or "unbiased", explained at :func:`synthetic_likelihood`.
    shrinkage
        For the plain estimator: the share, from 0 to 1, by which correlations are shrunk towards
        0, or "auto" to estimate the best; None for no shrinkage.
    jitter
        Added to the variances of the summaries.

    Raises
    ------
    ValueError
        If there are too few simulations for the estimator, or their covariance is singular.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> value = synthetic_log_likelihood(rng.standard_normal((1000, 2)), [0.0, 0.0])
    >>> bool(abs(value + np.log(2 * np.pi)) < 0.1)  # the density of a standard normal at 0
    True
    """
    simulated, target = checked_summaries(summaries, observed)
    estimator, shrinkage = checked_form(estimator, shrinkage)
    n, d = simulated.shape
    if n < (least := least_rows(d, estimator, shrinkage)):
        raise ValueError(
            f"the {estimator} estimator needs {least} simulations or more of {d} summaries, got {n}"
        )
    covariance = np.atleast_2d(np.cov(simulated, rowvar=False))
    covariance = shrunk(covariance, shrinkage_intensity(simulated, shrinkage))
    covariance[np.diag_indices_from(covariance)] += jitter
    try:
        root = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        raise ValueError(singular(simulated)) from None
    if np.any(np.diag(root) ** 2 <= ROUNDING * np.diag(covariance)):
        raise ValueError(singular(simulated))
    # Not by an inverse: rows of the root may differ by many orders of magnitude.
    z = solve_triangular(root, target - simulated.mean(axis=0), lower=True)
    log_det = 2.0 * np.sum(np.log(np.diag(root)))
    return float(log_density(log_det, z @ z, n, d, estimator))


def log_density(
    log_det: ArrayLike, q: ArrayLike, n: int, d: int, estimator: Estimator
) -> FloatArray:
    """The estimate from log|C| and q of n simulations with d summaries; any shape.

    >>> np.exp(log_density(0.0, 0.0, 100, 2, "plain") + np.log(2 * np.pi)).round(9)
    np.float64(1.0)
    """
    log_det, q = np.asarray(log_det, dtype=np.float64), np.asarray(q, dtype=np.float64)
    if estimator == "plain":
        return -0.5 * (d * np.log(2 * np.pi) + log_det + q)
    i = np.arange(1, d + 1)
    if estimator == "unbiased_log":
        log_det_bias = np.sum(psi((n - i) / 2)) - d * np.log((n - 1) / 2)
        distance = (n - d - 2) / (n - 1) * q - d / n
        return -0.5 * (d * np.log(2 * np.pi) + log_det - log_det_bias + distance)
    # log c(d, n−2) − log c(d, n−1) with c(k, v) as in Price et al., all but π^(−k(k−1)/4).
    constant = d / 2 * np.log(2) + np.sum(gammaln((n - i) / 2) - gammaln((n - 1 - i) / 2))
    scatter = d * np.log(n - 1) + log_det  # log|M|, M = (n − 1) C
    remaining = np.maximum(1 - q * n / (n - 1) ** 2, 0.0)
    with np.errstate(divide="ignore"):
        ratio = np.log(remaining)  # of |M − (s − m)(s − m)ᵀ/(1 − 1/n)| to |M|
    normal = d / 2 * (np.log(2 * np.pi) + np.log1p(-1 / n))
    return constant - normal - 0.5 * scatter + 0.5 * (n - d - 3) * ratio


def shrunk(covariance: FloatArray, intensity: float) -> FloatArray:
    """A covariance (d, d) with its correlations multiplied by 1 − ``intensity``.

    Shrinkage of the correlations towards 0 (Warton 2008) leaves the variances alone and makes
    the covariance regular, whatever the number of simulations: less noise for some bias.

    >>> shrunk(np.array([[4.0, 1.0], [1.0, 1.0]]), 0.5)
    array([[4. , 0.5],
           [0.5, 1. ]])
    """
    diagonal = np.diag(np.diag(covariance))
    return (1.0 - intensity) * covariance + intensity * diagonal


def shrinkage_intensity(summaries: FloatArray, shrinkage: Shrinkage) -> float:
    """The share, from 0 to 1, by which correlations of summaries (N, d) are shrunk.

    For "auto" the estimate of the share with the least squared error of Schäfer & Strimmer
    (2005): Σ Var(r_ij) / Σ r_ij² over the pairs of summaries.

    >>> rng = np.random.default_rng(1)
    >>> independent = rng.standard_normal((50, 3))
    >>> shrinkage_intensity(independent, "auto") > 0.5
    True
    """
    if shrinkage != "auto":
        return 0.0 if shrinkage is None else shrinkage
    n, d = summaries.shape
    spread = summaries.std(axis=0, ddof=1)
    z = (summaries - summaries.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    i, j = np.tril_indices(d, -1)
    products = z[:, i] * z[:, j]
    correlation = products.sum(axis=0) / (n - 1)
    variance = n * np.var(products, axis=0) * n / (n - 1) ** 3
    total = np.sum(correlation**2)
    return float(np.clip(variance.sum() / total, 0.0, 1.0)) if total > 0 else 1.0


def least_rows(d: int, estimator: Estimator, shrinkage: Shrinkage) -> int:
    """The fewest simulations with which the estimate from d summaries is defined."""
    if shrinkage not in (None, 0.0):
        return 2  # variances are enough
    return {"plain": d + 1, "unbiased_log": d + 3, "unbiased": d + 4}[estimator]


def checked_form(estimator: Any, shrinkage: Any) -> tuple[Estimator, Shrinkage]:
    """The two if they exist and go together; else ``ValueError``.

    >>> checked_form("plain", "auto")
    ('plain', 'auto')
    """
    estimator = choice("estimator", estimator, ESTIMATORS)
    if shrinkage is None:
        return estimator, None
    if estimator != "plain":
        raise ValueError(
            f"shrinkage is for the plain estimator only: {estimator!r} corrects the bias of an "
            "unshrunk covariance"
        )
    if isinstance(shrinkage, str) and shrinkage == "auto":
        return estimator, "auto"
    share = np.nan if isinstance(shrinkage, str) else number("shrinkage", shrinkage)
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"shrinkage must be None, 'auto' or from 0 to 1, got {shrinkage!r}")
    return estimator, share


def observed_summaries(observed: ArrayLike) -> FloatArray:
    """Observed summaries (d,), finite; else ``ValueError``."""
    target = as_floats("the observed summaries", observed)
    if target.ndim != 1 or target.size == 0:
        raise ValueError(f"the observed summaries must have shape (d,), got {target.shape}")
    if not np.isfinite(target).all():
        raise_at("the observed summaries", target, ~np.isfinite(target), "must be finite")
    return target


def checked_summaries(summaries: ArrayLike, observed: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Simulated summaries (N, d), N ≥ 2, and observed ones (d,), all finite."""
    target = observed_summaries(observed)
    simulated = matrix("summaries", summaries, target.size)
    if len(simulated) < 2:
        raise ValueError(f"summaries must have at least 2 rows, got {len(simulated)}")
    return simulated, target


def singular(summaries: FloatArray) -> str:
    """Why the covariance of summaries (N, d) has no Cholesky factor, and what to do."""
    rank = int(np.linalg.matrix_rank(summaries - summaries.mean(axis=0)))
    return (
        f"the covariance of the {summaries.shape[1]} summaries is singular: in {len(summaries)} "
        f"simulations they vary in {rank} directions only (leave out summaries that are constant "
        "or follow from others, simulate more data sets, or use shrinkage)"
    )
