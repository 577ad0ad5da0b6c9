"""Unconstraining maps: one coordinate of the original space <-> the whole real line.

Every map is increasing and works on columns: the last axis of its input runs over the
coordinates it was built for, any leading axes over points. Notation of Acerbi (2020,
arXiv 2006.08655, Section 2.1 and supplement B.1): θ a point in the original space, LB and UB the
hard bounds; here also t = g(θ), its unconstrained image, and z = (θ − LB)/(UB − LB) ∈ (0, 1). The
paper has the unbounded and the logit map; the others follow the same pattern:

=============  =================================================  ===========================
map            g(θ)                                               log dθ/dt
=============  =================================================  ===========================
unbounded      θ                                                  0
two-sided      F⁻¹(z)                                             log(UB − LB) + log F'(t)
lower bound    log((θ − LB)/c)                                    log c + t
upper bound    −log((UB − θ)/c)                                   log c − t
periodic       F⁻¹(z) on one period centred where asked           log(UB − LB) + log F'(t)
=============  =================================================  ===========================

F is the cdf of a distribution in `quell.space.families`. The constant c only shifts t, to keep it
of order one; it drops out of the inference space, where t is standardised. Coordinates with hard
bounds can have soft edges instead (`quell.space.soft`), those without bounds a map for heavy tails
(`quell.space.tails`).

Maps never leave the bounds: θ stays at least one floating-point spacing inside a finite bound and
below the largest float elsewhere, however extreme t is; θ on a bound is taken one spacing inside.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from quell.arrays import FloatArray
from quell.space.families import FAMILIES, Family
from quell.space.inside import LARGEST, SMALLEST, between, beyond, distance_beyond
from quell.space.soft import SoftBox, SoftPlus
from quell.space.tails import HeavyTails

IndexArray = NDArray[np.intp]


class CoordinateMap(Protocol):
    """What the inference space asks of a map; arrays have shape (..., d), d columns."""

    def forward(self, theta: FloatArray) -> FloatArray:
        """Unconstrained t = g(θ)."""

    def inverse(self, t: FloatArray) -> FloatArray:
        """θ = g⁻¹(t), inside the bounds."""

    def log_slope(self, t: FloatArray) -> FloatArray:
        """Elementwise log dθ/dt at ``t``."""


def _interval_to_line(below: FloatArray, above: FloatArray, family: Family) -> FloatArray:
    """t = F⁻¹(z) from z (``below``) and 1 − z (``above``), each computed on its own."""
    below = np.clip(below, SMALLEST, 1.0)
    above = np.clip(above, SMALLEST, 1.0)
    r = family.quantile(np.minimum(below, above), np.maximum(below, above))
    return np.where(below < above, -r, r)


@dataclass(frozen=True, eq=False)
class Unbounded:
    """The identity, for coordinates without bounds."""

    def forward(self, theta: FloatArray) -> FloatArray:
        """t = θ."""
        return theta

    def inverse(self, t: FloatArray) -> FloatArray:
        """θ = t, kept finite."""
        return np.clip(t, -LARGEST, LARGEST)

    def log_slope(self, t: FloatArray) -> FloatArray:
        """Zero."""
        return np.zeros_like(t)


@dataclass(frozen=True, eq=False)
class TwoSided:
    """Coordinates between two finite bounds, each (d,), by the cdf of ``family``.

    >>> unit = TwoSided(np.zeros(1), np.ones(1), FAMILIES["logit"])
    >>> unit.inverse(np.array([0.0]))
    array([0.5])
    """

    lower: FloatArray
    upper: FloatArray
    family: Family

    def forward(self, theta: FloatArray) -> FloatArray:
        """t = F⁻¹((θ − LB)/(UB − LB))."""
        theta = between(theta, self.lower, self.upper)
        width = self.upper - self.lower
        return _interval_to_line(
            (theta - self.lower) / width, (self.upper - theta) / width, self.family
        )

    def inverse(self, t: FloatArray) -> FloatArray:
        """θ = LB + (UB − LB) F(t), measured from the nearer bound."""
        distance = (self.upper - self.lower) * self.family.tail(np.abs(t))
        theta = np.where(t < 0.0, self.lower + distance, self.upper - distance)
        return between(theta, self.lower, self.upper)

    def log_slope(self, t: FloatArray) -> FloatArray:
        """log(UB − LB) + log F'(t)."""
        return np.log(self.upper - self.lower) + self.family.log_density(t)


