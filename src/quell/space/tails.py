"""A map for parameters without bounds whose posterior has heavy tails.

A posterior with tails like a power of the distance, or long on one side, is neither close to the
quadratic that the surrogate's mean is, nor of one length scale. With a centre c and a scale s,
u = (θ − c)/s and r = (t − c)/s,

    r = (1 − ε) asinh u + ε u,        dθ/dt = 1 / [(1 − ε)/√(1 + u²) + ε],        ε = 0.03:

t is θ itself in the middle, a logarithm in the tails, and linear again, 1/ε times as steep, far
out. The centre need not be in the middle of the posterior: beside it the map is a logarithm on one
side, which straightens a skewed one.

Without the linear part (ε = 0) a step of a few SDs in t leads to absurd values of θ, where a prior
with normal tails makes the log joint fall like an exponential of t: the surrogate gets lost
(docs/experiments/unbounded.md).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.checks import as_floats
from quell.space.bounds import Bounds, refuse
from quell.space.inside import LARGEST

#: ε, the share of the linear part: θ/t is never steeper than 1/ε (docs/experiments/unbounded.md).
LINEAR_SHARE = 0.03
#: Ratios to the scale stop here: their sums and quotients by ε are still finite.
FURTHEST = 1e300
#: Newton's steps for the inverse; from the start below five are enough for all digits.
N_STEPS = 8


@dataclass(frozen=True, eq=False)
class HeavyTails:
    """Coordinates without bounds, compressed away from ``centre``; both fields have shape (d,).

    >>> g = HeavyTails(np.array([10.0]), np.array([1.0]))
    >>> g.forward(np.array([[10.1], [1010.0]])).round(2)
    array([[10.1 ],
           [47.37]])
    """

    centre: FloatArray
    scale: FloatArray

    def forward(self, theta: FloatArray) -> FloatArray:
        """t = c + s [(1 − ε) asinh u + ε u]."""
        u = self._ratio(theta)
        r = (1.0 - LINEAR_SHARE) * np.arcsinh(u) + LINEAR_SHARE * u
        return self._from_ratio(r)

    def inverse(self, t: FloatArray) -> FloatArray:
        """θ = c + s u, kept finite."""
        r = self._ratio(t)
        size, w = np.abs(r), self._asinh(r)
        # Far out u is what is left for the linear part, with all its digits.
        far = (size - (1.0 - LINEAR_SHARE) * w) / LINEAR_SHARE
        u = np.where(far > size / (2.0 * LINEAR_SHARE), far, np.sinh(w))
        return self._from_ratio(np.copysign(np.minimum(u, LARGEST), r))

    def log_slope(self, t: FloatArray) -> FloatArray:
        """log dθ/dt, between 0 and −log ε."""
        w = self._asinh(self._ratio(t))
        return -np.log((1.0 - LINEAR_SHARE) / np.cosh(w) + LINEAR_SHARE)

    def log_slope_at(self, theta: FloatArray) -> FloatArray:
        """The same, at θ."""
        return -np.log((1.0 - LINEAR_SHARE) / np.hypot(1.0, self._ratio(theta)) + LINEAR_SHARE)

    @staticmethod
    def _asinh(r: FloatArray) -> FloatArray:
        """w = asinh |u|, the root of (1 − ε) w + ε sinh w = |r|.

        That is convex: Newton's steps from above never pass the root. Both parts are at most |r|,
        and sinh w at least w.
        """
        size = np.abs(r)
        w = np.minimum(size, np.arcsinh(size / LINEAR_SHARE))
        for _ in range(N_STEPS):
            excess = (1.0 - LINEAR_SHARE) * w + LINEAR_SHARE * np.sinh(w) - size
            w = w - excess / ((1.0 - LINEAR_SHARE) + LINEAR_SHARE * np.cosh(w))
        return w

    def _ratio(self, value: FloatArray) -> FloatArray:
        """(value − c)/s, kept finite."""
        with np.errstate(over="ignore", under="ignore"):
            return np.clip((value - self.centre) / self.scale, -FURTHEST, FURTHEST)

    def _from_ratio(self, ratio: FloatArray) -> FloatArray:
        with np.errstate(over="ignore", under="ignore"):
            return np.clip(self.centre + self.scale * ratio, -LARGEST, LARGEST)


def check_tails(tails: ArrayLike, bounds: Bounds) -> FloatArray:
    """Centre and scale (D, 2) of the coordinates that are not fixed, nan where one is linear.

    Refused, by name, unless the centre is finite and the scale positive and finite, and where a
    coordinate has bounds.
    """
    tails = as_floats("tails", tails)
    free = bounds.lower < bounds.upper
    names = tuple(name for name, kept in zip(bounds.names, free, strict=True) if kept)
    if tails.shape != (len(names), 2):
        raise ValueError(
            f"tails must have shape ({len(names)}, 2), a centre and a scale for each coordinate "
            f"that is not fixed ({', '.join(map(repr, names))}), got {tails.shape}"
        )
    centre, scale = tails.T
    heavy = ~(np.isnan(centre) & np.isnan(scale))
    demand = "must have a finite centre, or nan for both centre and scale"
    refuse("tails", centre, heavy & ~np.isfinite(centre), demand, names)
    demand = "must have a positive and finite scale, or nan for both centre and scale"
    refuse("tails", scale, heavy & ~((scale > 0) & (scale < np.inf)), demand, names)
    kinds = [kind for kind in bounds.kinds if kind != "fixed"]
    open_ended = np.array([kind == "unbounded" for kind in kinds])
    demand = "must be nan because the coordinate has hard bounds"
    refuse("tails", scale, heavy & ~open_ended, demand, names)
    return tails
