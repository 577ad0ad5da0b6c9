"""Soft-edged maps: linear away from the bounds, soft only within a few softnesses of them.

The maps of `quell.space.maps` stretch the strip next to a hard bound to infinity: a posterior that
touches the bound becomes a plateau with a tail of the Jacobian, which a stationary Gaussian
process cannot follow. Here the strip is s wide, and the map is a shift of the original coordinate
beyond. With the softness s > 0, the width w = UB − LB, softplus(a) = log(1 + eᵃ) and the logistic
function σ,

=============  ================================================  ==============================
map            θ(t)                                              dθ/dt
=============  ================================================  ==============================
soft box       LB + s [softplus(t/s) − softplus((t − w)/s)]      σ(t/s) − σ((t − w)/s)
soft plus      bound ± s softplus(±t/s)                          σ(±t/s)
=============  ================================================  ==============================

As s → 0 they become the distance from the bound itself; for s ≫ w the soft box is a logit, near
the bound the soft plus a logarithm. Everything is computed from the distance d of the nearer bound,
so that both tails keep their relative precision.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit

from quell.arrays import FloatArray
from quell.checks import as_floats
from quell.space.bounds import Bounds, refuse
from quell.space.inside import SMALLEST, between, beyond, distance_beyond

STEEPEST = 1e300  # log-slopes stop here, so that sums of a few of them are finite
#: An edge: its coordinate's column, the direction of the inside, where it is in t, its softness.
Edge = tuple[int, float, float, float]
SOFTEST = 1e6  # ranges: beyond, the map is a logit or logarithm to all digits that t has left


def _share(distance: FloatArray, softness: FloatArray) -> FloatArray:
    """1 − exp(−d/s), positive also where d/s underflows."""
    with np.errstate(over="ignore", under="ignore"):
        return -np.expm1(-np.maximum(distance / softness, SMALLEST))


def _ratio(t: FloatArray, softness: FloatArray) -> FloatArray:
    """t/s, kept finite."""
    with np.errstate(over="ignore"):
        return np.clip(t / softness, -STEEPEST, STEEPEST)


@dataclass(frozen=True, eq=False)
class SoftBox:
    """Coordinates between two finite bounds with soft edges; all fields have shape (d,).

    >>> box = SoftBox(np.array([2.0]), np.array([12.0]), np.array([0.1]))
    >>> box.inverse(np.array([[-1.0], [3.0], [10.0]])).round(4)
    array([[ 2.    ],
           [ 5.    ],
           [11.9307]])
    """

    lower: FloatArray
    upper: FloatArray
    softness: FloatArray

    def forward(self, theta: FloatArray) -> FloatArray:
        """t = d + s log[(1 − exp(−d/s))/(1 − exp(−(w − d)/s))], d from the nearer bound.

        From exp(d/s) = (1 + e^{t/s})/(1 + e^{(t − w)/s}), solved for e^{t/s}. Above the middle
        the mirror image of that: w − t in place of t.
        """
        theta = between(theta, self.lower, self.upper)
        below, above = theta - self.lower, self.upper - theta
        near, far = np.minimum(below, above), np.maximum(below, above)
        share = np.log(_share(near, self.softness)) - np.log(_share(far, self.softness))
        t = near + self.softness * share
        return np.asarray(np.where(below <= above, t, (self.upper - self.lower) - t))

    def inverse(self, t: FloatArray) -> FloatArray:
        """θ(t), measured from the nearer bound."""
        s, width = self.softness, self.upper - self.lower
        with np.errstate(over="ignore", under="ignore"):
            r = np.minimum(t, width - t)
            near, far = _ratio(r, s), _ratio(r - width, s)
            # For r < s in a form without cancellation, whose exponential would overflow beyond.
            low = np.exp(np.minimum(near, 1.0)) * _share(width, s) / (1.0 + np.exp(far))
            close = s * np.log1p(low)
            away = r + s * (np.log1p(np.exp(-np.maximum(near, 1.0))) - np.log1p(np.exp(far)))
        distance = np.where(near < 1.0, close, away)
        theta = np.where(t <= 0.5 * width, self.lower + distance, self.upper - distance)
        return between(theta, self.lower, self.upper)

    def log_slope(self, t: FloatArray) -> FloatArray:
        """log dθ/dt = log σ(t/s) + log σ((w − t)/s) + log(1 − exp(−w/s))."""
        s, width = self.softness, self.upper - self.lower
        with np.errstate(over="ignore"):
            edges = log_expit(_ratio(t, s)) + log_expit(_ratio(width - t, s))
        return np.asarray(edges + np.log(_share(width, s)))

    def edges(self, columns: NDArray[np.intp]) -> list[Edge]:
        """Both edges of every coordinate."""
        width = self.upper - self.lower
        lower = [(c, 1.0, 0.0, s) for c, s in zip(columns, self.softness, strict=True)]
        upper = [(c, -1.0, w, s) for c, w, s in zip(columns, width, self.softness, strict=True)]
        return [*lower, *upper]


@dataclass(frozen=True, eq=False)
class SoftPlus:
    """Coordinates with one finite ``bound`` and a soft edge: θ = bound ± s softplus(±t/s).

    ``side`` is +1 where the bound is a lower one and −1 where it is an upper one; all fields
    have shape (d,).

    >>> rate = SoftPlus(np.array([0.0]), np.array([0.1]), np.array([1.0]))
    >>> rate.inverse(np.array([[-1.0], [3.0]])).round(7)
    array([[4.5e-06],
           [3.0e+00]])
    """

    bound: FloatArray
    softness: FloatArray
    side: FloatArray

    def forward(self, theta: FloatArray) -> FloatArray:
        """t = ± [d + s log(1 − exp(−d/s))], d = |θ − bound|."""
        distance = distance_beyond(theta, self.bound, self.side)
        share = np.log(_share(distance, self.softness))
        return np.asarray(self.side * (distance + self.softness * share))

    def inverse(self, t: FloatArray) -> FloatArray:
        """θ = bound ± s softplus(±t/s)."""
        outwards = self.side * t
        with np.errstate(over="ignore", under="ignore"):
            tail = np.log1p(np.exp(-np.abs(_ratio(outwards, self.softness))))
            distance = np.maximum(outwards, 0.0) + self.softness * tail
            return beyond(self.bound + self.side * distance, self.bound, self.side)

    def log_slope(self, t: FloatArray) -> FloatArray:
        """log σ(±t/s)."""
        return np.asarray(log_expit(_ratio(self.side * t, self.softness)))

    def edges(self, columns: NDArray[np.intp]) -> list[Edge]:
        """The one edge of every coordinate."""
        each = zip(columns, self.side, self.softness, strict=True)
        return [(column, side, 0.0, softness) for column, side, softness in each]


def check_softness(softness: ArrayLike, bounds: Bounds) -> FloatArray:
    """The softness (D,) of the coordinates that are not fixed, nan where one has no soft edges.

    Refused, by name, unless positive and finite, and where there is no edge to soften.
    """
    softness = as_floats("softness", softness)
    free = bounds.lower < bounds.upper
    names = tuple(name for name, kept in zip(bounds.names, free, strict=True) if kept)
    if softness.shape != (len(names),):
        raise ValueError(
            f"softness must have shape ({len(names)},), one entry for each coordinate that is not "
            f"fixed ({', '.join(map(repr, names))}), got {softness.shape}"
        )
    soft = ~np.isnan(softness)
    demand = "must be positive and finite, or nan for no soft edges"
    refuse("softness", softness, soft & ~((softness > 0) & (softness < np.inf)), demand, names)
    edges = (bounds.has_edges & (np.isfinite(bounds.lower) | np.isfinite(bounds.upper)))[free]
    demand = "must be nan because the coordinate has no hard bounds to soften"
    refuse("softness", softness, soft & ~edges, demand, names)
    demand = f"must be at most {SOFTEST:g} times the range of the coordinate, {{!r}}"
    with np.errstate(over="ignore"):
        too_soft = soft & (softness > SOFTEST * bounds.range[free])
    refuse("softness", softness, too_soft, demand, names, bounds.range[free])
    return softness
