"""What all ready priors have in common: the methods of SciPy's frozen distributions."""

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.checks import number
from quell.streams import as_generator


class ReadyPrior:
    """A distribution of one parameter, with the methods of SciPy's frozen ones.

    Those of a kind define `logpdf`, `cdf`, `ppf`, `mean`, `var` and `support`; points and shares
    may have any shape.

    Examples
    --------
    >>> from quell.priors import box
    >>> prior = box(0, 4)
    >>> isinstance(prior, ReadyPrior), prior
    (True, box(0, 4))
    >>> prior.mean(), prior.interval(0.5), prior.rvs(3, random_state=1).shape
    (2.0, (1.0, 3.0), (3,))
    """

    def logpdf(self, x: ArrayLike) -> FloatArray:
        """Log density (...) at points (...)."""
        raise NotImplementedError

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Probability (...) of values up to points (...)."""
        raise NotImplementedError

    def ppf(self, q: ArrayLike) -> FloatArray:
        """Quantiles (...) of shares (...): the ends of the support at 0 and 1, nan beyond."""
        raise NotImplementedError

    def mean(self) -> float:
        """Mean."""
        raise NotImplementedError

    def var(self) -> float:
        """Variance."""
        raise NotImplementedError

    def support(self) -> tuple[float, float]:
        """The ends of the values of positive density."""
        raise NotImplementedError

    def pdf(self, x: ArrayLike) -> FloatArray:
        """Density (...) at points (...)."""
        return np.exp(self.logpdf(x))

    def sf(self, x: ArrayLike) -> FloatArray:
        """Probability (...) of values beyond points (...)."""
        return 1.0 - self.cdf(x)

    def isf(self, q: ArrayLike) -> FloatArray:
        """Values (...) beyond which shares (...) of the probability lie."""
        return self.ppf(1.0 - np.asarray(q, dtype=np.float64))

    def std(self) -> float:
        """Standard deviation."""
        return float(np.sqrt(self.var()))

    def median(self) -> float:
        """Median."""
        return float(self.ppf(0.5))

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The ends of the central interval with this share of the probability."""
        share = number("confidence", confidence, above=0, below=1)
        low, high = self.ppf([0.5 - share / 2, 0.5 + share / 2])
        return float(low), float(high)

    def rvs(
        self, size: int | tuple[int, ...] = 1, random_state: np.random.Generator | int = 0
    ) -> FloatArray:
        """Draws of shape ``size``; ``random_state`` is a generator or a seed, 0 by default."""
        return self.ppf(as_generator(random_state).random(size))
