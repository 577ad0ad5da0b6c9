"""Proportions in raw coordinates: the density is zero where they add up to more than one.

D + 1 categories were counted; the parameters are the proportions p₁ .. p_D of the first D, each
between 0 and 1, and what is left is that of the last. The prior is uniform where p₁ + … + p_D ≤ 1
and zero beyond, which most of the box is for larger D, and much of the plausible box. The last
category is rare, so that the mass lies along that edge.

The posterior is a Dirichlet distribution. The evidence is one over the number of ways to spread
the N observations over the categories: 1 / C(N + D, D).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlogy

from quell.arrays import FloatArray
from quell.bench.density import Density
from quell.bench.problems.base import Benchmark
from quell.bench.truth import Truth

#: Counts by D, the last category's at the end: none of it for D = 2, where the density is largest
#: at the edge itself.
COUNTS = {2: (9, 22, 0), 4: (4, 12, 30, 8, 1)}
PLAUSIBLE = (0.05, 0.75)


def constraint(dimension: int) -> Benchmark:
    """D proportions, whose sum is at most one."""
    counts = np.array(COUNTS[dimension], dtype=np.float64)
    ways = float(gammaln(counts.sum() + 1) - gammaln(counts + 1).sum())
    log_volume = -float(gammaln(dimension + 1))  # of the simplex

    def exact(theta: ArrayLike) -> FloatArray:
        theta = np.asarray(theta, dtype=np.float64)
        rest = 1 - theta.sum(-1)
        inside = (theta >= 0).all(-1) & (rest >= 0)
        shares = np.concatenate([theta, rest[..., None]], axis=-1)
        # Other points need a number, if only to be replaced.
        shares = np.where(inside[..., None], shares, 1.0)
        return np.where(inside, ways + xlogy(counts, shares).sum(-1), -np.inf)

    class OnTheSimplex:
        """The uniform distribution of proportions."""

        def logpdf(self, theta: FloatArray) -> FloatArray:
            """Log density (n,) at points (n, D)."""
            theta = np.asarray(theta)
            inside = (theta >= 0).all(-1) & (theta.sum(-1) <= 1)
            return np.where(inside, -log_volume, -np.inf)

    return Benchmark(
        name="constraint",
        names=tuple(f"p{i + 1}" for i in range(dimension)),
        lower=np.zeros(dimension),
        upper=np.ones(dimension),
        plausible_lower=np.full(dimension, PLAUSIBLE[0]),
        plausible_upper=np.full(dimension, PLAUSIBLE[1]),
        exact=exact,
        make_truth=lambda: _dirichlet_truth(counts + 1),
        emulated_sd=1.0,
        prior=OnTheSimplex(),
    )


def _dirichlet_truth(shape: FloatArray) -> Truth:
    """The truth about D proportions and their rest under Dirichlet(``shape``), (D + 1,)."""
    total, dimension = float(shape.sum()), len(shape) - 1
    mean = shape[:-1] / total
    covariance = (np.diag(mean) - np.outer(mean, mean)) / (total + 1)
    observed = total - dimension - 1

    def beta(a: float) -> Density:
        """The marginal of a proportion."""
        b = total - a
        constant = gammaln(total) - gammaln(a) - gammaln(b)

        def density(x: FloatArray) -> FloatArray:
            return np.exp(constant + xlogy(a - 1, x) + xlogy(b - 1, 1 - x))

        return Density.from_function(density, 0.0, 1.0)

    return Truth(
        log_evidence=float(
            gammaln(observed + 1) + gammaln(dimension + 1) - gammaln(observed + dimension + 1)
        ),
        mean=mean,
        covariance=covariance,
        marginals=tuple(map(beta, shape[:-1])),
        sample=lambda n, rng: rng.dirichlet(shape, n)[:, :-1],
    )