@dataclass(frozen=True, eq=False)
class OneSided:
    """Coordinates with one finite ``bound``: θ = bound ± scale · exp(±t).

    ``side`` is +1 where the bound is a lower one and −1 where it is an upper one; all fields
    have shape (d,).

    >>> rate = OneSided(np.array([0.0]), np.array([2.0]), np.array([1.0]))
    >>> rate.inverse(np.array([0.0]))
    array([2.])
    """

    bound: FloatArray
    scale: FloatArray
    side: FloatArray

    def forward(self, theta: FloatArray) -> FloatArray:
        """t = ± log(|θ − bound|/scale)."""
        distance = distance_beyond(theta, self.bound, self.side)
        # The ratio of the roots can neither overflow nor underflow; that of the distances can.
        return np.asarray(2.0 * self.side * np.log(np.sqrt(distance) / np.sqrt(self.scale)))

    def inverse(self, t: FloatArray) -> FloatArray:
        """θ = bound ± scale · exp(±t)."""
        with np.errstate(over="ignore"):
            # In halves, for the product may be finite where the exponential alone is not.
            half = np.exp(0.5 * self.side * t)
            theta = self.bound + self.side * (half * self.scale * half)
            return beyond(theta, self.bound, self.side)

    def log_slope(self, t: FloatArray) -> FloatArray:
        """log scale ± t."""
        return np.log(self.scale) + self.side * t


@dataclass(frozen=True, eq=False)
class Periodic:
    """Coordinates on a circle, cut open at the point opposite to ``centre``.

    One period reaches from ``lower`` to ``upper``; ``centre`` lies in it (all of shape (d,)).
    Points are equivalent modulo the period; ``inverse`` returns values in [LB, UB). The cut (the
    seam) is mapped to t = ±∞, and the two sides of it to opposite ends of the line.

    >>> hour = Periodic(np.zeros(1), np.full(1, 24.0), np.full(1, 23.0), FAMILIES["logit"])
    >>> bool(hour.forward(np.array([1.0])) == hour.forward(np.array([25.0])))
    True
    >>> np.round(hour.inverse(hour.forward(np.array([25.0]))), 12)
    array([1.])
    """

    lower: FloatArray
    upper: FloatArray
    centre: FloatArray
    family: Family

    def offset(self, theta: FloatArray) -> FloatArray:
        """Signed distance of θ from the centre along the circle, in [−period/2, period/2)."""
        period = self.upper - self.lower
        # fmod is exact: the one rounding is in the difference of two numbers within a period.
        offset = np.fmod(np.fmod(theta, period) - np.fmod(self.centre, period), period)
        offset = np.where(offset >= 0.5 * period, offset - period, offset)
        return np.asarray(np.where(offset < -0.5 * period, offset + period, offset))

    def forward(self, theta: FloatArray) -> FloatArray:
        """t = F⁻¹(½ + offset/period)."""
        period = self.upper - self.lower
        edge = np.nextafter(0.5 * period, 0.0)
        offset = np.clip(self.offset(theta), -edge, edge)
        return _interval_to_line(
            (0.5 * period + offset) / period, (0.5 * period - offset) / period, self.family
        )

    def inverse(self, t: FloatArray) -> FloatArray:
        """θ = centre + period · (F(t) − ½), wrapped into [LB, UB)."""
        period = self.upper - self.lower
        distance = 0.5 * period - period * self.family.tail(np.abs(t))
        theta = self.centre + np.where(t < 0.0, -distance, distance)
        theta = np.where(theta < self.lower, theta + period, theta)
        theta = np.where(theta >= self.upper, theta - period, theta)
        return np.maximum(theta, self.lower)  # rounding may leave θ a hair below LB

    def log_slope(self, t: FloatArray) -> FloatArray:
        """log(UB − LB) + log F'(t)."""
        return np.log(self.upper - self.lower) + self.family.log_density(t)


# What stands in place of a family for columns with soft edges, and for those with heavy tails.
SOFT_EDGED, HEAVY = "soft-edged", "heavy"


