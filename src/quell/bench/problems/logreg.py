"""Logistic regression with a nearly separable predictor: one coefficient runs into its bound."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from quell.bench.data import read_json
from quell.bench.density import Density, inverse_cdf_draws
from quell.bench.problems.base import Benchmark, Truth
from quell.checks import FloatArray

BOUND = 10.0
#: Weighted draws behind the sampler of the truth, their seed, and the proposal's shape.
PROPOSALS, SEED, DEGREES, INFLATION = 200_000, 20260905, 5.0, 1.3


def logreg(dimension: int) -> Benchmark:
    """50 binary outcomes, 5 coefficients, uniform prior on [-10, 10]⁵; data from QUELL_DATA."""
    stored = read_json("synthetic.json")["targets"]["logreg"][str(dimension)]
    # One row per observation, its sign turned by the outcome: ln σ(signed · w) is its term.
    design = np.asarray(stored["constants"]["X"], dtype=np.float64)
    outcome = np.asarray(stored["constants"]["y"], dtype=np.float64)
    signed = design * (2 * outcome - 1)[:, None]

    def exact(theta: ArrayLike) -> FloatArray:
        theta = np.asarray(theta, dtype=np.float64)
        likelihood = -np.logaddexp(0.0, -theta @ signed.T).sum(-1)
        inside = np.all(np.abs(theta) <= BOUND, axis=-1)
        return np.where(inside, likelihood - dimension * np.log(2 * BOUND), -np.inf)

    bound, plausible = np.full(dimension, BOUND), np.full(dimension, 5.0)
    return Benchmark(
        name="logreg",
        names=tuple(f"w{i + 1}" for i in range(dimension)),
        lower=-bound,
        upper=bound,
        plausible_lower=-plausible,
        plausible_upper=plausible,
        exact=exact,
        make_truth=lambda: _truth(stored, exact),
        noise_sd=3.0,
        prior="included",
    )


def _truth(stored: dict[str, Any], exact: Any) -> Truth:
    mean, covariance = np.asarray(stored["mean"]), np.asarray(stored["cov"])
    histogram = stored["marginal_histogram"]
    marginals = tuple(map(_histogram_density, histogram["ranges"], histogram["density"]))

    def sample(n: int, rng: np.random.Generator) -> FloatArray:
        points, weights = weighted_draws(exact, mean, covariance, marginals[-1])
        # Systematic resampling: hardly any noise on top of that of the weights.
        places = (np.arange(n) + rng.random()) / n
        rows = np.searchsorted(np.cumsum(weights) / weights.sum(), places)
        return points[rng.permutation(rows)]

    return Truth(
        log_evidence=stored["ln_Z"],
        mean=mean,
        covariance=covariance,
        marginals=marginals,
        sample=sample,
        log_evidence_checked=stored["truth_refined"]["ln_Z"],
    )


def _histogram_density(ends: list[float], heights: list[float]) -> Density:
    """Linear through the middle of the bins, so that a histogram's steps do not show."""
    edges = np.linspace(ends[0], ends[1], len(heights) + 1)
    x = np.concatenate([edges[:1], 0.5 * (edges[1:] + edges[:-1]), edges[-1:]])
    y = np.concatenate([heights[:1], heights, heights[-1:]])
    return Density(lambda v: np.interp(v, x, y), x)


def weighted_draws(
    exact: Any, mean: FloatArray, covariance: FloatArray, last: Density
) -> tuple[FloatArray, FloatArray]:
    """Points (n, D) in the box and weights (n,) whose mean estimates the evidence.

    The last coefficient, which runs into its bound, is proposed from its marginal mixed with a
    uniform; the others from a multivariate t with their moments.
    """
    rng, d = np.random.default_rng(SEED), len(mean) - 1
    shape = covariance[:d, :d] * INFLATION * (DEGREES - 2) / DEGREES
    factor = np.linalg.cholesky(shape)
    normals = rng.standard_normal((PROPOSALS, d))
    radius = np.sqrt(DEGREES / rng.chisquare(DEGREES, PROPOSALS))
    points = np.empty((PROPOSALS, d + 1))
    points[:, :d] = mean[:d] + radius[:, None] * (normals @ factor.T)
    uniform = rng.random(PROPOSALS) < 0.05
    points[:, d] = np.where(
        uniform,
        rng.uniform(-BOUND, BOUND, PROPOSALS),
        inverse_cdf_draws(last.grid, last(last.grid), PROPOSALS, rng),
    )
    distance = radius**2 * (normals**2).sum(-1)
    log_t = gammaln((DEGREES + d) / 2) - gammaln(DEGREES / 2) - 0.5 * d * np.log(DEGREES * np.pi)
    log_t = log_t - np.log(factor.diagonal()).sum()
    log_t = log_t - 0.5 * (DEGREES + d) * np.log1p(distance / DEGREES)
    proposal = np.exp(log_t) * (0.95 * last(points[:, d]) + 0.05 / (2 * BOUND))
    return points, np.exp(exact(points)) / proposal
