"""The posterior of several runs: a mixture of theirs, each in its own inference space."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from quell.arrays import FloatArray, at_peace
from quell.checks import integer as whole_number
from quell.mixture.mixture import even_counts
from quell.problem.constraint import Support
from quell.results import Posterior
from quell.results.distribution import Distribution
from quell.results.mode import MODE_STARTS, highest
from quell.space import InferenceSpace
from quell.stacking.html import posterior_html
from quell.stacking.marginal import StackedMarginal
from quell.stacking.prior import StackedPrior
from quell.streams import as_generator
from quell.text import printable


@at_peace
@dataclass(frozen=True, eq=False)
class StackedPosterior(Distribution):
    """A mixture of the posteriors of several runs; part of what `stack` returns.

    It has the methods of `Posterior`. Moments, densities and marginals are those of the runs'
    posteriors, which have them in closed form, put together.

    Parameters
    ----------
    members
        The posteriors of J runs, each with the new weights of its components.
    shares
        How much each counts, (J,); they sum to one.

    Examples
    --------
    >>> from quell import Posterior
    >>> from quell.mixture import Mixture
    >>> space = InferenceSpace.from_bounds(-np.inf, np.inf, -1, 1, names=["a"])
    >>> left, right = (
    ...     Posterior(Mixture([1.0], [[place]], [0.5], [1.0]), space) for place in (-1.0, 1.0)
    ... )
    >>> posterior = StackedPosterior((left, right), np.array([0.25, 0.75]))
    >>> posterior.mean(), posterior.sd().round(3)
    (array([1.]), array([2.]))
    >>> round(posterior.marginal("a").quantile(0.25), 2)
    -0.23
    """

    members: tuple[Posterior, ...]
    shares: FloatArray

    def __post_init__(self) -> None:
        if len(self.members) != len(self.shares) or not self.members:
            raise ValueError(
                f"there must be one share for each of the {len(self.members)} members, at least "
                f"one, got {len(self.shares)}"
            )

    @property
    def space(self) -> InferenceSpace:  # type: ignore[override]  # a field of other posteriors
        """The inference space of the first member, with the bounds of all of them."""
        return self.members[0].space

    @property
    def integer(self) -> tuple[bool, ...] | None:  # type: ignore[override]
        """Which parameters are integers; None if there are none."""
        return self.members[0].integer

    @property
    def support(self) -> Support | None:  # type: ignore[override]
        """Whether the density of points (n, dimension) is positive, (n,); None if it is always."""
        return self.members[0].support

    @property
    def n_components(self) -> int:
        """Components with a weight, of all members together."""
        return sum(int(np.sum(member.mixture.weights > 0)) for member in self.members)

    def sample(self, n: int, rng: np.random.Generator | int = 0) -> FloatArray:
        """Draw from the posterior.

        Parameters
        ----------
        n
            Number of draws.
        rng
            Where their randomness comes from: a generator, or a seed, as in `Posterior.sample`.

        Returns
        -------
        Draws (n, dimension), always inside the bounds, in random order; shares of the members vary
        as little as n allows.
        """
        rng, n = as_generator(rng), whole_number("n", n, least=0)
        counts = even_counts(n, self.shares, rng)
        parts = [m.sample(int(c), rng) for m, c in zip(self.members, counts, strict=True) if c]
        return rng.permutation(np.concatenate([np.empty((0, self.dimension)), *parts]))

    def log_density(self, theta: ArrayLike) -> FloatArray:
        """Log density over the free parameters.

        Parameters
        ----------
        theta
            Points (..., dimension).

        Returns
        -------
        Log densities (...), -inf out of bounds and where a fixed parameter has another value.
        """
        logs = np.stack([member.log_density(theta) for member in self.members], axis=-1)
        return np.asarray(logsumexp(logs, b=self.shares, axis=-1))

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean (n,), SDs (n,) and covariance (n, n)."""
        means = np.array([member.mean() for member in self.members])
        mean = self.shares @ means
        offsets = means - mean
        within = sum(
            share * member.covariance()
            for share, member in zip(self.shares, self.members, strict=True)
        )
        covariance = np.asarray(within + (self.shares[:, None] * offsets).T @ offsets)
        return mean, np.sqrt(np.diag(covariance)), covariance

    def mode(self) -> FloatArray:
        """The point (dimension,) of highest density in the user's parameters.

        Next to a hard bound the density is an average, as in `Posterior.mode`.
        """
        space, first = self.space, self.members[0]

        def log_density(x: FloatArray) -> float:
            return float(self.log_density(space.to_original(x)) + space.log_jacobian(x))

        order = np.argsort(-self.shares)[: 2 * MODE_STARTS]
        starts = [space.to_inference(self.members[j].mode()) for j in order]
        found = highest(space, log_density, first._mean_slopes(), starts, first._snapped)
        return first._rounded(space.to_original(found))

    def marginal(self, parameter: int | np.integer | str) -> StackedMarginal:
        """The distribution of one parameter, in closed form.

        Parameters
        ----------
        parameter
            Its name, or its index.

        Raises
        ------
        ValueError
            If there is no such parameter, or it is fixed.
        """
        marginals = tuple(member.marginal(parameter) for member in self.members)
        return StackedMarginal(marginals, self.shares)

    def as_prior(self) -> StackedPrior:
        """The posterior as ``prior=`` of another `Problem`, as `Posterior.as_prior`."""
        return StackedPrior(self, tuple(member.as_prior() for member in self.members))

    def __repr__(self) -> str:
        names = ", ".join(printable(name) for name in self.names)
        return (
            f"StackedPosterior of {names}: {self.n_components} normal distributions from "
            f"{len(self.members)} runs"
        )

    def _repr_html_(self) -> str:
        return posterior_html(self)
