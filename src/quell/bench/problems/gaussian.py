"""Normal targets: independent, correlated, cut at zero, and a long thin cigar."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.bench.density import Density
from quell.bench.problems.base import Benchmark, Target
from quell.bench.truth import Truth

REACH = 9.0  # SDs; less than 1e-18 of the mass is farther out
CORR_SEED, CIGAR_SEED = 12345, 20260900


def unbounded(
    name: str,
    centre: FloatArray,
    half_width: ArrayLike,
    *,
    exact: Target,
    make_truth: Callable[[], Truth],
    emulated_sd: float = 1.0,
) -> Benchmark:
    """A log joint density without bounds, plausible box ``centre`` (D,) ∓ ``half_width``."""
    half_width = np.broadcast_to(np.asarray(half_width, dtype=np.float64), centre.shape)
    return Benchmark(
        name=name,
        names=tuple(f"x{i + 1}" for i in range(len(centre))),
        lower=np.full(len(centre), -np.inf),
        upper=np.full(len(centre), np.inf),
        plausible_lower=centre - half_width,
        plausible_upper=centre + half_width,
        exact=exact,
        make_truth=make_truth,
        emulated_sd=emulated_sd,
        prior="included",
    )


def log_normal(x: FloatArray, mean: float | FloatArray, sd: float | FloatArray) -> FloatArray:
    """Log density of normals with these means and SDs at ``x`` (...)."""
    return np.asarray(-0.5 * ((x - mean) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi))


def normal_density(mean: float, sd: float) -> Density:
    """The density of a normal."""
    return Density.from_function(
        lambda x: np.exp(log_normal(x, mean, sd)), mean - REACH * sd, mean + REACH * sd
    )


def normal_truth(log_evidence: float, mean: FloatArray, covariance: FloatArray) -> Truth:
    """The truth about a normal posterior, mean (D,) and covariance (D, D)."""
    factor = np.linalg.cholesky(covariance)

    def sample(n: int, rng: np.random.Generator) -> FloatArray:
        return mean + rng.standard_normal((n, len(mean))) @ factor.T

    marginals = tuple(map(normal_density, mean, np.sqrt(covariance.diagonal())))
    return Truth(log_evidence, mean, covariance, marginals, sample)


def normal(dimension: int) -> Benchmark:
    """Independent normals with SDs 1 .. D, of integral one."""
    sd = np.arange(1.0, dimension + 1)

    def exact(theta: ArrayLike) -> FloatArray:
        return log_normal(np.asarray(theta, dtype=np.float64), 0.0, sd).sum(-1)

    zero = np.zeros(dimension)
    return unbounded(
        "normal", zero, 2.0 * dimension, exact=exact,
        make_truth=lambda: normal_truth(0.0, zero, np.diag(sd**2)),
    )  # fmt: skip


def rotation(dimension: int, seed: int) -> FloatArray:
    """The orthogonal factor (D, D) of a matrix of standard normals; columns are the axes."""
    matrix = np.random.default_rng(seed).standard_normal((dimension, dimension))
    return np.linalg.qr(matrix)[0]


def corr(dimension: int) -> Benchmark:
    """A rotated normal with SDs 0.2 .. 1 along its axes, of integral one."""
    axes, sd = rotation(dimension, CORR_SEED), np.linspace(0.2, 1.0, dimension)
    centre = np.linspace(-0.5, 0.5, dimension)

    def exact(theta: ArrayLike) -> FloatArray:
        return log_normal((np.asarray(theta, dtype=np.float64) - centre) @ axes, 0.0, sd).sum(-1)

    return unbounded(
        "corr", np.zeros(dimension), 2.5, exact=exact,
        make_truth=lambda: normal_truth(0.0, centre, (axes * sd**2) @ axes.T),
    )  # fmt: skip


def cigar(dimension: int) -> Benchmark:
    """A rotated normal likelihood, SD 1 along one axis and 0.01 across, with a wide prior."""
    axes, sd = rotation(dimension, CIGAR_SEED + dimension), np.full(dimension, 0.01)
    sd[-1] = 1.0
    centre = np.linspace(-0.5, 0.5, dimension)
    covariance = (axes * sd**2) @ axes.T
    prior_sd = 3 * np.sqrt(covariance.diagonal())

    def exact(theta: ArrayLike) -> FloatArray:
        theta = np.asarray(theta, dtype=np.float64)
        # Through the axes: the covariance's inverse would lose digits.
        likelihood = log_normal((theta - centre) @ axes, 0.0, sd).sum(-1)
        return likelihood + log_normal(theta, centre, prior_sd).sum(-1)

    def make_truth() -> Truth:
        precision = (axes / sd**2) @ axes.T + np.diag(prior_sd**-2.0)
        posterior = np.linalg.inv(precision)
        log_det = np.linalg.slogdet(2 * np.pi * (covariance + np.diag(prior_sd**2)))[1]
        return normal_truth(-0.5 * float(log_det), centre, 0.5 * (posterior + posterior.T))

    return unbounded("cigar", centre, prior_sd, exact=exact, make_truth=make_truth)


def halfnormal(dimension: int) -> Benchmark:
    """Normals with SDs 1 .. D at 0, cut there: their negative halves, each of mass one half."""
    sd = np.arange(1.0, dimension + 1)
    lower, upper = np.full(dimension, -10.0 * dimension), np.zeros(dimension)

    def exact(theta: ArrayLike) -> FloatArray:
        theta = np.asarray(theta, dtype=np.float64)
        inside = np.all((theta >= lower) & (theta <= upper), axis=-1)
        return np.where(inside, log_normal(theta, 0.0, sd).sum(-1), -np.inf)

    def make_truth() -> Truth:
        def half(s: float) -> Density:
            return Density.from_function(
                lambda x: 2 * np.exp(log_normal(x, 0.0, s)), -REACH * s, 0.0
            )

        return Truth(
            log_evidence=-dimension * float(np.log(2)),
            mean=-sd * np.sqrt(2 / np.pi),
            covariance=np.diag(sd**2 * (1 - 2 / np.pi)),
            marginals=tuple(map(half, sd)),
            sample=lambda n, rng: -np.abs(rng.standard_normal((n, dimension)) * sd),
        )

    return Benchmark(
        name="halfnormal",
        names=tuple(f"x{i + 1}" for i in range(dimension)),
        lower=lower,
        upper=upper,
        plausible_lower=np.full(dimension, -3.0 * dimension),
        plausible_upper=np.full(dimension, -0.05),
        exact=exact,
        make_truth=make_truth,
        emulated_sd=1.0,
        prior="included",
    )
