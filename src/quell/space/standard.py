"""Each parameter on its own: θ <-> its standardised coordinate v.

Two of the three steps from θ to x (see `quell.space.inference`, also for the notation), which leave
the parameters apart:

    t = g(θ)          an unconstraining map (see `quell.space.maps`), with soft edges where the
                      coordinate has a softness (see `quell.space.soft`), and compressed where it
                      has heavy tails (see `quell.space.tails`),
    v = (t − m)/δ     with m = ½ (g(PLB) + g(PUB)), δ = g(PUB) − g(PLB): the plausible box
                      becomes [−½, ½] in every coordinate.
"""

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quell.arrays import BoolArray, FloatArray
from quell.checks import as_floats
from quell.space.bounds import ALMOST_BOUND, Bounds, Kind
from quell.space.coordinate import Coordinate
from quell.space.inside import LARGEST
from quell.space.maps import Columns, Periodic


class StandardCoordinates:
    """Gives the inference space what does not mix its parameters.

    Those are ``bounds``, and the ``softness`` (D,) and ``tails`` (D, 2) of their D free
    coordinates, which the space has as fields.
    """

    bounds: Bounds
    softness: FloatArray
    tails: FloatArray

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters."""
        return self.bounds.names

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What each parameter is: "two-sided", "lower", "upper", "unbounded", "periodic", "fixed".

        "lower" and "upper" have only that bound.
        """
        return self.bounds.kinds

    @property
    def n_parameters(self) -> int:
        """Number of parameters, fixed ones included."""
        return len(self.names)

    @property
    def dimension(self) -> int:
        """D, the number of free coordinates."""
        return len(self.softness)

    @cached_property
    def free(self) -> BoolArray:
        """Mask (n_parameters,) of the coordinates that are not fixed."""
        return np.array([kind != "fixed" for kind in self.kinds])

    @property
    def free_names(self) -> tuple[str, ...]:
        """Names of the free coordinates."""
        return tuple(name for name, free in zip(self.names, self.free, strict=True) if free)

    @property
    def almost_lower(self) -> FloatArray:
        """LB_ε = LB + 1e-5 range, shape (n_parameters,); −inf where there is no such bound.

        The range is UB − LB, or PUB − LB without an upper bound. Fixed and periodic coordinates
        have none: on a circle "below" means nothing, and `clear_of_bounds` looks at the seam.
        """
        return self.bounds.almost_lower

    @property
    def almost_upper(self) -> FloatArray:
        """UB_ε = UB − 1e-5 range, shape (n_parameters,); +inf where there is no such bound."""
        return self.bounds.almost_upper

    def _maps_of(self, columns: NDArray[np.intp]) -> Columns:
        """The maps of some of the free coordinates."""
        b, at = self.bounds, np.flatnonzero(self.free)[columns]
        return Columns.of(
            [b.kinds[i] for i in at],
            [b.bounded[i] for i in at],
            b.lower[at],
            b.upper[at],
            b.range[at],
            0.5 * b.plausible_lower[at] + 0.5 * b.plausible_upper[at],
            self.softness[columns],
            self.tails[columns],
        )

    @cached_property
    def _maps(self) -> Columns:
        return self._maps_of(np.arange(self.dimension))

    @cached_property
    def _standard(self) -> tuple[FloatArray, FloatArray]:
        """Centre m and width δ of the plausible box in t, each (D,)."""
        box = np.stack([self.bounds.plausible_lower, self.bounds.plausible_upper])[:, self.free]
        low, high = self._maps.forward(box)
        return 0.5 * low + 0.5 * high, high - low

    def _standardised(self, theta: FloatArray) -> FloatArray:
        """v (..., D) of the free coordinates θ (..., D), kept finite."""
        centre, width = self._standard
        t = self._maps.forward(theta)
        with np.errstate(over="ignore"):
            return np.clip((t - centre) / width, -LARGEST, LARGEST)

    def contains(self, theta: ArrayLike) -> BoolArray:
        """Mask (...) of the points θ (..., n_parameters) strictly within the hard bounds.

        Periodic coordinates are anywhere; fixed ones must have their value.

        >>> from quell.space import InferenceSpace
        >>> InferenceSpace.from_bounds(0, 1, 0.2, 0.8).contains([[0.5], [1.0]])
        array([ True, False])
        """
        theta = points_of("theta", theta, self.n_parameters)
        lower, upper = self.bounds.lower, self.bounds.upper
        inside = (theta > lower) & (theta < upper)
        inside |= self.bounds.periodic & self.free
        inside |= ~self.free & (theta == lower)
        return np.asarray(np.all(inside & np.isfinite(theta), axis=-1))

    def clear_of_bounds(self, theta: ArrayLike) -> BoolArray:
        """Mask (...) of the points θ (..., n_parameters) that keep clear of every hard bound.

        Clear means within [`almost_lower`, `almost_upper`] and, for periodic coordinates, at
        least 1e-5 of a period away from the seam. Points out of bounds or not finite are not
        clear. Fixed coordinates do not matter.

        >>> from quell.space import InferenceSpace
        >>> InferenceSpace.from_bounds(0, 1, 0.2, 0.8).clear_of_bounds([[0.5], [1e-6]])
        array([ True, False])
        """
        theta = points_of("theta", theta, self.n_parameters)
        clear = (theta >= self.almost_lower) & (theta <= self.almost_upper) & np.isfinite(theta)
        clear = clear[..., self.free]
        theta = np.where(clear, theta[..., self.free], 0.0)
        for columns, g in self._maps.parts:
            if isinstance(g, Periodic):
                away = np.abs(g.offset(theta[..., columns]))
                clear[..., columns] &= away <= (0.5 - ALMOST_BOUND) * (g.upper - g.lower)
        return np.asarray(np.all(clear, axis=-1))

    def coordinate(self, parameter: int) -> Coordinate:
        """One free parameter alone, whatever the whitening: its map and its coordinate v."""
        column = int(self.free[:parameter].sum())
        (_, g), *_ = self._maps_of(np.array([column])).parts
        centre, width = self._standard
        return Coordinate(g, float(centre[column]), float(width[column]))

    def standard_coordinate(
        self, parameter: int, value: FloatArray
    ) -> tuple[BoolArray, FloatArray, FloatArray]:
        """One free parameter's values (...) alone: inside the bounds?, v, and log dθ/dv.

        v and the slope of values out of bounds are those of a value inside.
        """
        b, one = self.bounds, self.coordinate(parameter)
        inside = (value > b.lower[parameter]) & (value < b.upper[parameter])
        inside |= bool(b.periodic[parameter])
        middle = 0.5 * b.plausible_lower[parameter] + 0.5 * b.plausible_upper[parameter]
        v = one.standard(np.where(inside, value, middle))
        return inside, v, one.log_slope(v)

    def from_standard_coordinate(self, parameter: int, v: float) -> float:
        """The value of one free parameter at its standardised coordinate ``v``."""
        return float(self.coordinate(parameter).value(np.array(v)))


def points_of(argument: str, value: ArrayLike, columns: int) -> FloatArray:
    """Points of shape (..., columns)."""
    points = as_floats(argument, value)
    if points.ndim == 0 or points.shape[-1] != columns:
        what = "parameter" if argument == "theta" else "free coordinate"
        wanted = f"(..., {columns}), one column per {what}"
        raise ValueError(f"{argument} must have shape {wanted}, got {points.shape}")
    return points
