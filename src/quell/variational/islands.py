"""High places that the mixture has lost: evaluations there, but no component.

A mixture is fitted from a start near to where it was, so a part of the posterior that lies apart,
another mode, is never found by the fit itself; the points of the acquisition function then stay
away from it as well. Here every evaluation that is high and outside of the mixture's reach starts a
climb on the surrogate's mean. Where it ends outside as well, behind a valley, there is an *island*.
It becomes a component, with the curvature of the surrogate for its width and the mass of the normal
there for its weight.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv

from quell.arrays import BoolArray, FloatArray
from quell.gp.descent import descend
from quell.gp.gradients import squared_exponential
from quell.gp.posterior import GaussianProcess
from quell.mixture import Mixture, entropy_lower_bound
from quell.quadrature import Quadrature

#: A place is high if the log joint is at most this far below its top: what a normal log density
#: falls by within this share of its mass, and a few nats more, for modes that are lower but wider.
CORE_QUANTILE, CORE_MARGIN = 0.99, 2.0
#: An evaluation counts as high if it is that by so many SDs of its noise.
NOISE_SDS = 1.0
#: Climbs at a time, for the time they take; the next iteration may go on.
MOST_CLIMBS = 3
#: A valley is at least this many nats deep, as between equal normals four SDs apart; places on the
#: way at which it is looked for.
VALLEY, WAY_POINTS = 2.0, 9
CLIMB_ITERATIONS = 30
#: Evaluations looked at together.
BLOCK = 64
#: Step of the differences of the gradient, as a part of a length scale.
STEP = 1e-2
#: Smallest weight of a component that counts, and of a new one.
SMALLEST_SHARE = 0.01


def high_depth(dimension: int) -> float:
    """How far below the top of the log joint a place is still high, in nats.

    >>> [round(high_depth(d), 1) for d in (1, 2, 8)]
    [5.3, 6.6, 12.0]
    """
    return float(gammaincinv(0.5 * dimension, CORE_QUANTILE)) + CORE_MARGIN


def within_reach(mixture: Mixture, x: FloatArray, factor: float = 1.0) -> BoolArray:
    """Which points (n, D) are high under one of the components that count, a mask (n,).

    Or would be with components wider by a ``factor``.
    """
    heavy = _heavy(mixture)
    spread = mixture.scales[heavy, None] * mixture.lengths
    offsets = (x[:, None, :] - mixture.means[heavy]) / spread
    nearest = np.min(np.sum(offsets**2, axis=2), axis=1)
    return np.asarray(nearest < 2 * factor**2 * high_depth(mixture.dimension))


@dataclass(frozen=True, eq=False)
class Island:
    """A top of the surrogate's mean at ``place`` (D,), its SDs (D,), and the log of its mass."""

    place: FloatArray
    sds: FloatArray
    log_mass: float


def find_islands(gp: GaussianProcess, mixture: Mixture) -> list[Island]:
    """Tops of the surrogate outside of the mixture's reach, near evaluations that are high."""
    data = gp.data
    noise = np.sqrt(np.where(np.isnan(data.variance), 0.0, data.variance))
    level = np.max(data.y - NOISE_SDS * noise) - high_depth(gp.dimension)
    missed = np.flatnonzero((data.y - NOISE_SDS * noise > level) & ~within_reach(mixture, data.x))
    found: list[Island] = []
    if not len(missed):
        return found
    mean = gp.weights @ gp.predict_mean(data.x[missed])
    known, n_climbs = mixture, 0
    rows = missed[np.argsort(-mean, kind="stable")]
    while len(rows) and n_climbs < MOST_CLIMBS:
        starts = data.x[rows[:BLOCK]]
        # Most are on a flank of the mixture's own hill, and not worth a climb.
        worth = np.flatnonzero(_are_apart(gp, known, starts))
        rows = rows[worth[0] + 1 if len(worth) else BLOCK :]
        if not len(worth):
            continue
        n_climbs += 1
        island = _climb(gp, starts[worth[0]])
        if not _are_apart(gp, known, island.place[None])[0]:
            continue
        found.append(island)
        known = _with_component(known, island, SMALLEST_SHARE)
    return found


