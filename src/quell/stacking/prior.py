"""A stacked posterior as the prior of the next problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp

from quell.arrays import FloatArray
from quell.results.as_prior import PosteriorPrior
from quell.space import Bounds
from quell.streams import as_generator

if TYPE_CHECKING:
    from quell.stacking.posterior import StackedPosterior


@dataclass(frozen=True, eq=False)
class StackedPrior:
    """A stacked posterior as ``prior=`` of a `Problem`: the mixture of its ``members``' priors.

    Made by `StackedPosterior.as_prior`; for the rest see `PosteriorPrior`.
    """

    posterior: StackedPosterior
    members: tuple[PosteriorPrior, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, in the order of ``logpdf``'s columns."""
        return self.members[0].names

    def for_parameters(self, bounds: Bounds) -> StackedPrior:
        """The same for parameters in the order of these bounds; ``ValueError`` if it cannot be."""
        members = tuple(member.for_parameters(bounds) for member in self.members)
        return StackedPrior(self.posterior, members)

    @property
    def box(self) -> tuple[FloatArray, FloatArray]:
        """Corners, (dimension,) each, of a box outside of which the density is zero."""
        return self.members[0].box

    @property
    def may_be_zero(self) -> bool:
        """Whether the density may be zero within that box."""
        return self.members[0].may_be_zero

    def logpdf(self, theta: FloatArray) -> FloatArray:
        """Log density (n,) at points (n, dimension)."""
        logs = np.stack([member.logpdf(theta) for member in self.members], axis=-1)
        return np.asarray(logsumexp(logs, b=self.posterior.shares, axis=-1))

    def rvs(self, size: int = 1, random_state: np.random.Generator | int = 0) -> FloatArray:
        """Draws (size, dimension)."""
        draws = self.posterior.sample(size, as_generator(random_state))
        return draws[:, list(self.members[0].order)]
