"""The g-and-k distribution (Price et al. 2018): 10 000 draws without a density in closed form.

A draw is a function of a standard normal z, with θ = (a, b, g, k) and c = 0.8:

    x = a + b (1 + c tanh(g z / 2)) (1 + z²)^k z.

The likelihood is synthetic. Its four summaries are the score of an auxiliary model, the skew t
distribution of Jones & Faddy with parameters (A, B, μ, s), at its maximum-likelihood fit to the
observed draws, where the observed score is 0. With t = (x − μ)/s and C = A + B,

    u = t / √(C + t²),    log p(x) = (A + ½) log(1 + u) + (B + ½) log(1 − u)
                                     − log[2^(C−1) Beta(A, B) √C s].

Since 1 − u² = C/(C + t²), its derivatives need only h = A − B − (C + 1) u:

    d/dA: ψ(C) − ψ(A) − log 2 − 1/(2C) + log(1 + u) − u h/(2C)      (B alike, with log(1 − u))
    d/dμ: −h / (s √(C + t²))
    d/ds: −(1 + u h)/s
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from scipy.optimize import minimize
from scipy.special import betaln, psi

from quell.arrays import FloatArray
from quell.bench.data import read_json
from quell.bench.parsing import parsing
from quell.bench.problems.boxed import boxed_model
from quell.bench.problems.model import Model
from quell.bench.problems.summarised import SIMULATIONS, parameter, summary_likelihood
from quell.likelihoods.synthetic import SyntheticLikelihood

FILE = {"gandk": "data/price2018/gandk_skewt_mle.json"}
C_FIXED, DRAWS = 0.8, 10_000

PARAMETERS = (
    parameter("a", 2.5, 3.5),
    parameter("b", 0.5, 1.5),
    parameter("g", 1.5, 2.5),
    parameter("k", 0.3, 0.7),
)
#: Parameters behind simulated data: near the posterior mean of the observed ones.
GENERATING = {"gandk": (2.99, 1.0, 2.08, 0.5)}


@dataclass(frozen=True)
class Data:
    """The skew t distribution fitted to the observed draws: A, B, μ and s."""

    a: float
    b: float
    mu: float
    sigma: float


def read(key: str) -> Data:
    """The fit to the observed draws, from the data folder."""
    with parsing(FILE[key]):
        content = read_json(FILE[key])
        data = Data(*(float(content[name]) for name in ("a", "b", "mu", "sigma")))
        if not (np.isfinite([data.a, data.b, data.mu, data.sigma]).all()):
            raise ValueError("a parameter is not finite")
        if min(data.a, data.b, data.sigma) <= 0:
            raise ValueError("one of a, b and sigma is not positive")
        if content["n_observations"] != DRAWS or content["c_fixed"] != C_FIXED:
            raise ValueError(f"n_observations is not {DRAWS} or c_fixed is not {C_FIXED}")
    return data


def simulate_data(key: str, rng: np.random.Generator) -> Data:
    """The fit to draws from the model at ``GENERATING[key]``."""
    return fit_skew_t(draw(np.array(GENERATING[key]), rng))


def draw(theta: FloatArray, rng: np.random.Generator) -> FloatArray:
    """A data set (10000,) at θ (4,)."""
    a, b, g, k = theta
    z = rng.standard_normal(DRAWS)
    return a + b * (1 + C_FIXED * np.tanh(g / 2 * z)) * (1 + z**2) ** k * z


def score(x: FloatArray, at: Data) -> tuple[float, FloatArray]:
    """Log-likelihood of draws (n,) under the skew t distribution ``at``, and its gradient (4,)."""
    n, c = len(x), at.a + at.b
    t = (x - at.mu) / at.sigma
    root = np.sqrt(c + t**2)
    u = t / root
    h = at.a - at.b - (c + 1) * u
    plus, minus, uh = np.log(1 + u).sum(), np.log(1 - u).sum(), u @ h
    constant = (c - 1) * log(2) + betaln(at.a, at.b) + 0.5 * log(c) + log(at.sigma)
    value = (at.a + 0.5) * plus + (at.b + 0.5) * minus - n * constant
    common = n * (psi(c) - log(2) - 1 / (2 * c)) - uh / (2 * c)
    gradient = (
        common - n * psi(at.a) + plus,
        common - n * psi(at.b) + minus,
        -np.sum(h / root) / at.sigma,
        -(n + uh) / at.sigma,
    )
    return float(value), np.array(gradient)


def fit_skew_t(x: FloatArray) -> Data:
    """The skew t distribution of greatest likelihood for draws (n,).

    >>> x = np.random.default_rng(1).standard_t(4.0, size=20_000)  # A = B = 2, μ = 0, s = 1
    >>> fit = fit_skew_t(x)
    >>> abs(fit.a / 2 - 1) < 0.1, abs(fit.mu) < 0.1, abs(fit.sigma - 1) < 0.05
    (True, True, True)
    """
    positive = np.array([True, True, False, True])  # logarithms are fitted of these

    def parameters(free: FloatArray) -> FloatArray:
        return np.where(positive, np.exp(np.where(positive, free, 0.0)), free)

    def loss(free: FloatArray) -> tuple[float, FloatArray]:
        values = parameters(free)
        value, gradient = score(x, Data(*values.tolist()))
        return -value / len(x), -gradient * np.where(positive, values, 1.0) / len(x)

    spread = float(np.subtract(*np.quantile(x, [0.75, 0.25])))
    start = np.array([np.log(2.0), np.log(2.0), np.median(x), np.log(spread / 2)])
    fit = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-8})
    return Data(*parameters(fit.x).tolist())


def likelihood(data: Data, simulations: int) -> SyntheticLikelihood:
    """The noisy log-likelihood from so many simulations per evaluation."""

    def simulate(theta: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        # One data set at a time: its arrays stay in the processor's cache.
        return np.array([score(draw(theta, rng), data)[1] for _ in range(n)])

    return summary_likelihood(simulate, np.zeros(4), simulations)


def build(key: str, data: Data) -> Model:  # noqa: ARG001 (one data set only)
    """The model given the fit to the observed draws.

    >>> model = build("gandk", simulate_data("gandk", np.random.default_rng(1)))
    >>> value, sd = model.simulator(GENERATING["gandk"], np.random.default_rng(2))
    >>> -40 < value < -15, 0.05 < sd < 1
    (True, True)
    """
    return boxed_model(PARAMETERS, simulator=likelihood(data, SIMULATIONS))
