"""Linear regression with a conjugate prior, on new data in every run: for calibration.

    y = X β + σ ε,   β | σ² ~ N(0, σ² I / κ),   σ² ~ InverseGamma(a, b),

with standard normal ε. The parameters are β and ln σ. Those behind the data of a run are drawn from
the prior, so that their ranks among draws from an exact posterior are uniform; evidence and
posterior are known in closed form:

    Λ = XᵀX + κ I,  m = Λ⁻¹ Xᵀ y,  a' = a + n/2,  b' = b + (yᵀy − mᵀ Λ m) / 2,
    ln Z = ½ D_β ln κ − ½ ln |Λ| + a ln b − a' ln b' + ln Γ(a') − ln Γ(a) − ½ n ln 2π.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, gammaln, polygamma

from quell.arrays import FloatArray
from quell.bench.density import Density
from quell.bench.problems.base import Benchmark
from quell.bench.problems.gaussian import log_normal, unbounded
from quell.bench.problems.student import student_density
from quell.bench.truth import Truth
from quell.streams import BenchStream, rng_for_bench

OBSERVATIONS, DESIGN_SEED = 12, 20180418
#: κ, a and b of the prior: σ² has mean 1.5, and β is known less well than a single y.
PRECISION, SHAPE, RATE = 0.25, 3.0, 3.0


def conjugate(dimension: int) -> Benchmark:
    """D − 1 coefficients and ln σ; the data are those of seed 0 until ``for_seed`` makes others."""
    return _with_data(dimension, 0)


def _with_data(dimension: int, seed: int) -> Benchmark:
    rng = rng_for_bench(seed, BenchStream.CONJUGATE_DATA)
    variance = RATE / rng.gamma(SHAPE)
    beta = rng.standard_normal(dimension - 1) * np.sqrt(variance / PRECISION)
    x = design(dimension - 1)
    y = x @ beta + np.sqrt(variance) * rng.standard_normal(OBSERVATIONS)

    def exact(theta: ArrayLike) -> FloatArray:
        theta = np.asarray(theta, dtype=np.float64)
        coefficients, log_sd = theta[..., :-1], theta[..., -1:]
        sd = np.exp(log_sd)
        likelihood = log_normal(y, coefficients @ x.T, sd).sum(-1)
        prior = log_normal(coefficients, 0.0, sd / np.sqrt(PRECISION)).sum(-1)
        # The inverse gamma density of σ², and the Jacobian 2 σ² of ln σ.
        log_variance = 2 * log_sd[..., 0]
        scale = SHAPE * np.log(RATE) - gammaln(SHAPE) + np.log(2.0)
        return likelihood + prior + scale - SHAPE * log_variance - RATE * np.exp(-log_variance)

    names = (*(f"beta{i + 1}" for i in range(dimension - 1)), "log_sigma")
    half = np.full(dimension, np.sqrt(RATE / (SHAPE - 1) / PRECISION))
    half[-1] = 0.5 * np.sqrt(float(polygamma(1, SHAPE)))
    centre = np.zeros(dimension)
    centre[-1] = 0.5 * (np.log(RATE) - float(digamma(SHAPE)))
    problem = unbounded(
        "conjugate", centre, half, exact=exact, make_truth=lambda: _truth(x, y)
    )  # fmt: skip
    return replace(
        problem,
        names=names,
        generating=np.append(beta, 0.5 * np.log(variance)),
        for_seed=lambda seed: _with_data(dimension, seed),
    )


def design(columns: int) -> FloatArray:
    """X, (n, ``columns``): a column of ones, then standard normals; the same in every run."""
    x = np.random.default_rng(DESIGN_SEED).standard_normal((OBSERVATIONS, columns))
    x[:, 0] = 1.0
    return x


def _truth(x: FloatArray, y: FloatArray) -> Truth:
    n, size = x.shape
    precision = x.T @ x + PRECISION * np.eye(size)
    spread = np.linalg.inv(precision)
    mean = spread @ x.T @ y
    shape = SHAPE + n / 2
    rate = RATE + 0.5 * float(y @ y - mean @ precision @ mean)
    log_evidence = (
        0.5 * size * np.log(PRECISION)
        - 0.5 * np.linalg.slogdet(precision)[1]
        + SHAPE * np.log(RATE) - shape * np.log(rate)
        + gammaln(shape) - gammaln(SHAPE) - 0.5 * n * np.log(2 * np.pi)
    )  # fmt: skip
    covariance = np.zeros((size + 1, size + 1))
    covariance[:size, :size] = spread * rate / (shape - 1)
    covariance[size, size] = 0.25 * float(polygamma(1, shape))
    centre = 0.5 * (np.log(rate) - float(digamma(shape)))

    def log_sd_density(v: FloatArray) -> FloatArray:
        log_p = np.log(2.0) + shape * np.log(rate) - gammaln(shape) - 2 * shape * v
        return np.exp(log_p - rate * np.exp(-2 * v))

    def student(i: int) -> Density:
        """The marginal of β_i: Student's t with 2 a' degrees of freedom."""
        return student_density(mean[i], np.sqrt(spread[i, i] * rate / shape), 2 * shape)

    reach = 9 * np.sqrt(covariance[size, size])
    factor = np.linalg.cholesky(spread)

    def sample(draws: int, rng: np.random.Generator) -> FloatArray:
        variance = rate / rng.gamma(shape, size=draws)
        normals = rng.standard_normal((draws, size)) @ factor.T
        return np.column_stack([mean + np.sqrt(variance)[:, None] * normals,
                                0.5 * np.log(variance)])  # fmt: skip

    return Truth(
        log_evidence=float(log_evidence),
        mean=np.append(mean, centre),
        covariance=covariance,
        marginals=(
            *(student(i) for i in range(size)),
            Density.from_function(log_sd_density, centre - reach, centre + reach),
        ),
        sample=sample,
    )
