"""The posterior of several runs: a mixture of theirs, each in its own inference space."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from quell.arrays import FloatArray, at_peace
from quell.checks import generator
from quell.results import Marginal, Posterior
from quell.results.posterior import CENTRAL, MODE_RESOLUTION, MODE_STARTS
from quell.space import InferenceSpace

#: Of quantiles, in the standardised coordinate, where the plausible box has width one.
QUANTILE_TOLERANCE = 1e-10


@at_peace
@dataclass(frozen=True, eq=False)
class StackedMarginal:
    """The distribution of one parameter of a stacked posterior, in closed form.

    ``members`` are the marginals of J runs, and ``shares`` (J,) how much each counts.
    """

    members: tuple[Marginal, ...]
    shares: FloatArray

    @property
    def name(self) -> str:
        """The parameter's name."""
        return self.members[0].name

    def density(self, value: ArrayLike) -> FloatArray:
        """Density at values (...) of the parameter, (...); 0 out of bounds."""
        return np.asarray(
            sum(s * m.density(value) for s, m in zip(self.shares, self.members, strict=True))
        )

    def cdf(self, value: ArrayLike) -> FloatArray:
        """Probability (...) of values up to ``value`` (...); see `Marginal.cdf`."""
        return np.asarray(
            sum(s * m.cdf(value) for s, m in zip(self.shares, self.members, strict=True))
        )

    def quantile(self, p: float) -> float:
        """The value below which a share ``p`` of the probability lies; see `Marginal.quantile`.

        Parameters
        ----------
        p
            One number between 0 and 1, both excluded.
        """
        from scipy.optimize import brentq  # slow to import

        ends = np.array([member.quantile(p) for member in self.members])
        if len(ends) == 1:
            return float(ends[0])
        # Runs may have maps of their own; along that of the first one values have their order.
        first = self.members[0]
        _, places, _ = first.space.standard_coordinate(first.parameter, ends)
        low, high = float(places.min()), float(places.max())

        def value(v: float) -> float:
            return first.space.from_standard_coordinate(first.parameter, v)

        def excess(v: float) -> float:
            return float(self.cdf(value(v))) - p

        while excess(low) > 0:
            low -= QUANTILE_TOLERANCE * (1 + abs(low)) + 0.1 * (high - low)
        while excess(high) < 0:
            high += QUANTILE_TOLERANCE * (1 + abs(high)) + 0.1 * (high - low)
        if low == high:
            return value(low)
        return value(float(brentq(excess, low, high, xtol=QUANTILE_TOLERANCE)))


@at_peace
@dataclass(frozen=True, eq=False)
class StackedPosterior:
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
    def space(self) -> InferenceSpace:
        """The inference space of the first member, with the bounds of all of them."""
        return self.members[0].space

    @property
    def integer(self) -> tuple[bool, ...] | None:
        """Which parameters are integers; None if there are none."""
        return self.members[0].integer

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return self.members[0].names

    @property
    def dimension(self) -> int:
        """Number of parameters, fixed ones included."""
        return self.members[0].dimension

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw from the posterior.

        Parameters
        ----------
        n
            Number of draws.
        rng
            Where their randomness comes from.

        Returns
        -------
        Draws (n, dimension), always inside the bounds, in random order; shares of the members vary
        as little as n allows.
        """
        rng = generator(rng)
        ends = np.floor(n * np.cumsum(self.shares) + rng.random())
        ends = np.minimum(ends, n)
        ends[-1] = n
        counts = np.diff(ends, prepend=0).astype(int)
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
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean (n,) and covariance (n, n)."""
        means = np.array([member.mean() for member in self.members])
        mean = self.shares @ means
        offsets = means - mean
        within = sum(
            share * member.covariance()
            for share, member in zip(self.shares, self.members, strict=True)
        )
        return mean, np.asarray(within + (self.shares[:, None] * offsets).T @ offsets)

    def mean(self) -> FloatArray:
        """Mean, (dimension,)."""
        return self._moments[0].copy()

    def covariance(self) -> FloatArray:
        """Covariance, (dimension, dimension)."""
        return self._moments[1].copy()

    def sd(self) -> FloatArray:
        """Standard deviations, (dimension,)."""
        return np.asarray(np.sqrt(np.diag(self._moments[1])))

    def mode(self) -> FloatArray:
        """The point (dimension,) of highest density in the user's parameters.

        Next to a hard bound the density is an average, as in `Posterior.mode`.
        """
        from scipy.optimize import minimize  # slow to import

        space = self.space
        free = np.flatnonzero(space.free)
        shallowest = np.array([self.members[0].marginal(i).mean_slope(*CENTRAL) for i in free])
        shallowest = np.maximum(MODE_RESOLUTION * shallowest, np.finfo(np.float64).tiny)

        def loss(x: FloatArray) -> float:
            # The density in x less the log of the slope of the maps, which is at least as above.
            slopes = np.maximum(space.raw_slopes(x), shallowest)
            density = self.log_density(space.to_original(x)) + space.log_jacobian(x)
            return float(np.log(slopes).sum() - density)

        order = np.argsort(-self.shares)[: 2 * MODE_STARTS]
        starts = [space.to_inference(self.members[j].mode()) for j in order]
        starts = sorted(starts, key=loss)[:MODE_STARTS]
        ends = [minimize(loss, start, method="Nelder-Mead").x for start in starts]
        return self.members[0]._rounded(space.to_original(min([*starts, *ends], key=loss)))

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
