"""Densities of a posterior to draw, also of one from a file that does not have its support."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from quell.arrays import FloatArray
from quell.plots import stacked
from quell.plots.densities import Densities, density_curve, rising_levels
from quell.plots.ranges import Range
from quell.plots.stacked import StackedDensities
from quell.results import Posterior
from quell.results.distribution import Distribution
from quell.results.from_file import LostSupport
from quell.results.truncated import N_DRAWS
from quell.stacking import StackedPosterior

#: Cells along each parameter of a map made of draws, and how many of them it is smoothed over.
N_CELLS, SMOOTH = 60, 1.5


@dataclass(frozen=True, eq=False)
class DensitiesOfDraws:
    """The densities of a posterior that is known by its draws: the support was code.

    The same methods as `Densities`.
    """

    posterior: Distribution
    draws: FloatArray

    def alone(self, shown: Range) -> tuple[FloatArray, FloatArray]:
        """Values (n,) of one parameter and its density (n,), or the probabilities of integers."""
        return density_curve(self.posterior.marginal(shown.name), shown)

    def pair(
        self, first: Range, second: Range, shares: Sequence[float]
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Values (m,), (n,) of two parameters, their density (n, m), and its levels."""
        from scipy.ndimage import gaussian_filter, map_coordinates

        theta = self.draws
        edges = np.linspace(0.0, 1.0, N_CELLS + 1)
        at = [r.fraction(r.place(theta[:, r.parameter])) for r in (second, first)]
        counts = np.histogram2d(at[0], at[1], [edges, edges])[0]
        density = gaussian_filter(counts, SMOOTH)
        places = np.stack(at) * N_CELLS - 0.5
        seen = map_coordinates(density, places, order=1, mode="nearest")
        x, y = (_middles(shown) for shown in (first, second))
        return x, y, density, rising_levels(seen, shares)


def _middles(shown: Range) -> FloatArray:
    """The middles (N_CELLS,) of cells that are even along the axis."""
    part = (np.arange(N_CELLS) + 0.5) / N_CELLS
    if shown.log:
        return np.asarray(shown.low * (shown.high / shown.low) ** part)
    return np.asarray(shown.low + part * shown.width)


def densities_of(posterior: Distribution) -> Densities | StackedDensities | DensitiesOfDraws:
    """What draws the posterior's densities."""
    if not isinstance(posterior.support, LostSupport):
        return stacked.densities_of(posterior)
    if isinstance(posterior, StackedPosterior):
        if any(member._kept is not None for member in posterior.members):
            return DensitiesOfDraws(posterior, posterior.sample(N_DRAWS))
        members = tuple(replace(member, support=None) for member in posterior.members)
        return StackedDensities(replace(posterior, members=members))
    assert isinstance(posterior, Posterior)
    if posterior.support.kept is None:  # all of the mixture is inside
        return Densities(replace(posterior, support=None))
    return DensitiesOfDraws(posterior, posterior.support.draws)
