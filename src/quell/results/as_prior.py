"""A posterior as the prior of the next problem: a normalised density over the same parameters."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from quell.arrays import FloatArray
from quell.space.bounds import Bounds
from quell.streams import as_generator

if TYPE_CHECKING:
    from quell.results.posterior import Posterior


@dataclass(frozen=True, eq=False)
class PosteriorPrior:
    """A posterior as ``prior=`` of a `Problem` over parameters of the same names.

    Made by `Posterior.as_prior`. It is normalised, and zero where the posterior is; ``logpdf``
    takes points (n, dimension) in the order of its ``names``, and gives integers their probability.
    """

    posterior: "Posterior"
    order: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, in the order of ``logpdf``'s columns."""
        return tuple(self.posterior.names[i] for i in self.order)

    def for_parameters(self, bounds: Bounds) -> "PosteriorPrior":
        """The same for parameters in the order of these bounds; ``ValueError`` if it cannot be."""
        if sorted(bounds.names) != sorted(self.names):
            raise ValueError(
                f"prior is a posterior of the parameters {list(self.names)}, but the problem has "
                f"{list(bounds.names)} (give them the same names; for some of them pass a list "
                "with posterior.marginal(name) for each)"
            )
        order = tuple(self.posterior.names.index(name) for name in bounds.names)
        for i, name in zip(order, bounds.names, strict=True):
            at = bounds.names.index(name)
            if not self.posterior.space.free[i] and bounds.lower[at] < bounds.upper[at]:
                raise ValueError(
                    f"prior is a posterior in which {name!r} is fixed, so it says nothing about "
                    "its other values (fix it here too)"
                )
        return PosteriorPrior(self.posterior, order)

    @property
    def box(self) -> tuple[FloatArray, FloatArray]:
        """Corners, (dimension,) each, of a box outside of which the density is zero."""
        bounds = self.posterior.space.bounds
        return bounds.lower[list(self.order)], bounds.upper[list(self.order)]

    @property
    def may_be_zero(self) -> bool:
        """Whether the density may be zero within that box."""
        return self.posterior.support is not None

    def logpdf(self, theta: FloatArray) -> FloatArray:
        """Log density (n,) at points (n, dimension)."""
        theta = np.atleast_2d(np.asarray(theta, dtype=np.float64))
        own = np.empty_like(theta)
        own[:, list(self.order)] = theta
        return self.posterior.log_density(own)

    def rvs(self, size: int = 1, random_state: np.random.Generator | int = 0) -> FloatArray:
        """Draws (size, dimension)."""
        return self.posterior.sample(size, as_generator(random_state))[:, list(self.order)]
