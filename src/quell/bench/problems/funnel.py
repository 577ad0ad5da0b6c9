"""Neal's funnel, between bounds: the scale of all other parameters is one of the parameters.

    v ~ N(0, 3) on [−6, 6],   x_i ~ N(0, exp(v / 2)):

400 times as wide at one end as at the other. See Neal (2003), Annals of Statistics 31, 705-767.
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

SD, BOUND = 3.0, 6.0
PLAUSIBLE_V, PLAUSIBLE_X = 4.0, 10.0
#: Nodes of the quadrature over v, for the marginal of x.
NODES = 201


def funnel(dimension: int) -> Benchmark:
    """V and D − 1 parameters whose scale it is."""

    def exact(theta: ArrayLike) -> FloatArray:
        theta = np.asarray(theta, dtype=np.float64)
        inside = np.abs(theta[..., 0]) <= BOUND
        v = np.where(inside, theta[..., 0], 0.0)
        values = log_normal(v, 0.0, SD)
        values = values + log_normal(theta[..., 1:], 0.0, np.exp(0.5 * v)[..., None]).sum(-1)
        return np.where(inside, values, -np.inf)

    bound, plausible = np.full(dimension, np.inf), np.full(dimension, PLAUSIBLE_X)
    bound[0], plausible[0] = BOUND, PLAUSIBLE_V
    return Benchmark(
        name="funnel",
        names=("v", *(f"x{i + 1}" for i in range(dimension - 1))),
        lower=-bound,
        upper=bound,
        plausible_lower=-plausible,
        plausible_upper=plausible,
        exact=exact,
        make_truth=lambda: _truth(dimension),
        emulated_sd=1.0,
        prior="included",
    )


def _truth(dimension: int) -> Truth:
    end = BOUND / SD
    mass = float(ndtr(end) - ndtr(-end))
    peak = float(np.exp(log_normal(np.array(end), 0.0, 1.0)))
    variance = np.empty(dimension)
    variance[0] = SD**2 * (1 - 2 * end * peak / mass)
    # The mean of exp(v): completing the square moves v by SD².
    variance[1:] = np.exp(0.5 * SD**2) * (ndtr(end - SD) - ndtr(-end - SD)) / mass

    def v_density(v: FloatArray) -> FloatArray:
        return np.exp(log_normal(v, 0.0, SD)) / mass

    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    nodes, weights = BOUND * nodes, BOUND * weights
    weights = weights * v_density(nodes)

    def x_density(x: FloatArray) -> FloatArray:
        return np.exp(log_normal(x[..., None], 0.0, np.exp(0.5 * nodes))) @ weights

    # Fine at the narrow end's scale around zero, coarse in the tails.
    narrow, wide = np.exp(-0.5 * BOUND), REACH * np.exp(0.5 * BOUND)
    x = narrow * np.sinh(np.linspace(-1, 1, 8001) * np.arcsinh(wide / narrow))
    x_marginal = Density(x_density, x)

    def sample(n: int, rng: np.random.Generator) -> FloatArray:
        v = SD * ndtri(ndtr(-end) + mass * rng.random(n))
        x = np.exp(0.5 * v)[:, None] * rng.standard_normal((n, dimension - 1))
        return np.column_stack([v, x])

    return Truth(
        log_evidence=float(np.log(mass)),
        mean=np.zeros(dimension),
        covariance=np.diag(variance),
        marginals=(
            Density.from_function(v_density, -BOUND, BOUND),
            *[x_marginal] * (dimension - 1),
        ),
        sample=sample,
    )
