"""Moments of the user's parameters under a mixture of normal distributions in inference space.

A component is normal in the standardised coordinates v, with the same correlations ρ for all of
them, and a parameter is a function of its own v alone: θ_i = f_i(v_i). So all moments follow from
one-dimensional integrals, with v_i = m_ik + s_ik z and the orthonormal Hermite polynomials
ψ_n = He_n/√n! under component k:

    a_nik = E[f_i(m_ik + s_ik z) ψ_n(z)],    Cov_k(θ_i, θ_j) = Σ_{n ≥ 1} ρ_ijⁿ a_nik a_njk

(Mehler's formula). Means and variances are exact for the log map, by Gauss-Legendre quadrature
between the kinks of a map otherwise. A whole number has one value in each component.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import gammaln

from quell.arrays import FloatArray
from quell.results.parts import Parts
from quell.space import InferenceSpace
from quell.space.coordinate import Coordinate
from quell.space.maps import OneSided, Periodic, TwoSided
from quell.space.soft import SoftBox, SoftPlus
from quell.space.tails import HeavyTails

REACH = 9.0  # SDs of a component that are integrated over: 2e-19 is beyond
NODES = 128  # of Gauss-Legendre, in each piece between two kinks
ORDERS = 64  # Hermite polynomials: enough for |ρ| = 0.9 of any, and all ρ of smooth functions
LARGEST_EXPONENT = 700.0  # e^700 is finite
LARGEST_TERM = 300.0  # e^300 of the unit e^700 is not, though its square is


@dataclass(frozen=True, eq=False)
class Terms:
    """One parameter under each component, as (θ − origin)/unit: numbers of order one.

    ``means`` and ``variances`` have shape (K,), ``hermite`` (a_n for n = 1 .. ORDERS) (ORDERS, K).
    """

    origin: float
    unit: float
    means: FloatArray
    variances: FloatArray
    hermite: FloatArray


def moments(parts: Parts, space: InferenceSpace) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean (n,), SD (n,) and covariance (n, n) of all parameters, fixed ones included."""
    mean, sd = space.bounds.lower.copy(), np.zeros(space.n_parameters)
    covariance = np.zeros((space.n_parameters, space.n_parameters))
    weights, terms = parts.weights, []
    for column, i in enumerate(np.flatnonzero(space.free)):
        if parts.whole[column]:
            terms.append(_whole_numbers(parts.integers[:, column], weights))
        else:
            terms.append(_terms(space.coordinate(int(i)), *parts.along(column)))
    units = np.array([term.unit for term in terms])
    means = np.array([term.means for term in terms])  # (D, M)
    centre = means @ weights
    scatter = means - centre[:, None]
    between = (weights * scatter) @ scatter.T
    within = _within(terms, weights, parts.correlation)
    with np.errstate(over="ignore", invalid="ignore"):
        mean[space.free] = [term.origin for term in terms] + units * centre
        sd[space.free] = units * np.sqrt(np.diag(within + between))
        scaled = (within + between) * units * units[:, None]
        scaled = np.where(within + between == 0.0, 0.0, scaled)  # also where the units overflow
    covariance[np.ix_(space.free, space.free)] = scaled
    return mean, sd, covariance


def moments_of_one(
    coordinate: Coordinate, weights: FloatArray, means: FloatArray, sds: FloatArray
) -> tuple[float, float]:
    """Mean and SD of one parameter, given normal distributions in its v: (M,) each."""
    used = weights > 0
    weights = weights[used]
    terms = _terms(coordinate, weights, means[used], sds[used])
    centre = weights @ terms.means
    variance = weights @ (terms.variances + (terms.means - centre) ** 2)
    with np.errstate(over="ignore"):
        return float(terms.origin + terms.unit * centre), float(terms.unit * np.sqrt(variance))


def _within(terms: list[Terms], weights: FloatArray, correlation: FloatArray) -> FloatArray:
    """The average covariance (D, D) of the components."""
    hermite = np.stack([term.hermite for term in terms], axis=1)  # (ORDERS, D, K)
    total, power = np.zeros_like(correlation), np.ones_like(correlation)
    for a in hermite:
        power = power * correlation
        total += power * ((weights * a) @ a.T)
    variances = [weights @ term.variances for term in terms]
    total[np.diag_indices_from(total)] = variances
    return total


