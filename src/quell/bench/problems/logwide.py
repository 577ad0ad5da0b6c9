"""Positive parameters over three decades: log-normals with an SD of 1.7 of the log.

Parameters come in pairs, the first without an upper bound, the second between 0 and 10⁴. Their logs
are normal, independent for D = 2 and correlated at 0.9 within a pair for D = 4. The upper bound is
far out, but not so far that it does not matter: it cuts off more than half of a variance.

With standardised logs a and b of a pair, of correlation ρ, where b < u at the bound,

    ∫ exp(s a + t b) = exp(½ (s² + t² + 2 ρ s t)) Φ(u − t − ρ s):

evidence and moments are all of this form.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from quell.arrays import FloatArray
from quell.bench.density import Density
from quell.bench.problems.base import Benchmark
from quell.bench.problems.gaussian import REACH, log_normal
from quell.bench.truth import Truth

LOG_SD, BOUND = 1.7, 1e4
#: The medians of the parameters, and the correlation of the logs within a pair by D.
MEDIANS, CORRELATION = (2.0, 50.0, 20.0, 30.0), {2: 0.0, 4: 0.9}
#: The plausible box of parameters without an upper bound, and of those with one.
PLAUSIBLE, PLAUSIBLE_BOUNDED = (0.1, 100.0), (20.0, 2000.0)
GRID = 16_001


def logwide(dimension: int) -> Benchmark:
    """D / 2 pairs of log-normal parameters, one of each with an upper bound."""
    rho = CORRELATION[dimension]
    log_median = np.log(MEDIANS[:dimension])
    upper = np.tile([np.inf, BOUND], dimension // 2)
    plausible = np.tile([PLAUSIBLE, PLAUSIBLE_BOUNDED], (dimension // 2, 1))

    def exact(theta: ArrayLike) -> FloatArray:
        theta = np.asarray(theta, dtype=np.float64)
        inside = np.asarray(((theta > 0) & (theta <= upper)).all(-1))
        logs = np.log(np.where(inside[..., None], theta, 1.0))
        first, second = logs[..., ::2], logs[..., 1::2]
        given = log_median[::2] + rho * (second - log_median[1::2])
        values = (
            log_normal(second, log_median[1::2], LOG_SD)
            + log_normal(first, given, LOG_SD * np.sqrt(1 - rho**2))
        ).sum(-1) - logs.sum(-1)
        return np.where(inside, values, -np.inf)

    return Benchmark(
        name="logwide",
        names=tuple(f"x{i + 1}" for i in range(dimension)),
        lower=np.zeros(dimension),
        upper=upper,
        plausible_lower=plausible[:, 0].copy(),
        plausible_upper=plausible[:, 1].copy(),
        exact=exact,
        make_truth=lambda: _truth(log_median, rho),
        emulated_sd=1.0,
        prior="included",
    )


def _truth(log_median: FloatArray, rho: float) -> Truth:
    dimension = len(log_median)
    ends = (np.log(BOUND) - log_median[1::2]) / LOG_SD
    mass = ndtr(ends)
    mean, covariance = np.empty(dimension), np.zeros((dimension, dimension))
    marginals: list[Density] = []
    for pair, end in enumerate(ends):
        rows = slice(2 * pair, 2 * pair + 2)
        scale = np.exp(log_median[rows])
        mean[rows] = scale * [_moment(1, 0, rho, end), _moment(0, 1, rho, end)]
        mixed = _moment(1, 1, rho, end)
        second = np.array(
            [[_moment(2, 0, rho, end), mixed], [mixed, _moment(0, 2, rho, end)]]
        )  # fmt: skip
        covariance[rows, rows] = np.outer(scale, scale) * second - np.outer(mean[rows], mean[rows])
        marginals += [
            _unbounded(log_median[2 * pair], rho, end),
            _bounded(log_median[2 * pair + 1]),
        ]

    def sample(n: int, rng: np.random.Generator) -> FloatArray:
        z = np.empty((n, dimension))
        z[:, 1::2] = ndtri(mass * rng.random((n, dimension // 2)))
        own = rng.standard_normal((n, dimension // 2))
        z[:, ::2] = rho * z[:, 1::2] + np.sqrt(1 - rho**2) * own
        return np.minimum(np.exp(log_median + LOG_SD * z), np.tile([np.inf, BOUND], dimension // 2))

    return Truth(
        log_evidence=float(np.log(mass).sum()),
        mean=mean,
        covariance=covariance,
        marginals=tuple(marginals),
        sample=sample,
        in_logs=True,
    )


def _moment(first: int, second: int, rho: float, end: float) -> float:
    """The mean of x₁^first x₂^second of a pair with medians 1, cut where its b reaches ``end``."""
    s, t = LOG_SD * first, LOG_SD * second
    return float(
        np.exp(0.5 * (s**2 + t**2 + 2 * rho * s * t)) * ndtr(end - t - rho * s) / ndtr(end)
    )  # fmt: skip


def _log_normal_density(x: FloatArray, log_median: float) -> FloatArray:
    logs = np.log(x)
    return np.exp(log_normal(logs, log_median, LOG_SD) - logs)


def _unbounded(log_median: float, rho: float, end: float) -> Density:
    """The marginal of the first of a pair; the second's bound shows in its tail."""

    def density(x: FloatArray) -> FloatArray:
        z = (np.log(x) - log_median) / LOG_SD
        below = ndtr((end - rho * z) / np.sqrt(1 - rho**2))
        return _log_normal_density(x, log_median) * below / ndtr(end)

    return Density(density, _grid(log_median, REACH))


def _bounded(log_median: float) -> Density:
    """The marginal of the second of a pair."""
    end = (np.log(BOUND) - log_median) / LOG_SD
    grid = _grid(log_median, end)
    grid[-1] = BOUND  # but for rounding
    return Density(lambda x: _log_normal_density(x, log_median) / ndtr(end), grid)


def _grid(log_median: float, end: float) -> FloatArray:
    """Points (n,) in equal ratios, to ``end`` SDs of the log above the median."""
    return np.exp(log_median + LOG_SD * np.linspace(-REACH, end, GRID))
