"""Linear regression in raw units: coefficients of wildly different sizes, hardly separable.

    y = X β + σ ε,   β uniform on a wide box,   1/σ² ~ Gamma(a, rate b),

with standard normal ε. A predictor such as the year is near 2000 in all observations, so that its
slope and the intercept are known well together and badly apart. Far from the ridge, but well within
the plausible box, the log-likelihood is −10⁵ and lower.

The box is so wide that it cuts off nothing of the posterior, which is then known in closed form:
with the least-squares coefficients m, their residual sum of squares S, n observations, k
coefficients in a box of volume V, a' = a + (n − k)/2 and b' = b + S/2,

    ln Z = −ln V − ½ (n − k) ln 2π − ½ ln |XᵀX| + a ln b − a' ln b' + ln Γ(a') − ln Γ(a),

β is Student's t around m with 2 a' degrees of freedom, and 1/σ² ~ Gamma(a', b').
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from quell.arrays import FloatArray
from quell.bench.density import Density
from quell.bench.problems.base import Benchmark
from quell.bench.problems.gaussian import log_normal
from quell.bench.problems.student import student_density
from quell.bench.truth import Truth

OBSERVATIONS, SEED = 40, 20261001
#: a and b of the prior of 1/σ²: σ is of the order of 3, and hardly known.
SHAPE, RATE = 1.0, 9.0
#: The SD of the observations around their mean, and what that is for average predictors.
NOISE_SD, LEVEL = 2.0, 320.0
#: The plausible box of σ, and that of the intercept, to both sides of zero.
PLAUSIBLE_SD, INTERCEPT = (0.5, 30.0), 2000.0
#: The hard bounds of a coefficient are so many times as wide as its plausible box.
WIDER = 10.0


class Predictor(NamedTuple):
    """Mean and SD of a predictor, its true slope, and the plausible box of it, around zero."""

    name: str
    mean: float
    sd: float
    slope: float
    plausible: float


PREDICTORS = (
    Predictor("year", 2005.0, 3.0, 0.45, 1.0),
    Predictor("temperature", 288.0, 6.0, -0.8, 3.0),
    Predictor("income", 32_000.0, 7000.0, 6e-4, 3e-3),
    Predictor("humidity", 60.0, 12.0, 0.1, 1.0),
    Predictor("pressure", 1013.0, 16.0, 0.15, 2.0),
    Predictor("wind", 4.0, 1.5, 1.2, 10.0),
)


def design(dimension: int) -> tuple[FloatArray, FloatArray]:
    """X (n, D − 1), a column of ones and D − 2 predictors, and the observations y (n,)."""
    rng = np.random.default_rng([SEED, dimension])
    chosen = PREDICTORS[: dimension - 2]
    deviations = rng.standard_normal((OBSERVATIONS, len(chosen))) * [p.sd for p in chosen]
    y = LEVEL + deviations @ [p.slope for p in chosen]
    y = y + NOISE_SD * rng.standard_normal(OBSERVATIONS)
    predictors = deviations + [p.mean for p in chosen]
    return np.column_stack([np.ones(OBSERVATIONS), predictors]), y


def regression(dimension: int) -> Benchmark:
    """An intercept, D − 2 slopes and σ, which has no upper bound."""
    x, y = design(dimension)
    chosen = PREDICTORS[: dimension - 2]
    plausible = np.array([INTERCEPT, *(p.plausible for p in chosen)])

    def exact(theta: ArrayLike) -> FloatArray:
        theta = np.asarray(theta, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            values = log_normal(y, theta[..., :-1] @ x.T, theta[..., -1:]).sum(-1)
        return np.where(theta[..., -1] > 0, values, -np.inf)

    return Benchmark(
        name="regression",
        names=("intercept", *(p.name for p in chosen), "sigma"),
        lower=np.append(-WIDER * plausible, 0.0),
        upper=np.append(WIDER * plausible, np.inf),
        plausible_lower=np.append(-plausible, PLAUSIBLE_SD[0]),
        plausible_upper=np.append(plausible, PLAUSIBLE_SD[1]),
        exact=exact,
        make_truth=lambda: _truth(x, y, float(np.log(2 * WIDER * plausible).sum())),
        emulated_sd=1.0,
        prior=_prior(WIDER * plausible),
    )


def _prior(bound: FloatArray) -> list[Any]:
    """Uniform on ∓ ``bound`` (k,) for the coefficients; of 1/σ² a gamma."""
    from scipy import stats  # slow to import

    uniform = [stats.uniform(-width, 2 * width) for width in bound]
    return [*uniform, stats.gengamma(SHAPE, -2.0, scale=np.sqrt(RATE))]


def _truth(x: FloatArray, y: FloatArray, log_volume: float) -> Truth:
    n, size = x.shape
    # Through the triangular factor: XᵀX would lose half of the digits.
    orthogonal, triangle = np.linalg.qr(x)
    mean = np.linalg.solve(triangle, orthogonal.T @ y)
    factor = np.linalg.inv(triangle)  # times its transpose: the inverse of XᵀX
    spread = factor @ factor.T
    shape = SHAPE + 0.5 * (n - size)
    rate = RATE + 0.5 * float(((y - x @ mean) ** 2).sum())
    log_evidence = (
        -log_volume
        - 0.5 * (n - size) * np.log(2 * np.pi)
        - float(np.log(np.abs(triangle.diagonal())).sum())
        + SHAPE * np.log(RATE) - shape * np.log(rate)
        + gammaln(shape) - gammaln(SHAPE)
    )  # fmt: skip
    sd_mean = float(np.sqrt(rate) * np.exp(gammaln(shape - 0.5) - gammaln(shape)))
    sd_variance = rate / (shape - 1) - sd_mean**2
    covariance = np.zeros((size + 1, size + 1))
    covariance[:size, :size] = spread * rate / (shape - 1)
    covariance[size, size] = sd_variance

    def sd_density(v: FloatArray) -> FloatArray:
        log_p = np.log(2.0) + shape * np.log(rate) - gammaln(shape) - (2 * shape + 1) * np.log(v)
        return np.exp(log_p - rate / v**2)

    def sample(draws: int, rng: np.random.Generator) -> FloatArray:
        sd = np.sqrt(rate / rng.gamma(shape, size=draws))
        normals = rng.standard_normal((draws, size)) @ factor.T
        return np.column_stack([mean + sd[:, None] * normals, sd])

    scales = np.sqrt(spread.diagonal() * rate / shape)
    return Truth(
        log_evidence=float(log_evidence),
        mean=np.append(mean, sd_mean),
        covariance=covariance,
        marginals=(
            *(student_density(*pair, 2 * shape) for pair in zip(mean, scales, strict=True)),
            Density.from_function(sd_density, 0.2 * sd_mean, 6 * sd_mean),
        ),
        sample=sample,
    )
