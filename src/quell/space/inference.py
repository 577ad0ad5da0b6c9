"""The original space of the parameters <-> the inference space of the algorithm.

Notation of Acerbi (2020, arXiv 2006.08655; Sections 2.1 and 2.2, supplement B.1 and B.2): θ is a
point in the original space, x the same point in inference space (a row vector over the free
coordinates), LB, UB the hard and PLB, PUB the plausible bounds. In three steps,

    t = g(θ)          per coordinate, an unconstraining map,
    v = (t − m)/δ     per coordinate: the plausible box becomes [−½, ½] (for both of these see
                      `quell.space.standard`),
    x = (v R)/s       a rotation R and scales s > 0: the identity until the first whitening.

The log density in inference space is the original one plus

    log |∂θ/∂x| = Σ_i (log dθ_i/dt_i + log δ_i + log s_i).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import BoolArray, FloatArray
from quell.space.bounds import Bounds, check_bounds, refuse
from quell.space.coordinate import FAR
from quell.space.edges import Edges
from quell.space.inside import LARGEST
from quell.space.linear import check_covariance, check_linear, whitening
from quell.space.soft import SoftBox, SoftPlus, check_softness
from quell.space.standard import StandardCoordinates, points_of
from quell.space.tails import check_tails


@dataclass(frozen=True, eq=False)
class InferenceSpace(StandardCoordinates):
    """Where the algorithm works: an unbounded space in which the plausible box has unit size.

    Make one with `from_bounds`; `whitened`, `with_softness` and `with_tails` return a new one.
    ``rotation`` R has shape (D, D), ``scales`` s and ``softness`` shape (D,), D being the number of
    free coordinates. The softness is in the units of the parameter, nan where a coordinate has no
    soft edges. ``tails`` (D, 2) are centre and scale of the map for heavy tails, nan where a
    coordinate has none; None is for nan everywhere. All methods take points with any leading shape
    and never change their arguments.

    >>> space = InferenceSpace.from_bounds([0, -np.inf], [1, np.inf], [0.25, -3], [0.75, 5])
    >>> space.to_inference([[0.5, 1.0], [0.75, 5.0]])
    array([[0. , 0. ],
           [0.5, 0.5]])
    >>> space.to_original([0.0, 0.5])
    array([0.5, 5. ])
    """

    bounds: Bounds
    rotation: FloatArray
    scales: FloatArray
    softness: FloatArray
    tails: FloatArray = None  # type: ignore[assignment]  # an array from __post_init__ on

    def __post_init__(self) -> None:
        if self.tails is None:
            object.__setattr__(self, "tails", np.full((len(self.scales), 2), np.nan))
        for array in (self.rotation, self.scales, self.softness, self.tails):
            array.setflags(write=False)

    @classmethod
    def from_bounds(
        cls,
        lower: ArrayLike,
        upper: ArrayLike,
        plausible_lower: ArrayLike,
        plausible_upper: ArrayLike,
        *,
        names: Sequence[str] | None = None,
        bounded: str | Sequence[str] = "logit",
        periodic: Sequence[str] | Sequence[bool] | BoolArray | None = None,
    ) -> "InferenceSpace":
        """The unwhitened space for bounds of shape (n,) each, or scalars for all coordinates.

        The bounds decide what a coordinate is. Both finite: two-sided, mapped as ``bounded`` says
        ("logit", "probit" or "student", or a sequence with one of them per coordinate). One
        finite: a log map of the distance from it. None finite: no map. Equal: fixed, absent from
        x and put back in θ; its plausible bounds must not exclude the value and are otherwise
        ignored.

        ``periodic`` (names, or a mask) makes [lower, upper) one period of a circle. The circle is
        cut at the *seam*, the point opposite to the centre of the plausible box, which may reach
        past either hard bound to say where on the circle the mass is. The rest is mapped like a
        two-sided coordinate, so the density in x is proper and exact, but the two sides of the
        seam are opposite ends of x: the surrogate does not know that they join. Keep the
        plausible box where the mass is; a posterior that is high all around the circle is seen as
        having two tails.

        Plausible bounds within 1e-3 of the range of a hard bound (one-sided: of PUB − LB or
        UB − PLB; periodic: of the seam) are moved to that distance, with a ``UserWarning``.

        >>> InferenceSpace.from_bounds(0, 360, 350, 370, names=["angle"], periodic=["angle"]).kinds
        ('periodic',)
        """
        box = (lower, upper, plausible_lower, plausible_upper)
        bounds = check_bounds(*box, names=names, bounded=bounded, periodic=periodic)
        dimension = sum(kind != "fixed" for kind in bounds.kinds)
        hard = np.full(dimension, np.nan)
        space = cls(bounds, np.eye(dimension), np.ones(dimension), hard)
        low, high = bounds.plausible_lower[space.free], bounds.plausible_upper[space.free]
        demand = "must be further below plausible_upper = {!r} to tell them apart (widen the box)"
        merged = ~(space._standard[1] > 0.0)
        refuse("plausible_lower", low, merged, demand, space.free_names, high)
        return space

    @cached_property
    def is_standard(self) -> bool:
        """Whether x = v: the space has not been whitened."""
        return bool(
            np.array_equal(self.rotation, np.eye(self.dimension)) and np.all(self.scales == 1.0)
        )

    def to_inference(self, theta: ArrayLike) -> FloatArray:
        """Points θ (..., n_parameters) mapped to x (..., D).

        θ must lie within the hard bounds (periodic coordinates: anywhere). On a bound it is taken
        one floating-point spacing inside, which is finite but may be very far out in x; see
        `clear_of_bounds`.
        """
        theta = points_of("theta", theta, self.n_parameters)
        refuse("theta", theta, ~np.isfinite(theta), "must be finite", self.names)
        lower, upper = self.bounds.lower, self.bounds.upper
        with np.errstate(over="ignore"):
            excess = np.where(
                self.bounds.periodic & self.free, 0.0, np.maximum(lower - theta, theta - upper)
            )
        if (excess > 0.0).any():
            # The message shows few digits; a point may be out by rounding only.
            by = f"{excess[excess > 0.0][0]:.3g}"
            demand = "must lie within [{!r}, {!r}] but is outside by " + by + " (move it inside)"
            refuse("theta", theta, excess > 0.0, demand, self.names, lower, upper)
        return self._from_free(theta[..., self.free])

    def _from_free(self, theta: FloatArray) -> FloatArray:
        v = self._standardised(theta)
        if self.is_standard:
            return v
        with np.errstate(over="ignore"):
            return np.clip((np.clip(v, -FAR, FAR) @ self.rotation) / self.scales, -LARGEST, LARGEST)

    def _unconstrained(self, x: ArrayLike) -> FloatArray:
        """t of the points x (..., D)."""
        x = points_of("x", x, self.dimension)
        refuse("x", x, ~np.isfinite(x), "must be finite")
        centre, width = self._standard
        with np.errstate(over="ignore"):
            if not self.is_standard:
                x = np.clip(x * self.scales, -FAR, FAR) @ self.rotation.T
            return np.clip(x * width + centre, -LARGEST, LARGEST)

    def to_original(self, x: ArrayLike) -> FloatArray:
        """Points x (..., D) mapped to θ (..., n_parameters), fixed coordinates put back.

        θ is at least one floating-point spacing inside finite hard bounds for every finite x;
        periodic coordinates are in [LB, UB).
        """
        t = self._unconstrained(x)
        theta = np.empty((*t.shape[:-1], self.n_parameters))
        theta[..., ~self.free] = self.bounds.lower[~self.free]
        theta[..., self.free] = self._maps.inverse(t)
        return theta

    def log_jacobian(self, x: ArrayLike) -> FloatArray:
        """log |∂θ/∂x| at x (..., D), over the free coordinates; shape (...).

        To be *added* to the log density in the original space.

        >>> space = InferenceSpace.from_bounds(-np.inf, np.inf, -2, 2)
        >>> bool(np.isclose(space.log_jacobian([0.3]), np.log(4)))
        True
        """
        t = np.clip(self._unconstrained(x), -FAR, FAR)  # so that the sum below is finite
        slopes = self._maps.log_slope(t)
        constant = np.sum(np.log(self._standard[1])) + np.sum(np.log(self.scales))
        return np.asarray(np.sum(slopes, axis=-1) + constant)

    @cached_property
    def edges(self) -> Edges | None:
        """The part of the log-Jacobian that comes from soft edges, if there are any."""
        centre, width = self._standard
        to_t = width[:, None] * self.rotation * self.scales  # t = centre + to_t x
        slopes, offsets = [], []
        for columns, g in self._maps.parts:
            if isinstance(g, SoftBox | SoftPlus):
                for column, side, corner, softness in g.edges(columns):
                    slopes.append(side * to_t[column] / softness)
                    offsets.append(side * (centre[column] - corner) / softness)
        return Edges(np.array(slopes), np.array(offsets)) if slopes else None

    def raw_slopes(self, x: ArrayLike) -> FloatArray:
        """dθ_i/dv_i of every free coordinate at x (..., D), (..., D).

        Near x an SD of v_i times this is an SD of θ_i; v = (s x) Rᵀ.

        >>> space = InferenceSpace.from_bounds(-np.inf, np.inf, -2, 2)
        >>> space.raw_slopes([0.3]).round(12)
        array([4.])
        """
        t = np.clip(self._unconstrained(x), -FAR, FAR)
        with np.errstate(over="ignore", under="ignore"):
            slopes = np.exp(self._maps.log_slope(t) + np.log(self._standard[1]))
        return np.minimum(slopes, LARGEST)

    def plausible_range(self, rng: np.random.Generator, n: int = 10_000) -> FloatArray:
        """Widths (D,) of the plausible box along the axes of x; exactly one before whitening.

        After whitening: ``n`` uniform draws in the plausible box of the *original* space are
        mapped to x; the distance from the 5 % to the 95 % quantile, stretched by 1/9 of itself on
        both sides.
        """
        if self.is_standard:
            return np.ones(self.dimension)
        low = self.bounds.plausible_lower[self.free]
        high = self.bounds.plausible_upper[self.free]
        x = self._from_free(low + (high - low) * rng.random((n, self.dimension)))
        q05, q95 = np.quantile(x, [0.05, 0.95], axis=0)
        return np.asarray((q95 - q05) * (1.0 + 2.0 / 9.0))

    def with_linear(self, rotation: ArrayLike, scales: ArrayLike) -> "InferenceSpace":
        """The space with the same maps and x = (v R)/s for this R (D, D) and s (D,)."""
        rotation, scales = check_linear(rotation, scales, self.dimension)
        return replace(self, rotation=rotation, scales=scales)

    def with_softness(self, softness: ArrayLike) -> "InferenceSpace":
        """The unwhitened space whose coordinates have soft edges where ``softness`` is a number.

        ``softness`` (D,) is in the units of the parameters, nan where a coordinate has the map
        that its bounds and family say. m and δ follow from the plausible box through the new maps,
        so v is another coordinate than before, and whitening has to be computed anew.

        Raises ``ValueError`` naming the coordinate for a softness that is not positive and finite,
        or one of a coordinate without edges: unbounded or periodic.

        >>> space = InferenceSpace.from_bounds([0, 0], [10, np.inf], [2, 1], [8, 3])
        >>> soft = space.with_softness([0.1, np.nan])
        >>> soft.to_inference([[5.0, 2.0], [3.5, 2.0]]).round(3)[:, 0] + 0.0  # linear inside
        array([ 0.  , -0.25])
        """
        softness = check_softness(softness, self.bounds)
        demand = "must be nearer to the size of the plausible box, for floating-point numbers"
        space, lost = self._remapped(softness, self.tails)
        refuse("softness", softness, lost, demand, self.free_names)
        return space

    def with_tails(self, tails: ArrayLike) -> "InferenceSpace":
        """The unwhitened space whose coordinates are compressed in the tails, where ``tails`` says.

        ``tails`` (D, 2) has a centre and a scale for each coordinate, in the units of the
        parameter; both nan where it is to be linear. m and δ follow from the plausible box through
        the new maps, as for `with_softness`.

        Raises ``ValueError`` naming the coordinate for a scale that is not positive, a number that
        is not finite, or tails of a coordinate that has bounds.

        >>> space = InferenceSpace.from_bounds([-np.inf, 0], [np.inf, 1], [-1, 0.2], [1, 0.8])
        >>> heavy = space.with_tails([[0.0, 1.0], [np.nan, np.nan]])
        >>> bool(heavy.to_inference([100.0, 0.5])[0] < space.to_inference([100.0, 0.5])[0] / 10)
        True
        """
        tails = check_tails(tails, self.bounds)
        demand = "must be nearer to the plausible box and its size, for floating-point numbers"
        space, lost = self._remapped(self.softness, tails)
        refuse("tails", tails[:, 1], lost, demand, self.free_names)
        return space

    def _remapped(
        self, softness: FloatArray, tails: FloatArray
    ) -> tuple["InferenceSpace", BoolArray]:
        """The unwhitened space with these maps; a mask (D,) of where no plausible box is left."""
        one = np.ones(self.dimension)
        space = InferenceSpace(self.bounds, np.eye(self.dimension), one, softness, tails)
        with np.errstate(over="ignore", invalid="ignore"):
            centre, width = space._standard
        return space, ~(np.isfinite(centre) & np.isfinite(width) & (width > 0.0))

    def whitened(self, covariance: ArrayLike) -> "InferenceSpace":
        """The space in which a distribution with this ``covariance`` (D, D) in x becomes white.

        The covariance is taken back to the standardised coordinates v, where R and s are computed
        again (see `quell.space.linear.whitening`); m and δ stay as they are. Working in v rather
        than in t makes the result independent of the units of the parameters.

        >>> space = InferenceSpace.from_bounds([-np.inf] * 2, [np.inf] * 2, [-1, -1], [1, 1])
        >>> white = space.whitened([[4.0, 1.5], [1.5, 1.0]])
        >>> W = white.to_inference(space.to_original(np.eye(2)))
        >>> np.allclose(W.T @ [[4.0, 1.5], [1.5, 1.0]] @ W, np.eye(2))
        True
        """
        covariance = check_covariance(covariance, self.dimension)
        to_v = self.rotation * self.scales  # for column vectors: v = (R diag(s)) x
        return self.with_linear(*whitening(to_v @ covariance @ to_v.T))
