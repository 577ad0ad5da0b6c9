"""Bananas: Rosenbrock's valley under a prior, and one of known shape in any dimension."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.bench.density import Density, inverse_cdf_draws
from quell.bench.problems.base import Benchmark
from quell.bench.problems.gaussian import log_normal, normal_density, unbounded
from quell.bench.truth import Truth

PRIOR_SD = 3.0
#: x2 given x1 is normal around x1² / A with variance 1 / (2 A).
A = 1 + 1 / (2 * PRIOR_SD**2)
BANANA_SD, CURVATURE = 2.0, 0.5


def rosenbrock(dimension: int) -> Benchmark:
    """Rosenbrock's function as log-likelihood, with a normal prior; two dimensions."""

    def exact(theta: ArrayLike) -> FloatArray:
        theta = np.asarray(theta, dtype=np.float64)
        x1, x2 = theta[..., 0], theta[..., 1]
        likelihood = -((x1**2 - x2) ** 2) - (x1 - 1) ** 2 / 100
        return np.asarray(likelihood + log_normal(theta, 0.0, PRIOR_SD).sum(-1))

    return unbounded(
        "rosenbrock", np.zeros(dimension), PRIOR_SD, exact=exact, make_truth=_rosenbrock_truth
    )


def _rosenbrock_truth() -> Truth:
    # The trapezoid rule is exact to rounding for a smooth function that vanishes at the ends.
    x1 = np.linspace(-8.0, 8.0, 8001)
    step = x1[1] - x1[0]
    log_f = -((x1 - 1) ** 2) / 100 - x1**2 / (2 * PRIOR_SD**2) - x1**4 * (1 - 1 / A)
    log_f += 0.5 * np.log(np.pi / A) - np.log(2 * np.pi * PRIOR_SD**2)
    evidence = np.exp(log_f).sum() * step
    p1 = np.exp(log_f) / evidence
    mass, variance = p1 * step, 1 / (2 * A)
    mean = np.array([mass @ x1, mass @ x1**2 / A])
    cross = mass @ ((x1 - mean[0]) * (x1**2 / A - mean[1]))
    covariance = np.array(
        [
            [mass @ (x1 - mean[0]) ** 2, cross],
            [cross, mass @ (x1**2 / A - mean[1]) ** 2 + variance],
        ]
    )
    x2 = np.linspace(-7.0, 43.0, 2048)
    coarse = slice(None, None, 8)  # still far below the width of the conditional density
    kernel = np.exp(log_normal(x2[:, None], x1[coarse] ** 2 / A, np.sqrt(variance)))
    p2 = kernel @ (mass[coarse] * 8)

    def sample(n: int, rng: np.random.Generator) -> FloatArray:
        first = inverse_cdf_draws(x1, p1, n, rng)
        second = first**2 / A + np.sqrt(variance) * rng.standard_normal(n)
        return np.column_stack([first, second])

    marginals = (Density.from_grid(x1, p1), Density.from_grid(x2, p2))
    return Truth(float(np.log(evidence)), mean, covariance, marginals, sample)


def banana(dimension: int) -> Benchmark:
    """A normal bent along its first axis, of integral one; further axes are standard normal."""

    def bend(x1: FloatArray) -> FloatArray:
        """The ridge: where x2 is centred."""
        return CURVATURE * (x1**2 - BANANA_SD**2)

    def exact(theta: ArrayLike) -> FloatArray:
        theta = np.asarray(theta, dtype=np.float64)
        straight = theta[..., 1] - bend(theta[..., 0])
        return np.asarray(
            log_normal(theta[..., 0], 0.0, BANANA_SD)
            + log_normal(straight, 0.0, 1.0)
            + log_normal(theta[..., 2:], 0.0, 1.0).sum(-1)
        )

    sd = np.ones(dimension)
    # The variance of CURVATURE · x1², plus one.
    sd[:2] = BANANA_SD, np.sqrt(2 * (CURVATURE * BANANA_SD**2) ** 2 + 1)

    def sample(n: int, rng: np.random.Generator) -> FloatArray:
        draws = rng.standard_normal((n, dimension))
        draws[:, 0] *= BANANA_SD
        draws[:, 1] += bend(draws[:, 0])
        return draws

    def make_truth() -> Truth:
        x1 = np.linspace(-9 * BANANA_SD, 9 * BANANA_SD, 1001)
        mass = np.exp(log_normal(x1, 0.0, BANANA_SD)) * (x1[1] - x1[0])
        x2 = np.linspace(-11.0, 120.0, 4096)
        p2 = np.exp(log_normal(x2[:, None], bend(x1), 1.0)) @ mass
        marginals = [normal_density(0.0, s) for s in sd]
        marginals[1] = Density.from_grid(x2, p2)
        return Truth(0.0, np.zeros(dimension), np.diag(sd**2), tuple(marginals), sample)

    return unbounded("banana", np.zeros(dimension), 3 * sd, exact=exact, make_truth=make_truth)
