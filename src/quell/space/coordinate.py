"""One free parameter alone, and its standardised coordinate v."""

from dataclasses import dataclass

import numpy as np

from quell.arrays import FloatArray
from quell.space.inside import LARGEST
from quell.space.maps import CoordinateMap

FAR = 1e300  # sums of a few numbers of this size are still finite


@dataclass(frozen=True, eq=False)
class Coordinate:
    """A parameter θ and v = (g(θ) − m)/δ: its map g (of one column), ``centre`` m and ``width`` δ.

    >>> from quell.space.maps import Unbounded
    >>> Coordinate(Unbounded(), 10.0, 4.0).value(np.array([-0.5, 0.5]))
    array([ 8., 12.])
    """

    map: CoordinateMap
    centre: float
    width: float

    def unconstrained(self, v: FloatArray) -> FloatArray:
        """t = m + δ v, kept finite; any shape."""
        with np.errstate(over="ignore"):
            return np.clip(v * self.width + self.centre, -LARGEST, LARGEST)

    def value(self, v: FloatArray) -> FloatArray:
        """θ (...) at v (...), inside the bounds."""
        return self.map.inverse(self.unconstrained(v)[..., None])[..., 0]

    def standard(self, value: FloatArray) -> FloatArray:
        """v (...) of values θ (...) within the bounds."""
        t = self.map.forward(np.asarray(value, dtype=np.float64)[..., None])[..., 0]
        return (t - self.centre) / self.width

    def log_slope(self, v: FloatArray) -> FloatArray:
        """log dθ/dv (...) at v (...)."""
        t = np.clip(self.unconstrained(v), -FAR, FAR)
        return self.map.log_slope(t[..., None])[..., 0] + np.log(self.width)
