"""The distribution of one integer parameter: a probability for each of a few values."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray, at_peace
from quell.results.one_parameter import OneParameter
from quell.space import InferenceSpace


@at_peace
@dataclass(frozen=True, eq=False, repr=False)
class IntegerMarginal(OneParameter):
    """The posterior of an integer with few likely values; made by `Posterior.marginal`.

    It has the methods of `Marginal`. The probability of k is spread evenly from k - ½ to k + ½:
    that is its density there, and quantiles lie between whole numbers. Mean, SD and draws are those
    of whole numbers.

    Parameters
    ----------
    space
        The map between the user's parameters and the standardised space.
    parameter
        Index of the parameter among all.
    values, probabilities
        The likely values (n,), ascending, and their probabilities (n,).

    Examples
    --------
    >>> space = InferenceSpace.from_bounds(-0.5, 9.5, 1, 6, names=["k"])
    >>> marginal = IntegerMarginal(space, 0, np.array([2.0, 3.0]), np.array([0.25, 0.75]))
    >>> marginal.mean(), float(marginal.density(2)), marginal.quantile(0.25)
    (2.75, 0.25, 2.5)
    """

    space: InferenceSpace
    parameter: int
    values: FloatArray
    probabilities: FloatArray

    integer = True

    @classmethod
    def of_draws(
        cls, space: InferenceSpace, parameter: int, draws: FloatArray
    ) -> "IntegerMarginal":
        """The marginal that draws (n,) of the integer say."""
        values, counts = np.unique(draws, return_counts=True)
        return cls(space, parameter, values, counts / len(draws))

    def density(self, value: ArrayLike) -> FloatArray:
        """The probability (...) of the integers nearest to values (...)."""
        value = np.asarray(value, dtype=np.float64)
        at = np.minimum(np.searchsorted(self.values, np.rint(value)), len(self.values) - 1)
        found = np.where(self.values[at] == np.rint(value), self.probabilities[at], 0.0)
        return np.where(np.isnan(value), np.nan, found)

    def logpdf(self, value: ArrayLike) -> FloatArray:
        """The logarithm of `density`."""
        with np.errstate(divide="ignore"):
            return np.log(self.density(value))

    def cdf(self, value: ArrayLike) -> FloatArray:
        """Probability (...) of values up to ``value`` (...)."""
        value = np.asarray(value, dtype=np.float64)
        return np.asarray(np.interp(value, *self._steps))

    def mean(self) -> float:
        """Mean."""
        return float(self.probabilities @ self.values)

    def sd(self) -> float:
        """Standard deviation."""
        return float(np.sqrt(self.probabilities @ (self.values - self.mean()) ** 2))

    def support(self) -> tuple[float, float]:
        """The ends of the values of positive density."""
        return float(self.values[0] - 0.5), float(self.values[-1] + 0.5)

    @property
    def _steps(self) -> tuple[FloatArray, FloatArray]:
        """The ends of all cells, and the probabilities below them."""
        ends = np.stack([self.values - 0.5, self.values + 0.5], axis=1).ravel()
        above = np.cumsum(self.probabilities)
        below = np.stack([above - self.probabilities, above], axis=1).ravel()
        return ends, np.clip(below / above[-1], 0.0, 1.0)

    def _values(self, p: FloatArray) -> FloatArray:
        """Quantiles (...) of shares (...) between 0 and 1."""
        ends, below = self._steps
        after = np.clip(np.searchsorted(below[1::2], p), 0, len(self.values) - 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            part = (p - below[2 * after]) / (below[2 * after + 1] - below[2 * after])
        return np.asarray(ends[2 * after] + np.clip(np.nan_to_num(part, nan=0.5), 0.0, 1.0))
