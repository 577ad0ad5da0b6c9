"""A posterior that is known by draws."""

from dataclasses import dataclass

import numpy as np

from quell.arrays import FloatArray
from quell.checks import integer as whole_number
from quell.results.distribution import Drawn
from quell.space import InferenceSpace
from quell.streams import as_generator
from quell.text import printable


@dataclass(frozen=True, eq=False)
class DrawnPosterior(Drawn):
    """The posterior of a baseline: ``draws`` (n, D) over all parameters, fixed ones included.

    It has the methods of `quell.Posterior` that draws can answer; there is no density.

    Parameters
    ----------
    draws
        Draws (n, D) in the user's parameters. They come from chains, in the order of the chains.
    space
        The map between the user's parameters and the inference space; names and bounds.

    Examples
    --------
    >>> space = InferenceSpace.from_bounds([-np.inf], [np.inf], [-1], [1], names=["a"])
    >>> posterior = DrawnPosterior(np.linspace(0, 1, 101)[:, None], space)
    >>> posterior.mean(), posterior.interval(0.9)
    (array([0.5]), array([[0.05, 0.95]]))
    """

    draws: FloatArray
    space: InferenceSpace

    def sample(self, n: int, rng: np.random.Generator | int = 0) -> FloatArray:
        """Some of the draws, in random order.

        Parameters
        ----------
        n
            How many. If there are so many they are all different draws, else some are repeated.
        rng
            A generator, or a seed; 0 by default.

        Returns
        -------
        Draws (n, dimension).
        """
        rng, n = as_generator(rng), whole_number("n", n, least=0)
        rows = rng.permutation(len(self.draws))[:n]
        if n > len(rows):
            rows = np.append(rows, rng.integers(len(self.draws), size=n - len(rows)))
        return self.draws[rows]

    def mean(self) -> FloatArray:
        """Mean, (dimension,)."""
        return np.asarray(self.draws.mean(axis=0))

    def sd(self) -> FloatArray:
        """Standard deviations, (dimension,)."""
        return np.asarray(self.draws.std(axis=0, ddof=1))

    def covariance(self) -> FloatArray:
        """Covariance, (dimension, dimension)."""
        return np.cov(self.draws.T).reshape(self.dimension, self.dimension)

    def quantile(self, p: float) -> FloatArray:
        """The ``p``-quantiles of all parameters, (dimension,).

        Parameters
        ----------
        p
            The share of the probability below them, from 0 to 1.
        """
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"p must be between 0 and 1, got {p!r}")
        return np.asarray(np.quantile(self.draws, p, axis=0))

    def median(self) -> FloatArray:
        """Medians of all parameters, (dimension,)."""
        return self.quantile(0.5)

    def interval(
        self, confidence: float = 0.95, parameter: int | np.integer | str | None = None
    ) -> FloatArray:
        """Central intervals that have this share of each parameter's probability.

        Parameters
        ----------
        confidence
            The share, between 0 and 1.
        parameter
            Name or index of one parameter; all by default.

        Returns
        -------
        Their two ends, (dimension, 2), or (2,) for one parameter. Those of a periodic parameter
        are of its values between the bounds.
        """
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence must be between 0 and 1, got {confidence!r}")
        tail = 0.5 * (1.0 - confidence)
        ends = np.stack([self.quantile(tail), self.quantile(1.0 - tail)], axis=1)
        if parameter is None:
            return ends
        return ends[self._index(parameter)]

    def __repr__(self) -> str:
        names = ", ".join(printable(name) for name in self.names)
        return f"DrawnPosterior of {names}: {len(self.draws)} draws"
