"""A ring in the plane: the density depends on the distance r from the origin alone.

    p(x) ∝ exp(−½ ((r − R) / w)²)

With R / w = 12 the origin is out of reach, and integrals over r ≥ 0 are those over all r to
rounding: the evidence is 2π R w √(2π), and the mean of r² is R² + 3 w².
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.bench.density import Density, inverse_cdf_draws
from quell.bench.problems.base import Benchmark
from quell.bench.problems.gaussian import REACH, unbounded
from quell.bench.truth import Truth

RADIUS, WIDTH = 3.0, 0.25
HALF_WIDTH = 6.0


def ring(dimension: int) -> Benchmark:
    """The ring; two dimensions."""
    return unbounded("ring", np.zeros(dimension), HALF_WIDTH, exact=_exact, make_truth=_truth)


def _exact(theta: ArrayLike) -> FloatArray:
    theta = np.asarray(theta, dtype=np.float64)
    radius = np.hypot(theta[..., 0], theta[..., 1])
    return np.asarray(-0.5 * ((radius - RADIUS) / WIDTH) ** 2)


def _truth() -> Truth:
    log_evidence = float(np.log(2 * np.pi * RADIUS * WIDTH * np.sqrt(2 * np.pi)))
    end = RADIUS + REACH * WIDTH
    # The trapezoid rule is exact to rounding for a smooth function that vanishes at the ends.
    side = np.linspace(-end, end, 1051)
    plane = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1)
    marginal = np.exp(_exact(plane) - log_evidence).sum(1) * (side[1] - side[0])
    radius = np.linspace(RADIUS - REACH * WIDTH, end, 4001)
    across = radius * np.exp(-0.5 * ((radius - RADIUS) / WIDTH) ** 2)

    def sample(n: int, rng: np.random.Generator) -> FloatArray:
        r = inverse_cdf_draws(radius, across, n, rng)
        angle = rng.uniform(0.0, 2 * np.pi, n)
        return np.column_stack([r * np.cos(angle), r * np.sin(angle)])

    return Truth(
        log_evidence=log_evidence,
        mean=np.zeros(2),
        covariance=0.5 * (RADIUS**2 + 3 * WIDTH**2) * np.eye(2),
        marginals=(Density.from_grid(side, marginal),) * 2,
        sample=sample,
    )
