"""The distribution of one parameter, in closed form."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from quell.arrays import FloatArray, at_peace
from quell.space import InferenceSpace

QUANTILE_TOLERANCE = 1e-12  # of quantiles, in SDs of the narrowest component


@at_peace
@dataclass(frozen=True, eq=False)
class Marginal:
    """The posterior of one parameter; made by `Posterior.marginal`.

    It is a mixture of normal distributions in the parameter's standardised coordinate v, so
    density, probabilities and quantiles need no sampling.

    Parameters
    ----------
    space
        The map between the user's parameters and the standardised space.
    parameter
        Index of the parameter among all.
    column
        Its index among the free ones.
    weights, means, sds
        Of the normal distributions in v, (K,) each.

    Examples
    --------
    >>> from quell.mixture import Mixture
    >>> from quell.results import Posterior
    >>> space = InferenceSpace.from_bounds(-np.inf, np.inf, -1, 1, names=["a"])
    >>> marginal = Posterior(Mixture([1.0], [[0.0]], [1.0], [1.0]), space).marginal("a")
    >>> marginal.name, float(marginal.cdf(0.0))
    ('a', 0.5)
    >>> bool(np.isclose(marginal.cdf(marginal.quantile(0.9)), 0.9))
    True
    """

    space: InferenceSpace
    parameter: int
    column: int
    weights: FloatArray
    means: FloatArray
    sds: FloatArray

    @property
    def name(self) -> str:
        """The parameter's name."""
        return self.space.names[self.parameter]

    def density(self, value: ArrayLike) -> FloatArray:
        """Density at values (...) of the parameter, (...); 0 out of bounds."""
        value = np.asarray(value, dtype=np.float64)
        inside, v, log_slope = self.space.standard_coordinate(self.parameter, value)
        z = np.clip((v[..., None] - self.means) / self.sds, -1e100, 1e100)
        density = (self.weights * np.exp(-0.5 * z**2) / (np.sqrt(2 * np.pi) * self.sds)).sum(-1)
        return np.where(inside, self._corrected(density, v) * np.exp(-log_slope), 0.0)

    def _corrected(self, density: FloatArray, v: FloatArray) -> FloatArray:  # noqa: ARG002
        """The density (...) in v, given that of the normal distributions."""
        return density

    def _standard_cdf(self, v: FloatArray) -> FloatArray:
        """Probability below v (...)."""
        return np.asarray((self.weights * ndtr((v[..., None] - self.means) / self.sds)).sum(-1))

    def cdf(self, value: ArrayLike) -> FloatArray:
        """Probability (...) of values up to ``value`` (...).

        For a periodic parameter counted from the seam, opposite the plausible box, like
        `quantile`.
        """
        value = np.asarray(value, dtype=np.float64)
        inside, v, _ = self.space.standard_coordinate(self.parameter, value)
        below = value <= self.space.bounds.lower[self.parameter]
        out = np.where(inside, self._standard_cdf(v), np.where(below, 0.0, 1.0))
        return np.where(np.isnan(value), np.nan, out)

    def mean_slope(self, low: float, high: float) -> float:
        """Average dθ/dv between the quantiles of two shares, ``low`` < ``high``."""
        one = self.space.coordinate(self.parameter)
        v = np.array([self._standard_quantile(low), self._standard_quantile(high)])
        first, last = one.value(v)
        if self.space.bounds.periodic[self.parameter] and last < first:  # through the bounds
            last += self.space.bounds.range[self.parameter]
        return float(0.5 * last - 0.5 * first) / float(0.5 * v[1] - 0.5 * v[0])

    def quantile(self, p: float) -> float:
        """The value below which a share ``p`` of the probability lies.

        For a periodic parameter counted from the seam, so that a lower quantile may be the larger
        number.

        Parameters
        ----------
        p
            One number between 0 and 1, both excluded.
        """
        if np.ndim(p) != 0:
            raise TypeError(f"p must be one number, got an array of shape {np.shape(p)}")
        if not 0 < p < 1:
            raise ValueError(f"p must be between 0 and 1, got {p}")
        v = self._standard_quantile(p)
        return self.space.from_standard_coordinate(self.parameter, v)

    def _standard_quantile(self, p: float) -> float:
        """The quantile in the standardised coordinate."""
        from scipy.optimize import brentq  # slow to import

        def excess(v: float) -> float:
            return float(self._standard_cdf(np.array(v))) - p

        reach = 10 * self.sds
        low, high = float((self.means - reach).min()), float((self.means + reach).max())
        while excess(low) > 0:
            low -= high - low
        while excess(high) < 0:
            high += high - low
        tolerance = QUANTILE_TOLERANCE * float(self.sds.min())
        return float(brentq(excess, low, high, xtol=tolerance))
