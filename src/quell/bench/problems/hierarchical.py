"""Group effects under a common normal law: a funnel towards a spread of zero, and a long tail.

    y_j ~ N(θ_j, s_j),   θ_j ~ N(μ, τ),   μ ~ N(0, m),   τ ~ half-Cauchy(c),

with known s_j and one observation for each of D − 2 groups. The parameters are μ, τ and the θ_j.
Where τ is small the θ_j are tied to μ; large τ are ruled out by a power law only. Or, in place of
the θ_j, the effects in units of their spread, η_j = (θ_j − μ)/τ: no funnel, but a product of
parameters whose square is 10¹⁰ where both are large.

Given τ all else is normal, with known evidence, mean and covariance. So the truth is a mixture of
normals over one variable, by quadrature: on a grid of ln τ, as the integrals are smooth there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.bench.density import Density, inverse_cdf_draws
from quell.bench.problems.base import Benchmark
from quell.bench.problems.gaussian import REACH, log_normal
from quell.bench.truth import Truth

SEED = 20261002
#: μ and τ behind the data, and the range of the s_j.
GENERATING, STANDARD_ERRORS = (8.0, 4.0), (2.0, 9.0)
#: The prior: m, the SD of μ, and c, the scale of τ.
MEAN_SD, SPREAD_SCALE = 20.0, 5.0
PLAUSIBLE_MEAN, PLAUSIBLE_SPREAD = (-20.0, 20.0), (0.5, 20.0)
PLAUSIBLE_EFFECT, PLAUSIBLE_SCALED = (-30.0, 30.0), (-2.0, 2.0)
#: The grid of ln τ: the mass below is under 1e-8, that above under 1e-12, of the variance under
#: 1e-6.
LOG_SPREADS = np.linspace(np.log(1e-8), np.log(1e5), 4001)


def observations(dimension: int) -> tuple[FloatArray, FloatArray]:
    """The y_j and the s_j, (D − 2,) each."""
    rng = np.random.default_rng([SEED, dimension])
    groups = dimension - 2
    errors = rng.permutation(np.linspace(*STANDARD_ERRORS, groups))
    effects = GENERATING[0] + GENERATING[1] * rng.standard_normal(groups)
    return effects + errors * rng.standard_normal(groups), errors


def log_half_cauchy(tau: FloatArray) -> FloatArray:
    """Log density of τ (...) > 0 in the prior."""
    scaled = tau / SPREAD_SCALE
    return np.asarray(np.log(2 / (np.pi * SPREAD_SCALE)) - np.log1p(scaled**2))


def hierarchical(dimension: int) -> Benchmark:
    """μ, τ without an upper bound, and D − 2 group effects."""
    y, errors = observations(dimension)

    def exact(theta: ArrayLike) -> FloatArray:
        theta = np.asarray(theta, dtype=np.float64)
        mu, tau, effects = theta[..., :1], theta[..., 1:2], theta[..., 2:]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            values = (
                log_normal(y, effects, errors).sum(-1)
                + log_normal(effects, mu, tau).sum(-1)
                + log_normal(mu, 0.0, MEAN_SD)[..., 0]
                + log_half_cauchy(tau[..., 0])
            )
        return np.where(tau[..., 0] > 0, values, -np.inf)

    return _benchmark("hierarchical", "theta", PLAUSIBLE_EFFECT, exact, Effects(y, errors))


def noncentred(dimension: int) -> Benchmark:
    """The same with the effects in units of their spread."""
    y, errors = observations(dimension)

    def exact(theta: ArrayLike) -> FloatArray:
        theta = np.asarray(theta, dtype=np.float64)
        mu, tau, scaled = theta[..., :1], theta[..., 1:2], theta[..., 2:]
        with np.errstate(over="ignore", invalid="ignore"):
            values = (
                log_normal(y, mu + tau * scaled, errors).sum(-1)
                + log_normal(scaled, 0.0, 1.0).sum(-1)
                + log_normal(mu, 0.0, MEAN_SD)[..., 0]
                + log_half_cauchy(tau[..., 0])
            )
        return np.where(tau[..., 0] > 0, values, -np.inf)

    effects = Effects(y, errors, in_spreads=True)
    return _benchmark("noncentred", "eta", PLAUSIBLE_SCALED, exact, effects)


@dataclass(frozen=True, eq=False)
class Effects:
    """The effects given μ and τ, as they are or ``in_spreads``: independent and normal."""

    y: FloatArray
    errors: FloatArray
    in_spreads: bool = False

    def given(self, tau: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """For spreads τ (n,): the mean a + b μ and the variance of each, as a, b, variance."""
        tau, variance = tau[:, None], self.errors**2
        pull = tau**2 / (tau**2 + variance)
        if self.in_spreads:
            slope = tau / (tau**2 + variance)
            return slope * self.y, -slope, 1 - pull
        return pull * self.y, 1 - pull, pull * variance


def _benchmark(
    name: str, letter: str, plausible: tuple[float, float],
    exact: Callable[[ArrayLike], FloatArray], effects: Effects,
) -> Benchmark:  # fmt: skip
    groups = len(effects.y)
    free = np.full(groups + 2, np.inf)
    lower = -free
    lower[1] = 0.0
    sides = zip(PLAUSIBLE_MEAN, PLAUSIBLE_SPREAD, *[plausible] * groups, strict=True)
    plausible_lower, plausible_upper = map(np.array, sides)
    return Benchmark(
        name=name,
        names=("mu", "tau", *(f"{letter}{j + 1}" for j in range(groups))),
        lower=lower,
        upper=free,
        plausible_lower=plausible_lower,
        plausible_upper=plausible_upper,
        exact=exact,
        make_truth=lambda: _truth(effects),
        emulated_sd=1.0,
        prior="included",
    )


def _truth(effects: Effects) -> Truth:
    y, errors = effects.y, effects.errors
    tau = np.exp(LOG_SPREADS)
    mu, mu_variance, log_given = mean_given_spread(tau, y, errors)
    log_f = log_given + log_half_cauchy(tau) + LOG_SPREADS  # times τ: the density of ln τ
    step, top = LOG_SPREADS[1] - LOG_SPREADS[0], log_f.max()
    mass = np.exp(log_f - top)
    total = float(mass.sum())
    mass /= total

    constant, slope, variance = effects.given(tau)
    means = np.column_stack([mu, tau, constant + slope * mu[:, None]])
    # How all move with μ; τ does not.
    slopes = np.column_stack([np.ones_like(tau), np.zeros_like(tau), slope])
    own = np.column_stack([np.zeros_like(tau), np.zeros_like(tau), variance])
    mean = mass @ means
    centred = means - mean
    covariance = (
        (mass * centred.T) @ centred
        + (mass * mu_variance * slopes.T) @ slopes
        + np.diag(mass @ own)
    )
    sds = np.sqrt(slopes**2 * mu_variance[:, None] + own)

    def normal_mixture(i: int) -> Density:
        """The marginal of a parameter that is normal given τ."""
        matters = mass > 1e-14 * mass.max()
        centres, widths, weights = means[matters, i], sds[matters, i], mass[matters]
        low, high = (centres - REACH * widths).min(), (centres + REACH * widths).max()
        # Few of the nodes matter at any point; those that do are as smooth as the density.
        x = np.linspace(low, high, 2001)
        return Density.from_grid(x, np.exp(log_normal(x[:, None], centres, widths)) @ weights)

    def sample(n: int, rng: np.random.Generator) -> FloatArray:
        spread = np.exp(inverse_cdf_draws(LOG_SPREADS, mass, n, rng))
        centre, centre_variance, _ = mean_given_spread(spread, y, errors)
        centre = centre + np.sqrt(centre_variance) * rng.standard_normal(n)
        constant, slope, variance = effects.given(spread)
        noise = np.sqrt(variance) * rng.standard_normal(variance.shape)
        return np.column_stack([centre, spread, constant + slope * centre[:, None] + noise])

    log_evidence = float(top + np.log(total * step))
    spread_density = _spread_density(y, errors, log_evidence)
    of_effects = (normal_mixture(i) for i in range(2, len(mean)))
    marginals = (normal_mixture(0), spread_density, *of_effects)
    return Truth(log_evidence, mean, covariance, marginals, sample)


def mean_given_spread(
    tau: FloatArray, y: FloatArray, errors: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, variance and log evidence of μ for spreads τ (n,), the effects integrated out.

    y_j ~ N(μ, √(s_j² + τ²)) then.
    """
    precision = 1 / (tau[:, None] ** 2 + errors**2)
    variance = 1 / (precision.sum(1) + MEAN_SD**-2)
    mean = variance * (precision @ y)
    # Bayes' rule at μ = its mean: evidence = likelihood · prior / posterior.
    likelihood = log_normal(y, mean[:, None], precision**-0.5).sum(1)
    posterior = -0.5 * np.log(2 * np.pi * variance)
    return mean, variance, likelihood + log_normal(mean, 0.0, MEAN_SD) - posterior


def _spread_density(y: FloatArray, errors: FloatArray, log_evidence: float) -> Density:
    def density(tau: FloatArray) -> FloatArray:
        logs = mean_given_spread(tau.ravel(), y, errors)[2].reshape(tau.shape)
        return np.exp(logs + log_half_cauchy(tau) - log_evidence)

    # Even where the mass is, then in equal ratios along the tail.
    near = np.linspace(0.0, 60.0, 3001)
    return Density(density, np.concatenate([near, np.geomspace(60.0, 1e5, 1001)[1:]]))
