"""Linear regression with known noise: an exactly normal posterior, on new data in every run.

    y = X β + ε,   β ~ N(0, I / κ),

with standard normal ε and the X of :mod:`quell.bench.problems.conjugate`. The log joint is
quadratic, so what an estimate of the evidence is off by comes from noise alone:

    Λ = XᵀX + κ I,  m = Λ⁻¹ Xᵀ y,  ln Z = ½ (D ln κ − ln |Λ| − yᵀy + mᵀ Λ m − n ln 2π).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.bench.problems.base import Benchmark
from quell.bench.problems.conjugate import OBSERVATIONS, PRECISION, design
from quell.bench.problems.gaussian import log_normal, normal_truth, unbounded
from quell.bench.truth import Truth
from quell.streams import BenchStream, rng_for_bench


def linear(dimension: int) -> Benchmark:
    """D coefficients; the data are those of seed 0 until ``for_seed`` makes others."""
    return _with_data(dimension, 0)


def _with_data(dimension: int, seed: int) -> Benchmark:
    rng = rng_for_bench(seed, BenchStream.LINEAR_DATA)
    x, prior_sd = design(dimension), PRECISION**-0.5
    beta = prior_sd * rng.standard_normal(dimension)
    y = x @ beta + rng.standard_normal(OBSERVATIONS)

    def exact(theta: ArrayLike) -> FloatArray:
        theta = np.asarray(theta, dtype=np.float64)
        likelihood = log_normal(y, theta @ x.T, 1.0).sum(-1)
        return likelihood + log_normal(theta, 0.0, prior_sd).sum(-1)

    problem = unbounded(
        "linear", np.zeros(dimension), prior_sd, exact=exact, make_truth=lambda: _truth(x, y),
        emulated_sd=2.0,
    )  # fmt: skip
    return replace(
        problem,
        names=tuple(f"beta{i + 1}" for i in range(dimension)),
        generating=beta,
        for_seed=lambda seed: _with_data(dimension, seed),
    )


def _truth(x: FloatArray, y: FloatArray) -> Truth:
    n, size = x.shape
    precision = x.T @ x + PRECISION * np.eye(size)
    covariance = np.asarray(np.linalg.inv(precision), dtype=np.float64)
    mean = covariance @ x.T @ y
    log_evidence = 0.5 * (
        size * np.log(PRECISION)
        - np.linalg.slogdet(precision)[1]
        - float(y @ y - mean @ precision @ mean)
        - n * np.log(2 * np.pi)
    )
    return normal_truth(float(log_evidence), mean, covariance)