def _terms(
    coordinate: Coordinate, weights: FloatArray, means: FloatArray, sds: FloatArray
) -> Terms:
    if isinstance(coordinate.map, OneSided):
        return _log_normal(coordinate, coordinate.map, means, sds)
    return _by_quadrature(coordinate, means, sds, float(coordinate.value(weights @ means)))


def _whole_numbers(values: FloatArray, weights: FloatArray) -> Terms:
    """A parameter with one value (M,) in each component."""
    origin = float(np.rint(weights @ values))
    nothing = np.zeros((ORDERS, len(values)))
    return Terms(origin, 1.0, values - origin, nothing[0], nothing)


def _by_quadrature(
    coordinate: Coordinate, means: FloatArray, sds: FloatArray, origin: float
) -> Terms:
    ends = [np.full(len(means), -REACH), np.full(len(means), REACH)]
    for t in _kinks(coordinate):
        z = ((t - coordinate.centre) / coordinate.width - means) / sds
        ends.append(np.clip(z, -REACH, REACH))
    edges = np.sort(np.stack(ends, axis=1), axis=1)  # (K, pieces + 1)
    node, weight = _legendre()
    half = 0.5 * np.diff(edges)[..., None]
    z = (0.5 * (edges[:, 1:] + edges[:, :-1])[..., None] + half * node).reshape(len(means), -1)
    weight = (half * weight).reshape(z.shape) * _normal_density(z)
    values = coordinate.value(means[:, None] + sds[:, None] * z)
    difference = 0.5 * values - 0.5 * origin  # the difference itself may overflow
    unit = float(np.abs(difference).max()) or 1.0
    values = difference / unit
    mean = (weight * values).sum(axis=1)
    values = values - mean[:, None]
    variance = (weight * values**2).sum(axis=1)
    weighted = weight * values
    hermite = [(weighted * psi).sum(axis=1) for psi in _hermite(z)]
    return Terms(origin, 2.0 * unit, mean, variance, np.array(hermite))


def _kinks(coordinate: Coordinate) -> list[float]:
    """Where in t a map bends or jumps, if its components are wide enough to see that."""
    g = coordinate.map
    if isinstance(g, SoftBox):
        return [0.0, float(g.upper[0] - g.lower[0])]
    if isinstance(g, Periodic):
        return [0.0, float(g.forward(g.lower)[0])]
    if isinstance(g, HeavyTails):
        return [float(g.centre[0])]
    return [0.0] if isinstance(g, SoftPlus | TwoSided) else []


def _log_normal(coordinate: Coordinate, g: OneSided, means: FloatArray, sds: FloatArray) -> Terms:
    """θ = bound ± e^L with L normal."""
    side, scale = float(g.side[0]), float(g.scale[0])
    centre = np.log(scale) + side * (coordinate.centre + coordinate.width * means)
    spread = coordinate.width * sds
    top = min(float(np.max(centre + spread**2)), LARGEST_EXPONENT)

    def exponential(exponent: FloatArray) -> FloatArray:
        with np.errstate(under="ignore"):
            return np.exp(np.minimum(exponent, LARGEST_TERM))

    log_mean = centre + 0.5 * spread**2 - top
    variance = exponential(centre + spread**2 - top) ** 2 * -np.expm1(-(spread**2))
    n = np.arange(1, ORDERS + 1)[:, None]
    size = exponential(log_mean + n * np.log(spread) - 0.5 * gammaln(n + 1.0))
    mean, hermite = side * exponential(log_mean), size * side ** (n + 1)
    return Terms(float(g.bound[0]), float(np.exp(top)), mean, variance, hermite)


@cache
def _legendre() -> tuple[FloatArray, FloatArray]:
    """Nodes and weights on [−1, 1]."""
    node, weight = np.polynomial.legendre.leggauss(NODES)
    return node, weight


def _normal_density(z: FloatArray) -> FloatArray:
    z = np.clip(z, -40.0, 40.0)  # whose density is zero
    return np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)


def _hermite(z: FloatArray) -> Iterator[FloatArray]:
    """ψ_1 .. ψ_ORDERS at z, each of its shape."""
    before, psi = np.ones_like(z), z
    yield psi
    for n in range(1, ORDERS):
        before, psi = psi, (z * psi - np.sqrt(n) * before) / np.sqrt(n + 1)
        yield psi
