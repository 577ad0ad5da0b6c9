"""Importance sampling with a proposal that adapts to the target (population Monte Carlo).

The proposal is a mixture of multivariate t densities. Each stage draws from it, weighs the draws,
and fits the next mixture to them; early stages weigh by a power of the ratio, so that a proposal
that is far off narrows in steps (Cappé et al. 2004, J. Comput. Graph. Stat. 13, 907-929).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp

from quell.arrays import FloatArray

LogDensity = Callable[[FloatArray], FloatArray]

#: Tails of the proposal; widening of a fitted component's covariance; share of the first, wide
#: component, which keeps the weights bounded where the others miss something, and its widening.
DEGREES, WIDENING, WIDE_SHARE, WIDE = 5.0, 1.1, 0.1, 4.0
EM_STEPS = 60
#: Share of effective draws below which the weights of a stage are flattened, and that is enough.
LEAST_EFFECTIVE, ENOUGH_EFFECTIVE = 0.2, 0.5


@dataclass(frozen=True, eq=False)
class Proposal:
    """A mixture of K multivariate t densities in D dimensions.

    ``weights`` (K,), ``means`` (K, D), ``factors`` (K, D, D) lower Cholesky factors of the scale
    matrices.

    >>> wide = Proposal(np.ones(1), np.zeros((1, 2)), np.eye(2)[None])
    >>> wide.sample(5, np.random.default_rng(1)).shape, wide.log_density(np.zeros((1, 2))).round(3)
    ((5, 2), array([-1.838]))
    """

    weights: FloatArray
    means: FloatArray
    factors: FloatArray

    def sample(self, n: int, rng: np.random.Generator | np.random.RandomState) -> FloatArray:
        """``n`` draws (n, D)."""
        edges = np.cumsum(self.weights)
        k = np.searchsorted(edges / edges[-1], rng.random(n), side="right")
        k = np.minimum(k, len(self.weights) - 1)
        normals = rng.standard_normal((n, self.means.shape[1]))
        radius = np.sqrt(DEGREES / rng.chisquare(DEGREES, n))
        return self.means[k] + radius[:, None] * np.einsum("nij,nj->ni", self.factors[k], normals)

    def log_density(self, x: FloatArray) -> FloatArray:
        """Log density at points (n, D)."""
        d = x.shape[1]
        constant = (
            gammaln((DEGREES + d) / 2) - gammaln(DEGREES / 2) - 0.5 * d * np.log(DEGREES * np.pi)
        )
        parts = np.log(self.weights) + constant - _log_det(self.factors)
        tails = np.log1p(_distances(x, self.means, self.factors) / DEGREES)
        return np.asarray(logsumexp(parts - 0.5 * (DEGREES + d) * tails, axis=1))


def _distances(x: FloatArray, means: FloatArray, factors: FloatArray) -> FloatArray:
    """Squared Mahalanobis distances (n, K)."""
    scaled = np.einsum("kij,nkj->nki", np.linalg.inv(factors), x[:, None, :] - means, optimize=True)
    return np.asarray((scaled**2).sum(2))


def _log_det(factors: FloatArray) -> FloatArray:
    return np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(1)


def fit_proposal(draws: FloatArray, components: int, rng: np.random.Generator) -> Proposal:
    """A proposal for the distribution of ``draws`` (n, D): normals by EM, with t tails.

    One more component, as wide as all draws together and more, is added to ``components``.
    """
    n, d = draws.shape
    mean, covariance = draws.mean(0), np.cov(draws.T).reshape(d, d)
    ridge = 1e-6 * np.diag(covariance.diagonal())
    weights = np.full(components, 1 / components)
    means = draws[rng.choice(n, components, replace=False)]
    factors = np.tile(np.linalg.cholesky(covariance / components ** (2 / d) + ridge),
                      (components, 1, 1))  # fmt: skip
    for _ in range(EM_STEPS):
        log_p = np.log(weights) - _log_det(factors) - 0.5 * _distances(draws, means, factors)
        share = np.exp(log_p - logsumexp(log_p, axis=1, keepdims=True))
        mass = share.sum(0) + 1e-9 * n
        weights, means = mass / mass.sum(), (share.T @ draws) / mass[:, None]
        for k in range(components):
            centred = draws - means[k]
            # A little of the whole covariance keeps a component with few draws in shape.
            scatter = (share[:, k] * centred.T) @ centred + d * covariance / components
            factors[k] = np.linalg.cholesky(scatter / (mass[k] + d) + ridge)
    wide = np.linalg.cholesky(WIDE * covariance + ridge)
    return Proposal(
        np.concatenate([[WIDE_SHARE], (1 - WIDE_SHARE) * weights]),
        np.vstack([mean, means]),
        np.concatenate([wide[None], np.sqrt(WIDENING) * factors]),
    )


@dataclass(frozen=True, eq=False)
class Weighted:
    """Draws (n, D) from a proposal, with the log of target over proposal density (n,)."""

    points: FloatArray
    log_weights: FloatArray

    @classmethod
    def draw(
        cls, log_density: LogDensity, proposal: Proposal, n: int, rng: np.random.Generator
    ) -> Weighted:
        """``n`` draws; ``log_density`` maps points (n, D) to (n,) and may be -inf."""
        points = proposal.sample(n, rng)
        return cls(points, log_density(points) - proposal.log_density(points))

    @property
    def shares(self) -> FloatArray:
        """Weights (n,) that sum to one."""
        return np.exp(self.log_weights - logsumexp(self.log_weights))

    @property
    def effective_size(self) -> float:
        """1 / Σ shares²."""
        return float(1 / np.sum(self.shares**2))

    @property
    def log_integral(self) -> float:
        """Log of the target's integral."""
        return float(logsumexp(self.log_weights) - np.log(len(self.points)))

    @property
    def log_integral_error(self) -> float:
        """Standard error of the log integral."""
        n = len(self.points)
        return float(np.sqrt(n / (n - 1) * (1 / self.effective_size - 1 / n)))

    def flattened(self) -> Weighted:
        """The same draws, weights raised to the largest power ≤ 1 that leaves enough effective."""
        power = 1.0
        while power > 1e-6:
            flat = Weighted(self.points, power * self.log_weights)
            if flat.effective_size >= LEAST_EFFECTIVE * len(self.points):
                return flat
            power *= 0.8
        raise ValueError("the proposal has nothing in common with the target")

    def resample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """``n`` points (n, D), each as often as its weight says, in random order (systematic)."""
        places = (np.arange(n) + rng.random()) / n
        rows = np.searchsorted(np.cumsum(self.shares), places)
        return self.points[rng.permutation(np.minimum(rows, len(self.points) - 1))]


def adapt(
    log_density: LogDensity,
    proposal: Proposal,
    *,
    draws: int,
    stages: int,
    components: int,
    rng: np.random.Generator,
) -> Proposal:
    """The proposal after rounds of ``draws`` draws each, fitted to what they weigh.

    It ends when enough of the draws are effective, or after ``stages`` rounds.

    >>> def log_normal(x):
    ...     return -0.5 * ((x - 3.0) ** 2).sum(1) / 0.01
    >>> wide = Proposal(np.ones(1), np.zeros((1, 2)), 4 * np.eye(2)[None])
    >>> rng = np.random.default_rng(1)
    >>> near = adapt(log_normal, wide, draws=1000, stages=6, components=2, rng=rng)
    >>> weighted = Weighted.draw(log_normal, near, 4000, rng)
    >>> bool(abs(weighted.log_integral - np.log(2 * np.pi * 0.01)) < 0.05)
    True
    """
    for _ in range(stages):
        weighted = Weighted.draw(log_density, proposal, draws, rng)
        flat = weighted.flattened()
        proposal = fit_proposal(flat.resample(draws, rng), components, rng)
        if weighted.effective_size >= ENOUGH_EFFECTIVE * draws:
            break
    return proposal
