"""A mixture of twelve overlapping normals under a wide prior."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from quell.arrays import FloatArray
from quell.bench.density import Density
from quell.bench.problems.base import Benchmark
from quell.bench.problems.gaussian import REACH, log_normal, unbounded
from quell.bench.truth import Truth

COMPONENTS, SEED, CENTRE = 12, 20260900, 0.5


def lumpy(dimension: int) -> Benchmark:
    """Twelve axis-aligned normals with means in the unit cube; the posterior is such a mixture."""
    rng = np.random.default_rng(SEED + dimension)
    means = rng.uniform(0, 1, (COMPONENTS, dimension))
    sds = rng.uniform(0.2, 0.6, (COMPONENTS, dimension))
    weights = rng.dirichlet(np.ones(COMPONENTS))
    covariance = mixture_moments(weights, means, sds)[1]
    prior_sd = 3 * np.sqrt(covariance.diagonal())

    def exact(theta: ArrayLike) -> FloatArray:
        theta = np.asarray(theta, dtype=np.float64)
        parts = log_normal(theta[..., None, :], means, sds).sum(-1) + np.log(weights)
        prior = log_normal(theta, CENTRE, prior_sd).sum(-1)
        return np.asarray(logsumexp(parts, axis=-1) + prior)

    def make_truth() -> Truth:
        variance = 1 / (sds**-2.0 + prior_sd**-2.0)
        centres = variance * (means / sds**2 + CENTRE / prior_sd**2)
        marginal_sd = np.sqrt(sds**2 + prior_sd**2)
        log_mass = np.log(weights) + log_normal(means, CENTRE, marginal_sd).sum(-1)
        log_evidence = float(logsumexp(log_mass))
        return mixture_truth(
            log_evidence, np.exp(log_mass - log_evidence), centres, np.sqrt(variance)
        )

    centre = np.full(dimension, CENTRE)
    return unbounded(
        "lumpy", centre, prior_sd, emulated_sd=3.0, exact=exact, make_truth=make_truth
    )  # fmt: skip


def mixture_moments(
    weights: FloatArray, means: FloatArray, sds: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean (D,) and covariance (D, D) of K axis-aligned normals, means and SDs (K, D)."""
    mean = weights @ means
    centred = means - mean
    return mean, (weights * centred.T) @ centred + np.diag(weights @ sds**2)


def mixture_truth(
    log_evidence: float, weights: FloatArray, means: FloatArray, sds: FloatArray
) -> Truth:
    """The truth about a mixture of K axis-aligned normals, means and SDs (K, D)."""

    def sample(n: int, rng: np.random.Generator) -> FloatArray:
        k = rng.choice(len(weights), size=n, p=weights)
        return means[k] + sds[k] * rng.standard_normal((n, means.shape[1]))

    def marginal(i: int) -> Density:
        def density(x: FloatArray) -> FloatArray:
            return np.exp(log_normal(x[..., None], means[:, i], sds[:, i])) @ weights

        reach = REACH * sds[:, i]
        low, high = (means[:, i] - reach).min(), (means[:, i] + reach).max()
        return Density.from_function(density, float(low), float(high))

    marginals = tuple(marginal(i) for i in range(means.shape[1]))
    return Truth(log_evidence, *mixture_moments(weights, means, sds), marginals, sample)