def _are_apart(gp: GaussianProcess, mixture: Mixture, places: FloatArray) -> BoolArray:
    """Which places (n, D) are out of reach, with a valley between them and the nearest component.

    A valley of the surrogate's mean.
    """
    apart = ~within_reach(mixture, places)
    places = places[apart]
    spread = mixture.scales[:, None] * mixture.lengths
    distance = np.sum(((places[:, None, :] - mixture.means) / spread) ** 2, axis=2)
    other = mixture.means[np.argmin(np.where(_heavy(mixture), distance, np.inf), axis=1)]
    shares = np.linspace(0.0, 1.0, WAY_POINTS)[:, None]
    way = places[:, None, :] + shares * (other - places)[:, None, :]
    mean = gp.weights @ gp.predict_mean(way.reshape(-1, places.shape[1]))
    mean = mean.reshape(-1, WAY_POINTS)
    apart[apart] = mean.min(axis=1) < np.minimum(mean[:, 0], mean[:, -1]) - VALLEY
    return apart


def _heavy(mixture: Mixture) -> BoolArray:
    """Components (K,) that count."""
    return np.asarray(mixture.weights >= min(SMALLEST_SHARE, float(mixture.weights.max())))


def with_islands(gp: GaussianProcess, mixture: Mixture) -> Mixture:
    """The mixture with a component on every island; itself where there is none."""
    islands = find_islands(gp, mixture)
    if not islands:
        return mixture
    # Components without weight would only be in the way of new ones.
    for k in np.flatnonzero(~_heavy(mixture))[::-1]:
        mixture = mixture.without(int(k))
    expected = Quadrature(gp).mean_and_gradient(mixture)[0]
    total = expected + entropy_lower_bound(mixture)
    for island in islands:
        excess = np.clip(island.log_mass - total, -30.0, 30.0)
        share = 1.0 / (1.0 + np.exp(-excess))
        mixture = _with_component(mixture, island, float(np.clip(share, SMALLEST_SHARE, 0.9)))
        total = np.logaddexp(total, island.log_mass)
    return mixture


def _with_component(mixture: Mixture, island: Island, share: float) -> Mixture:
    scale = float(np.exp(np.mean(np.log(island.sds / mixture.lengths))))
    return Mixture(
        np.append((1 - share) * mixture.weights, share),
        np.vstack([mixture.means, island.place]),
        np.append(mixture.scales, scale),
        mixture.lengths,
    )


def _climb(gp: GaussianProcess, start: FloatArray) -> Island:
    """The top of the surrogate's mean that is reached from ``start`` (D,)."""
    units = np.exp(gp.weights @ np.log(gp.hyper.lengths))
    base, _ = _mean_and_slope(gp, start)

    def loss(z: FloatArray) -> tuple[float, FloatArray]:
        value, slope = _mean_and_slope(gp, start + units * z)
        return base - value, -units * slope

    lower, upper = (gp.x.min(axis=0) - start) / units, (gp.x.max(axis=0) - start) / units
    z, _ = descend(loss, start.size, (lower, upper), maxiter=CLIMB_ITERATIONS)
    top = start + units * z
    height, _ = _mean_and_slope(gp, top)
    curvature = np.empty_like(top)
    for i, step in enumerate(STEP * units):
        offset = np.zeros_like(top)
        offset[i] = step
        ahead, behind = (_mean_and_slope(gp, top + sign * offset)[1][i] for sign in (1, -1))
        curvature[i] = (behind - ahead) / (2 * step)
    # On the side of the box, or in a saddle, the mean need not bend downwards.
    sds = np.minimum(1.0 / np.sqrt(np.maximum(curvature, np.finfo(float).tiny)), units)
    return Island(top, sds, float(height + np.sum(np.log(sds) + 0.5 * np.log(2 * np.pi))))


def _mean_and_slope(gp: GaussianProcess, x: FloatArray) -> tuple[float, FloatArray]:
    """The surrogate's mean at ``x`` (D,) over all samples, and its gradient (D,)."""
    hyper = gp.hyper
    offsets = gp.x - x
    terms = squared_exponential(gp, offsets) * gp.alpha  # (S, M)
    away = x - hyper.mean_location
    mean = terms.sum(axis=1) + hyper.mean_max - 0.5 * ((away / hyper.mean_scales) ** 2).sum(axis=1)
    slope = terms @ offsets / hyper.lengths**2 - away / hyper.mean_scales**2
    return float(gp.weights @ mean), gp.weights @ slope
