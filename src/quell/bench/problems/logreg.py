"""Logistic regression with a nearly separable predictor: one coefficient runs into its bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from quell.arrays import FloatArray
from quell.bench import data
from quell.bench.density import Density, inverse_cdf_draws
from quell.bench.problems.base import BenchError, Benchmark, Target
from quell.bench.problems.real import simulated_data
from quell.bench.truth import Truth
from quell.bench.truth.shipped import shipped_truth

FILE, BOUND = "synthetic.json", 10.0
#: Weighted draws behind the sampler of the truth, their seed, and the proposal's shape.
PROPOSALS, SEED, DEGREES, INFLATION = 200_000, 20260905, 5.0, 1.3
#: The design of simulated data: observations, those with the rare predictor, the correlation of
#: two others; and the coefficients behind the outcomes.
OBSERVATIONS, RARE, CORRELATION = 50, 6, 0.95
GENERATING = {"logreg": (0.3, 1.0, -1.0, 0.8, 1.5)}


@dataclass(frozen=True, eq=False)
class Data:
    """Predictors ``x`` (n, D) and outcomes ``y`` (n,), 0 or 1."""

    x: FloatArray
    y: FloatArray


def simulate_data(key: str, rng: np.random.Generator) -> Data:
    """Data like the stored ones: the rare predictor goes with an outcome of 1 always."""
    common, own, other = rng.standard_normal((3, OBSERVATIONS))
    correlated = CORRELATION * common + np.sqrt(1 - CORRELATION**2) * own
    rare = (np.arange(OBSERVATIONS) < RARE).astype(np.float64)
    x = np.column_stack([np.ones(OBSERVATIONS), common, correlated, other, rare])
    probability = 1 / (1 + np.exp(-x @ np.array(GENERATING[key])))
    return Data(x, np.where(rare == 1, 1.0, rng.random(OBSERVATIONS) < probability))


def logreg(dimension: int) -> Benchmark:
    """50 binary outcomes, 5 coefficients, uniform prior on [-10, 10]⁵.

    The data are those stored in QUELL_DATA, or else simulated.
    """
    if data.kind() == "simulated":
        observed = simulated_data("logreg")
        return replace(_with_data(observed, lambda _: shipped_truth("logreg", observed)),
                       data="simulated")  # fmt: skip
    content = data.read_json(FILE)
    try:
        stored = content["targets"]["logreg"][str(dimension)]
        x, y = (np.asarray(stored["constants"][name], dtype=np.float64) for name in ("X", "y"))
    except (KeyError, TypeError, ValueError) as error:
        path = data.data_file(FILE)
        raise BenchError(f"{path} has no usable entry for logreg: {error!r}") from None
    return _with_data(Data(x, y), lambda exact: _truth(stored, exact))


def _with_data(observed: Data, make_truth: Callable[[Target], Truth]) -> Benchmark:
    # One row per observation, its sign turned by the outcome: ln σ(signed · w) is its term.
    signed = observed.x * (2 * observed.y - 1)[:, None]
    dimension = signed.shape[1]

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
        make_truth=lambda: make_truth(exact),
        emulated_sd=3.0,
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
