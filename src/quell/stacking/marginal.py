"""The distribution of one parameter of a stacked posterior."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from quell.arrays import FloatArray, at_peace
from quell.results import Marginal
from quell.results.one_parameter import OneParameter
from quell.space import InferenceSpace

#: Of quantiles, in the standardised coordinate, where the plausible box has width one.
QUANTILE_TOLERANCE = 1e-10


@at_peace
@dataclass(frozen=True, eq=False, repr=False)
class StackedMarginal(OneParameter):
    """The distribution of one parameter of a stacked posterior, in closed form.

    ``members`` are the marginals of J runs, and ``shares`` (J,) how much each counts. It has the
    methods of `Marginal`.
    """

    members: tuple[Marginal, ...]
    shares: FloatArray

    @property
    def space(self) -> InferenceSpace:  # type: ignore[override]  # a field of other marginals
        """The inference space of the first member."""
        return self.members[0].space

    @property
    def parameter(self) -> int:  # type: ignore[override]
        """Index of the parameter among all."""
        return self.members[0].parameter

    @property
    def integer(self) -> bool:  # type: ignore[override]
        """Whether the parameter is an integer."""
        return self.members[0].integer

    def density(self, value: ArrayLike) -> FloatArray:
        """Density at values (...) of the parameter, (...); 0 out of bounds."""
        return np.asarray(
            sum(s * m.density(value) for s, m in zip(self.shares, self.members, strict=True))
        )

    def logpdf(self, value: ArrayLike) -> FloatArray:
        """Log density at values (...) of the parameter, (...); -inf out of bounds."""
        logs = np.stack([member.logpdf(value) for member in self.members], axis=-1)
        return np.asarray(logsumexp(logs, b=self.shares, axis=-1))

    def cdf(self, value: ArrayLike) -> FloatArray:
        """Probability (...) of values up to ``value`` (...); see `Marginal.cdf`."""
        return np.asarray(
            sum(s * m.cdf(value) for s, m in zip(self.shares, self.members, strict=True))
        )

    def mean(self) -> float:
        """Mean."""
        return float(self.shares @ [member.mean() for member in self.members])

    def sd(self) -> float:
        """Standard deviation."""
        means = np.array([member.mean() for member in self.members])
        within = np.array([member.var() for member in self.members])
        return float(np.sqrt(self.shares @ (within + (means - self.mean()) ** 2)))

    def support(self) -> tuple[float, float]:
        """The ends of the values of positive density."""
        lows, highs = zip(*(member.support() for member in self.members), strict=True)
        return min(lows), max(highs)

    def _values(self, p: FloatArray) -> FloatArray:
        """Quantiles (...) of shares (...) between 0 and 1."""
        ends = np.stack([member._values(p.ravel()) for member in self.members])
        if len(ends) == 1:
            return ends[0].reshape(p.shape)
        # Runs may have maps of their own; along that of the first one values have their order.
        _, places, _ = self.space.standard_coordinate(self.parameter, ends)
        found = [self._between(*pair) for pair in zip(p.ravel(), places.T, strict=True)]
        return np.array(found).reshape(p.shape)

    def _between(self, p: float, places: FloatArray) -> float:
        """The quantile of a share, at one of or between the members' (J,) in v."""
        from scipy.optimize import brentq  # slow to import

        low, high = float(places.min()), float(places.max())

        def value(v: float) -> float:
            return self.space.from_standard_coordinate(self.parameter, v)

        def excess(v: float) -> float:
            return float(self.cdf(value(v))) - p

        while excess(low) > 0:
            low -= QUANTILE_TOLERANCE * (1 + abs(low)) + 0.1 * (high - low)
        while excess(high) < 0:
            high += QUANTILE_TOLERANCE * (1 + abs(high)) + 0.1 * (high - low)
        if low == high:
            return value(low)
        return value(float(brentq(excess, low, high, xtol=QUANTILE_TOLERANCE)))
