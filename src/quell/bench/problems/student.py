"""Independent Student-t likelihoods, heavy-tailed in the first coordinates, under a wide prior."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from quell.arrays import FloatArray
from quell.bench.density import Density, inverse_cdf_draws
from quell.bench.problems.base import Benchmark
from quell.bench.problems.gaussian import REACH, log_normal, unbounded
from quell.bench.truth import Truth


def student(dimension: int) -> Benchmark:
    """Standard t densities with 2.5 .. 2 + D/2 degrees of freedom, times normal priors."""
    nu = np.linspace(2.5, 2 + dimension / 2, dimension)
    prior_sd = 3 * np.sqrt(nu / (nu - 2))
    constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(np.pi * nu)

    def factors(theta: FloatArray) -> FloatArray:
        """Log joint density of each coordinate of θ (..., D)."""
        likelihood = constant - 0.5 * (nu + 1) * np.log1p(theta**2 / nu)
        return likelihood + log_normal(theta, 0.0, prior_sd)

    def exact(theta: ArrayLike) -> FloatArray:
        return np.asarray(factors(np.asarray(theta, dtype=np.float64)).sum(-1))

    def make_truth() -> Truth:
        # One column per coordinate; fine enough that the trapezoid rule is exact to rounding.
        x = np.linspace(-REACH, REACH, 16385)[:, None] * prior_sd
        values = np.exp(factors(x))
        integral = values.sum(0) * (x[1] - x[0])
        density = values / integral
        variance = (density * x**2).sum(0) * (x[1] - x[0])

        def sample(n: int, rng: np.random.Generator) -> FloatArray:
            columns = zip(x.T, density.T, strict=True)
            return np.column_stack([inverse_cdf_draws(*column, n, rng) for column in columns])

        return Truth(
            log_evidence=float(np.log(integral).sum()),
            mean=np.zeros(dimension),
            covariance=np.diag(variance),
            marginals=tuple(map(Density.from_grid, x.T, density.T)),
            sample=sample,
        )

    return unbounded(
        "student",
        np.zeros(dimension),
        prior_sd,
        emulated_sd=3.0,
        exact=exact,
        make_truth=make_truth,
    )


def student_density(mean: float, scale: float, nu: float) -> Density:
    """Student's t with so many degrees of freedom, on 15 scales to each side of its mean."""
    constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi)

    def density(x: FloatArray) -> FloatArray:
        distance = ((x - mean) / scale) ** 2 / nu
        return np.exp(constant - 0.5 * (nu + 1) * np.log1p(distance)) / scale

    return Density.from_function(density, mean - 15 * scale, mean + 15 * scale)
