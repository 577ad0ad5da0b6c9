"""Densities of a stacked posterior to draw: those of its members, each with its share."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quell.arrays import FloatArray
from quell.plots.densities import N_LEVELS, Densities, density_curve, rising_levels, staircase
from quell.plots.ranges import Range
from quell.results import Posterior
from quell.results.distribution import Distribution
from quell.stacking import StackedPosterior


@dataclass(frozen=True, eq=False)
class StackedDensities:
    """Densities of a stacked posterior; the same methods as `Densities`."""

    posterior: StackedPosterior

    @cached_property
    def _members(self) -> list[tuple[float, Densities]]:
        """The members' densities, and what each counts."""
        # A map of a member that ends at a support is that of its mixture, cut and not normalised.
        pairs = zip(self.posterior.shares, self.posterior.members, strict=True)
        return [(float(share) / one.share_in_support, Densities(one)) for share, one in pairs]

    def alone(self, shown: Range) -> tuple[FloatArray, FloatArray]:
        """Values (n,) of one parameter and its density (n,), or the probabilities of integers."""
        return density_curve(self.posterior.marginal(shown.name), shown)

    def pair(
        self, first: Range, second: Range, shares: Sequence[float]
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Values (m,), (n,) of two parameters, their density (n, m), and its levels."""
        with np.errstate(all="ignore"):
            x, y = (
                np.unique(np.concatenate([one.points(shown) for _, one in self._members]))
                for shown in (first, second)
            )
            density = self._at(first, second, x[None, :], y[:, None])
            x, density = staircase(x, density, first, axis=1)
            y, density = staircase(y, density, second, axis=0)
            theta = self.posterior.sample(N_LEVELS)
            at = [theta[:, shown.parameter] for shown in (first, second)]
            return x, y, density, rising_levels(self._at(first, second, at[0], at[1]), shares)

    def _at(self, first: Range, second: Range, x: FloatArray, y: FloatArray) -> FloatArray:
        """The density at values x and y of two parameters, which are broadcast."""
        parts = [share * one.at(first, second, x, y) for share, one in self._members]
        return np.sum(parts, axis=0)


#: Whatever draws the densities of a posterior.
AnyDensities = Densities | StackedDensities


def densities_of(posterior: Distribution) -> AnyDensities:
    """What draws the densities of a posterior."""
    if isinstance(posterior, StackedPosterior):
        return StackedDensities(posterior)
    assert isinstance(posterior, Posterior)
    return Densities(posterior)
