"""The user's own parameters as coordinates, without the maps of inference space.

A law of the log-likelihood (`quell.vbmc.law`) holds in these: no map of a bounded parameter bends
it.
"""

from dataclasses import dataclass

import numpy as np

from quell.arrays import BoolArray, FloatArray
from quell.space.bounds import Bounds


@dataclass(frozen=True, eq=False)
class Plain:
    """The user's free parameters in units of the plausible box, or the logarithm of one of them.

    Parameter ``scale`` (None for none) is that logarithm, or as it is where it may be negative,
    less its value in the middle of the plausible box.
    """

    centre: FloatArray
    width: FloatArray
    positive: BoolArray
    scale: int | None = None

    @classmethod
    def of(cls, bounds: Bounds) -> "Plain":
        """The plain coordinates for these bounds, all of them linear."""
        free = np.array([kind != "fixed" for kind in bounds.kinds])
        low, high = bounds.plausible_lower[free], bounds.plausible_upper[free]
        return cls(0.5 * low + 0.5 * high, high - low, bounds.lower[free] >= 0.0)

    def forward(self, theta: FloatArray) -> FloatArray:
        """Coordinates u (n, D) of points θ (n, D) of the free parameters."""
        u = (theta - self.centre) / self.width
        j = self.scale
        if j is not None:
            if self.positive[j]:
                with np.errstate(divide="ignore"):
                    u[:, j] = np.log(theta[:, j] / self.centre[j])
            else:
                u[:, j] = theta[:, j] - self.centre[j]
        return u

    def inverse(self, u: FloatArray) -> FloatArray:
        """Points θ (n, D) of coordinates u (n, D)."""
        theta = self.centre + self.width * u
        j = self.scale
        if j is not None:
            if self.positive[j]:
                with np.errstate(over="ignore"):
                    theta[:, j] = self.centre[j] * np.exp(u[:, j])
            else:
                theta[:, j] = self.centre[j] + u[:, j]
        return theta
