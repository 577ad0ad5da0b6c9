"""The Ricker map (Wood 2010): counts from a population in chaotic or noisy regimes.

A population of size N_t, with growth factor r and environmental noise e_t, is seen through Poisson
counts z_t, t = 1 .. 50, N_0 = 1:

    N_t = r N_{t−1} exp(−N_{t−1} + e_t),    e_t ~ N(0, σ_e²),    z_t ~ Poisson(φ N_t).

Parameters θ = (log r, φ, σ_e). The likelihood is synthetic, of thirteen summaries of the counts:
autocovariances (lags 0 to 5), the shape of the ordered differences relative to that of the observed
ones (a cubic regression), a quadratic autoregression of z^0.3, the mean, the number of zeros.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quell.arrays import FloatArray
from quell.bench.parsing import parsing
from quell.bench.problems.boxed import boxed_model
from quell.bench.problems.model import Model, ReadOnly
from quell.bench.problems.summarised import SIMULATIONS, parameter, summary_likelihood
from quell.likelihoods.synthetic import SyntheticLikelihood

FILE = {"ricker": "data/wood2010/ricker_observations.csv"}
STEPS, LAGS, POWER = 50, 6, 0.3

PARAMETERS = (
    parameter("log_r", 3.0, 5.0),
    parameter("phi", 4.0, 20.0),
    parameter("sigma_e", 0.0, 0.8),
)
#: Parameters behind simulated data: those stated for the observed ones.
GENERATING = {"ricker": (3.8, 10.0, 0.3)}


@dataclass(frozen=True, eq=False)
class Data(ReadOnly):
    """The observed ``counts`` (50,)."""

    counts: FloatArray


def read(key: str) -> Data:
    """The observed counts, from the data folder."""
    with parsing(FILE[key]) as path:
        rows = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
        if rows.shape != (STEPS, 2):
            raise ValueError(f"it is a table of shape {rows.shape}, expected {(STEPS, 2)}")
        if not np.array_equal(rows[:, 0], np.arange(1, STEPS + 1)):
            raise ValueError(f"its first column is not 1 .. {STEPS}")
        counts = rows[:, 1].copy()
        if not np.all((counts >= 0) & (counts == np.round(counts)) & np.isfinite(counts)):
            raise ValueError("a count is not a whole number")
    return Data(counts)


def simulate_data(key: str, rng: np.random.Generator) -> Data:
    """Counts of the model at ``GENERATING[key]``."""
    return Data(simulate(np.array(GENERATING[key]), 1, rng)[0])


def simulate(theta: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Counts (n, 50) of n populations at θ (3,)."""
    log_r, phi, sigma = theta
    growth = np.exp(log_r + sigma * rng.standard_normal((STEPS, n)))
    population, sizes = np.ones(n), np.empty((STEPS, n))
    for t in range(STEPS):
        population = growth[t] * population * np.exp(-population)
        sizes[t] = population
    return rng.poisson(phi * sizes.T).astype(np.float64)


class Summaries:
    """Thirteen summaries of counts (n, 50) -> (n, 13), relative to the observed ones (50,)."""

    def __init__(self, counts: FloatArray) -> None:
        v = _ordered_differences(counts[None])[0]
        powers = np.stack([v, v**2, v**3], axis=1)
        # Least squares in columns of like size: v³ is 10⁵ times v.
        scale = np.sqrt(np.sum(powers**2, axis=0))
        self.shape_regression = np.linalg.pinv(powers / scale).T / scale  # (49, 3)

    def __call__(self, x: FloatArray) -> FloatArray:
        """The summaries, in the order of the module's docstring."""
        mean = x.mean(axis=1, keepdims=True)
        return np.column_stack(
            [
                *(_autocovariance(x - mean, lag) for lag in range(LAGS)),
                _ordered_differences(x) @ self.shape_regression,
                _autoregression(x),
                mean,
                np.count_nonzero(x == 0, axis=1),
            ]
        )


def _autocovariance(centred: FloatArray, lag: int) -> FloatArray:
    n = centred.shape[1] - lag
    return np.einsum("ij,ij->i", centred[:, :n], centred[:, lag:]) / n


def _ordered_differences(x: FloatArray) -> FloatArray:
    """First differences (n, 49), sorted, minus their mean."""
    differences = np.sort(np.diff(x, axis=1), axis=1)
    return differences - differences.mean(axis=1, keepdims=True)


def _autoregression(x: FloatArray) -> FloatArray:
    """Coefficients (n, 2) of q_t on q_{t−1} and its square, q = x^0.3 centred; 0 if q vanishes."""
    q = x**POWER
    q -= q.mean(axis=1, keepdims=True)
    before, after = q[:, :-1], q[:, 1:]
    regressors = np.stack([before, before**2], axis=1)
    gram = np.einsum("nit,njt->nij", regressors, regressors)
    (a, b), c = (gram[:, 0, 0], gram[:, 0, 1]), gram[:, 1, 1]
    u, v = np.einsum("nit,nt->in", regressors, after)
    determinant = a * c - b**2
    regular = determinant > 1e-12 * a * c  # by Cauchy and Schwarz it lies between 0 and a c
    safe = np.where(regular, determinant, 1.0)
    coefficients = np.stack([c * u - b * v, a * v - b * u], axis=1) / safe[:, None]
    return np.where(regular[:, None], coefficients, 0.0)


def likelihood(data: Data, simulations: int) -> SyntheticLikelihood:
    """The noisy log-likelihood from so many simulations per evaluation."""
    return summary_likelihood(simulate, data.counts, simulations, Summaries(data.counts))


def build(key: str, data: Data) -> Model:  # noqa: ARG001 (one data set only)
    """The model given counts.

    >>> model = build("ricker", simulate_data("ricker", np.random.default_rng(1)))
    >>> value, sd = model.simulator(GENERATING["ricker"], np.random.default_rng(2))
    >>> -40 < value < -10, 0.5 < sd < 3
    (True, True)
    """
    return boxed_model(PARAMETERS, simulator=likelihood(data, SIMULATIONS))
