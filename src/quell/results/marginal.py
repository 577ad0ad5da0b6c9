"""The distribution of one parameter, in closed form."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from quell.arrays import FloatArray, at_peace
from quell.results.moments import moments_of_one
from quell.results.one_parameter import OneParameter
from quell.results.quantiles import solve_quantiles
from quell.space import InferenceSpace

QUANTILE_TOLERANCE = 1e-12  # of quantiles, in SDs of the narrowest component
REACH = 10.0  # SDs of a component in which its quantiles are looked for first


@at_peace
@dataclass(frozen=True, eq=False, repr=False)
class Marginal(OneParameter):
    """The posterior of one parameter; made by `Posterior.marginal`.

    It is a mixture of normal distributions in the parameter's standardised coordinate v, so
    density, probabilities and quantiles need no sampling. Its methods have the names of SciPy's
    frozen distributions; `to_scipy` makes one of them.

    Quantiles and probabilities of a periodic parameter are counted from the seam, opposite the
    plausible box; median and interval from the point opposite its mean direction. An integer
    parameter with very many likely values is as good as a continuous one; one with few has an
    `IntegerMarginal`.

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
    integer
        Whether the parameter is an integer.

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
    >>> marginal.interval(0.95).round(2), float(round(marginal.std(), 3))
    (array([-3.92,  3.92]), 2.0)
    """

    space: InferenceSpace
    parameter: int
    column: int
    weights: FloatArray
    means: FloatArray
    sds: FloatArray
    integer: bool = field(default=False, kw_only=True)

    def density(self, value: ArrayLike) -> FloatArray:
        """Density at values (...) of the parameter, (...); 0 out of bounds."""
        value = np.asarray(value, dtype=np.float64)
        inside, v, log_slope = self.space.standard_coordinate(self.parameter, value)
        density = np.where(inside, self._standard_density(v) * np.exp(-log_slope), 0.0)
        return np.where(np.isnan(value), np.nan, density)

    def logpdf(self, value: ArrayLike) -> FloatArray:
        """Log density at values (...) of the parameter, (...); -inf out of bounds."""
        value = np.asarray(value, dtype=np.float64)
        inside, v, log_slope = self.space.standard_coordinate(self.parameter, value)
        z = np.clip((v[..., None] - self.means) / self.sds, -1e100, 1e100)
        terms = np.log(self.weights) - 0.5 * z**2 - np.log(np.sqrt(2 * np.pi) * self.sds)
        top = terms.max(axis=-1, keepdims=True)
        log = np.log(np.exp(terms - top).sum(-1)) + top[..., 0]
        log = log + np.log(self._corrected(np.ones_like(v), v)) - log_slope
        return np.where(np.isnan(value), np.nan, np.where(inside, log, -np.inf))

    def _standard_density(self, v: FloatArray) -> FloatArray:
        """Density (...) in v (...)."""
        z = np.clip((v[..., None] - self.means) / self.sds, -1e100, 1e100)
        density = (self.weights * np.exp(-0.5 * z**2) / (np.sqrt(2 * np.pi) * self.sds)).sum(-1)
        return self._corrected(density, v)

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
        v = self._standard_quantile(np.array([low, high]))
        first, last = one.value(v)
        if self.space.bounds.periodic[self.parameter] and last < first:  # through the bounds
            last += self.space.bounds.range[self.parameter]
        return float(0.5 * last - 0.5 * first) / float(0.5 * v[1] - 0.5 * v[0])

    def mean(self) -> float:
        """Mean."""
        return self._moments()[0]

    def sd(self) -> float:
        """Standard deviation."""
        return self._moments()[1]

    def _moments(self) -> tuple[float, float]:
        one = self.space.coordinate(self.parameter)
        return moments_of_one(one, self.weights, self.means, self.sds)

    def _values(self, p: FloatArray) -> FloatArray:
        """Quantiles (...) of shares (...) between 0 and 1."""
        return self.space.coordinate(self.parameter).value(self._standard_quantile(p))

    def _standard_quantile(self, p: FloatArray) -> FloatArray:
        """Quantiles (...) of shares (...) in the standardised coordinate."""
        used = self.weights > 0
        means, reach = self.means[used], REACH * self.sds[used]
        found = solve_quantiles(
            p.ravel(),
            self._standard_cdf,
            self._standard_density,
            (float((means - reach).min()), float((means + reach).max())),
            QUANTILE_TOLERANCE * float(self.sds[used].min()),
        )
        return found.reshape(p.shape)
