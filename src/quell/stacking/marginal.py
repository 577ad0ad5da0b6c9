"""The distribution of one parameter of a stacked posterior."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from quell.arrays import FloatArray, at_peace
from quell.results.one_parameter import OneParameter
from quell.results.quantiles import solve_quantiles
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

    members: tuple[OneParameter, ...]
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
        one = self.space.coordinate(self.parameter)
        _, places, _ = self.space.standard_coordinate(self.parameter, ends)
        # The quantile lies between those of the members, but for their tolerance.
        room = QUANTILE_TOLERANCE * (1.0 + float(np.abs(places).max()))
        found = solve_quantiles(
            p.ravel(),
            lambda v: self.cdf(one.value(v)),
            lambda v: self.density(one.value(v)) * np.exp(one.log_slope(v)),
            (float(places.min()) - room, float(places.max()) + room),
            QUANTILE_TOLERANCE,
        )
        return one.value(found).reshape(p.shape)
