"""What a marginal can say, given its density, probabilities, quantiles and moments."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray, at_peace
from quell.checks import number
from quell.space import InferenceSpace
from quell.streams import as_generator
from quell.text import printable

#: Quantiles that tell where on its circle the mass of a periodic parameter is.
AROUND = 256


@at_peace
class OneParameter(ABC):
    """Gives a marginal what follows from its density, probabilities, quantiles and moments.

    ``parameter`` is its index among all in ``space``, and ``integer`` whether it is a whole number.
    """

    space: InferenceSpace
    parameter: int
    integer: bool

    @abstractmethod
    def density(self, value: ArrayLike) -> FloatArray:
        """Density at values (...) of the parameter, (...); 0 out of bounds."""

    @abstractmethod
    def logpdf(self, value: ArrayLike) -> FloatArray:
        """Log density at values (...) of the parameter, (...); -inf out of bounds."""

    @abstractmethod
    def cdf(self, value: ArrayLike) -> FloatArray:
        """Probability (...) of values up to ``value`` (...)."""

    @abstractmethod
    def _values(self, p: FloatArray) -> FloatArray:
        """Quantiles (...) of shares (...) between 0 and 1."""

    @abstractmethod
    def mean(self) -> float:
        """Mean."""

    @abstractmethod
    def sd(self) -> float:
        """Standard deviation."""

    @property
    def name(self) -> str:
        """The parameter's name."""
        return self.space.names[self.parameter]

    def pdf(self, value: ArrayLike) -> FloatArray:
        """The same as `density`."""
        return self.density(value)

    def sf(self, value: ArrayLike) -> FloatArray:
        """Probability (...) of values beyond ``value`` (...): 1 - `cdf`."""
        return 1.0 - self.cdf(value)

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

    def __repr__(self) -> str:
        low, high = self.interval(0.95)
        return (
            f"Marginal of {printable(self.name)}: mean {self.mean():.4g}, "
            f"95 % in [{low:.4g}, {high:.4g}]"
        )