def _soft_map(
    kind: str, lower: FloatArray, upper: FloatArray, softness: FloatArray
) -> CoordinateMap:
    if kind == "two-sided":
        return SoftBox(lower, upper, softness)
    if kind == "lower":
        return SoftPlus(lower, softness, np.ones(len(lower)))
    if kind == "upper":
        return SoftPlus(upper, softness, -np.ones(len(upper)))
    raise ValueError(f"there is no soft map for a coordinate of kind {kind!r}")


@dataclass(frozen=True, eq=False)
class Columns:
    """Maps side by side: ``parts`` pairs each map with the columns it takes.

    >>> ones, families = np.ones(3), ["logit"] * 3
    >>> maps = Columns.of(["upper", "unbounded", "lower"], families, -ones, ones, ones, 0 * ones)
    >>> maps.inverse(np.zeros((1, 3)))
    array([[0., 0., 0.]])
    """

    parts: tuple[tuple[IndexArray, CoordinateMap], ...]

    @classmethod
    def of(
        cls,
        kinds: Sequence[str],
        families: Sequence[str],
        lower: FloatArray,
        upper: FloatArray,
        scale: FloatArray,
        centre: FloatArray,
        softness: FloatArray | None = None,
        tails: FloatArray | None = None,
    ) -> "Columns":
        """The maps for columns of these kinds; every argument has one entry per column.

        ``families`` matters for two-sided and periodic columns, ``scale`` is the constant c of
        one-sided ones, ``centre`` that of periodic ones, at most a period outside the bounds.
        Columns whose ``softness`` is a number have soft edges; nan, or None for all, is without.
        So have those whose ``tails``, a centre and a scale (d, 2), are numbers a map for those.
        """
        softness = np.full(len(kinds), np.nan) if softness is None else softness
        tails = np.full((len(kinds), 2), np.nan) if tails is None else tails
        own = [family if kind in ("two-sided", "periodic") else ""
               for kind, family in zip(kinds, families, strict=True)]  # fmt: skip
        chosen = zip(kinds, own, ~np.isnan(softness), ~np.isnan(tails[:, 1]), strict=True)
        keys = [
            (kind, SOFT_EDGED if soft else HEAVY if heavy else family)
            for kind, family, soft, heavy in chosen
        ]
        parts: list[tuple[IndexArray, CoordinateMap]] = []
        for kind, family in dict.fromkeys(keys):
            at = np.flatnonzero([key == (kind, family) for key in keys])
            low, high, middle = lower[at], upper[at], centre[at]
            g: CoordinateMap
            if family == SOFT_EDGED:
                g = _soft_map(kind, low, high, softness[at])
            elif family == HEAVY:
                g = HeavyTails(*tails[at].T)
            elif kind == "unbounded":
                g = Unbounded()
            elif kind == "lower":
                g = OneSided(low, scale[at], np.ones(len(at)))
            elif kind == "upper":
                g = OneSided(high, scale[at], -np.ones(len(at)))
            elif kind == "two-sided":
                g = TwoSided(low, high, FAMILIES[family])
            elif kind == "periodic":
                turns = np.where(middle < low, 1.0, np.where(middle >= high, -1.0, 0.0))
                g = Periodic(low, high, middle + turns * (high - low), FAMILIES[family])
            else:
                raise ValueError(f"there is no map for a coordinate of kind {kind!r}")
            parts.append((at, g))
        return cls(tuple(parts))

    def forward(self, theta: FloatArray) -> FloatArray:
        """t = g(θ), column by column."""
        t = np.empty_like(theta)
        for columns, g in self.parts:
            t[..., columns] = g.forward(theta[..., columns])
        return t

    def inverse(self, t: FloatArray) -> FloatArray:
        """θ = g⁻¹(t), column by column."""
        theta = np.empty_like(t)
        for columns, g in self.parts:
            theta[..., columns] = g.inverse(t[..., columns])
        return theta

    def log_slope(self, t: FloatArray) -> FloatArray:
        """log dθ/dt, column by column."""
        slopes = np.empty_like(t)
        for columns, g in self.parts:
            slopes[..., columns] = g.log_slope(t[..., columns])
        return slopes
