"""A start for the search of hyperparameters in coordinates that are new to the surrogate.

Hyperparameters carried over from other coordinates may fit nothing there: the quadratic mean has no
axes but the coordinates', so that values far below the best, which it followed before, can be
missed by thousands of nats, and a search from there is long and ends in a mode of its own. What is
best for the mean function, given the kernel, needs no search. It is linear in

    m(x) = c + Σ_i b_i x_i - ½ Σ_i a_i x_i²,
    a_i = 1/ω_i²,   x_m,i = b_i / a_i,   m_0 = c + ½ Σ_i b_i² / a_i,

so that generalised least squares finds it, with a_i ≥ 1/ω_max,i² where the observations would have
it curve upwards. This is done for a ladder of output scales, since how much the kernel has to
explain is not known before; the other hyperparameters are those of the prior's default start.
"""

import numpy as np
from scipy.linalg import solve_triangular

from quell.arrays import FloatArray
from quell.gp.factor import FactorisationError, factorise
from quell.gp.hyperposterior import Hyperposterior

#: Output scales that are tried: the default one times e⁰, e¹, ... .
LADDER = np.arange(0.0, 6.0)


def fresh_start(target: Hyperposterior) -> FloatArray | None:
    """The best start u (size,) of the ladder; None if the covariance has no factor on any rung."""
    prior = target.prior
    best: tuple[float, FloatArray] | None = None
    for rung in LADDER:
        theta = prior.start.copy()
        entry = prior.layout.output_scale
        theta[entry] = min(theta[entry] + rung, prior.upper[entry])
        try:
            theta = with_regressed_mean(target, theta)
        except FactorisationError:
            continue
        score = target.score(theta)
        if best is None or score > best[0]:
            best = score, theta
    return None if best is None else prior.unconstrain(best[1])


def with_regressed_mean(target: Hyperposterior, theta: FloatArray) -> FloatArray:
    """θ with the mean function that fits the observations best, given θ's kernel and noise."""
    layout, prior, data = target.prior.layout, target.prior, target.marginal.data
    hyper = layout.unpack(theta)
    lower, _ = factorise(target.marginal.pairs.covariance(hyper, data.variance))
    centre, units = data.x.mean(axis=0), data.x.std(axis=0)
    units = np.where(units > 0, units, 1.0)
    z = (data.x - centre) / units
    terms = np.column_stack([np.ones(len(z)), z, -0.5 * z**2])
    terms, values = (
        solve_triangular(lower, known, lower=True, check_finite=False)
        for known in (terms, data.rest)
    )
    flattest = units**2 * np.exp(-2 * prior.upper[layout.mean_scales])
    coefficients = _least_squares(terms, values, flattest)
    d = data.dimension
    slope, curvature = coefficients[1 : d + 1], coefficients[d + 1 :]
    new = theta.copy()
    new[layout.mean_max] = coefficients[0] + 0.5 * float(np.sum(slope**2 / curvature))
    new[layout.mean_location] = centre + units * slope / curvature
    new[layout.mean_scales] = np.log(units) - 0.5 * np.log(curvature)
    return np.clip(new, prior.lower, prior.upper)


def _least_squares(terms: FloatArray, values: FloatArray, least: FloatArray) -> FloatArray:
    """Coefficients (p,) of ``terms`` (N, p) that fit best; the last ones are at least ``least``.

    Those that come out below are set to it for good, and the others fitted again.
    """
    p, d = terms.shape[1], len(least)
    held = np.zeros(p, dtype=bool)
    coefficients = np.zeros(p)
    while True:
        coefficients[held] = least[held[p - d :]]
        rest = values - terms[:, held] @ coefficients[held]
        coefficients[~held] = np.linalg.lstsq(terms[:, ~held], rest, rcond=None)[0]
        low = np.zeros(p, dtype=bool)
        low[p - d :] = ~held[p - d :] & (coefficients[p - d :] <= least)
        if not low.any():
            return coefficients
        held |= low
