"""The distribution of one parameter, in closed form."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from quell.arrays import FloatArray, at_peace
from quell.checks import number
from quell.results.moments import moments_of_one
from quell.results.quantiles import solve_quantiles
from quell.space import InferenceSpace
from quell.streams import as_generator
from quell.text import printable

QUANTILE_TOLERANCE = 1e-12  # of quantiles, in SDs of the narrowest component
REACH = 10.0  # SDs of a component in which its quantiles are looked for first
#: Quantiles that tell where on its circle the mass of a periodic parameter is.
AROUND = 256


@at_peace
@dataclass(frozen=True, eq=False)
class Marginal:
    """The posterior of one parameter; made by `Posterior.marginal`.

    It is a mixture of normal distributions in the parameter's standardised coordinate v, so
    density, probabilities and quantiles need no sampling. Its methods have the names of SciPy's
    frozen distributions; `to_scipy` makes one of them.

    Quantiles and probabilities of a periodic parameter are counted from the seam, opposite the
    plausible box; median and interval from the point opposite its mean direction. Of an integer
    parameter k density, probabilities and quantiles are those of a continuous one that is rounded
    to k between k - ½ and k + ½; mean and SD are those of the integers.

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

    @property
    def name(self) -> str:
        """The parameter's name."""
        return self.space.names[self.parameter]

    def density(self, value: ArrayLike) -> FloatArray:
        """Density at values (...) of the parameter, (...); 0 out of bounds."""
        value = np.asarray(value, dtype=np.float64)
        inside, v, log_slope = self.space.standard_coordinate(self.parameter, value)
        density = np.where(inside, self._standard_density(v) * np.exp(-log_slope), 0.0)
        return np.where(np.isnan(value), np.nan, density)

    def pdf(self, value: ArrayLike) -> FloatArray:
        """The same as `density`."""
        return self.density(value)

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

    def sf(self, value: ArrayLike) -> FloatArray:
        """Probability (...) of values beyond ``value`` (...): 1 - `cdf`."""
        return 1.0 - self.cdf(value)

    def mean_slope(self, low: float, high: float) -> float:
        """Average dθ/dv between the quantiles of two shares, ``low`` < ``high``."""
        one = self.space.coordinate(self.parameter)
        v = self._standard_quantile(np.array([low, high]))
        first, last = one.value(v)
        if self.space.bounds.periodic[self.parameter] and last < first:  # through the bounds
            last += self.space.bounds.range[self.parameter]
        return float(0.5 * last - 0.5 * first) / float(0.5 * v[1] - 0.5 * v[0])

    def quantile(self, p: ArrayLike) -> Any:
        """The value below which a share ``p`` of the probability lies.

        For a periodic parameter counted from the seam, so that a lower quantile may be the larger
        number.

        Parameters
        ----------
        p
            A number between 0 and 1, both excluded, or an array (...) of them.

        Returns
        -------
        A float for one number, otherwise an array (...).
        """
        shares = np.asarray(p, dtype=np.float64)
        bad = ~((shares > 0) & (shares < 1))
        if bad.any():
            raise ValueError(f"p must be between 0 and 1, got {shares[bad].ravel()[0]}")
        values = self._values(shares)
        return float(values) if values.ndim == 0 else values

    def ppf(self, p: ArrayLike) -> FloatArray:
        """Quantiles (...) of shares (...) as in SciPy.

        The ends of the `support` at 0 and 1, nan for what is no share. Counted like `quantile`.
        """
        shares = np.asarray(p, dtype=np.float64)
        inner = (shares > 0) & (shares < 1)
        values = self._values(np.where(inner, shares, 0.5))
        low, high = self.support()
        ends = np.where(shares == 0, low, np.where(shares == 1, high, np.nan))
        return np.where(inner, values, ends)

    def rvs(
        self, size: int | tuple[int, ...] = 1, random_state: np.random.Generator | int = 0
    ) -> FloatArray:
        """Draws of shape ``size``; ``random_state`` is a generator or a seed.

        Without one the seed is 0: the same draws every time. Draws of integers are rounded.
        """
        shares = as_generator(random_state).random(size)
        values = self._values(np.clip(shares, np.finfo(np.float64).tiny, None))
        return np.rint(values) + 0.0 if self.integer else values

    def mean(self) -> float:
        """Mean."""
        return self._moments()[0]

    def sd(self) -> float:
        """Standard deviation."""
        return self._moments()[1]

    def std(self) -> float:
        """Standard deviation, as SciPy calls it."""
        return self.sd()

    def var(self) -> float:
        """Variance."""
        return self.sd() ** 2

    def median(self) -> float:
        """Median."""
        return float(self._values(self._from_opposite(np.array(0.5))))

    def interval(self, confidence: float = 0.95) -> FloatArray:
        """The central interval, (2,), with this share of the probability.

        That of a periodic parameter runs from its first to its second end in the direction of
        larger values: where the first is larger it goes through the bounds.
        """
        share = number("confidence", confidence, above=0, below=1)
        return self._values(self._from_opposite(np.array([0.5 - share / 2, 0.5 + share / 2])))

    def support(self) -> tuple[float, float]:
        """The ends of the values of positive density."""
        bounds = self.space.bounds
        return float(bounds.lower[self.parameter]), float(bounds.upper[self.parameter])

    def to_scipy(self) -> Any:
        """The same as a frozen distribution of ``scipy.stats``, also for ``prior=`` of a problem.

        That of an integer parameter is flat around each integer, so that its density there is the
        integer's probability. That of a periodic one begins at the lower bound.
        """
        from quell.results.scipy_marginal import frozen  # scipy.stats is slow to import

        return frozen(self)

    def _moments(self) -> tuple[float, float]:
        one = self.space.coordinate(self.parameter)
        return moments_of_one(one, self.weights, self.means, self.sds, self.integer)

    def _from_opposite(self, p: FloatArray) -> FloatArray:
        """Shares (...) counted from the seam, given those from opposite the mean direction."""
        if not self.space.bounds.periodic[self.parameter]:
            return p
        values = self._values((np.arange(AROUND) + 0.5) / AROUND)
        turn = 2j * np.pi / self.space.bounds.range[self.parameter]
        direction = np.angle(np.exp(turn * values).mean())
        opposite = (direction + np.pi) / np.abs(turn)
        shares = np.mod(self.cdf(opposite) + p, 1.0)
        tiny = np.finfo(np.float64).eps
        return np.clip(shares, tiny, 1.0 - tiny)

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

    def __repr__(self) -> str:
        low, high = self.interval(0.95)
        return (
            f"Marginal of {printable(self.name)}: mean {self.mean():.4g}, "
            f"95 % in [{low:.4g}, {high:.4g}]"
        )
