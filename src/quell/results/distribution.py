"""What every posterior can say, given what it alone knows: draws, moments, densities, marginals."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray, at_peace
from quell.checks import integer
from quell.interface import import_extra
from quell.problem.constraint import Support
from quell.results.one_parameter import OneParameter
from quell.space import InferenceSpace


@at_peace
class Drawn(ABC):
    """Gives a posterior what follows from its draws and its moments."""

    space: InferenceSpace

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator | int = 0) -> FloatArray:
        """Draw from the posterior, (n, dimension)."""

    @abstractmethod
    def mean(self) -> FloatArray:
        """Mean, (dimension,)."""

    @abstractmethod
    def median(self) -> FloatArray:
        """Medians of all parameters, (dimension,)."""

    @abstractmethod
    def interval(
        self, confidence: float = 0.95, parameter: int | np.integer | str | None = None
    ) -> FloatArray:
        """Central intervals (dimension, 2), or (2,) of one parameter."""

    @abstractmethod
    def covariance(self) -> FloatArray:
        """Covariance, (dimension, dimension)."""

    @abstractmethod
    def sd(self) -> FloatArray:
        """Standard deviations, (dimension,)."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return self.space.names

    @property
    def dimension(self) -> int:
        """Number of parameters, fixed ones included."""
        return self.space.n_parameters

    def _index(self, parameter: int | np.integer | str) -> int:
        """Index of a parameter among all, given that or its name."""
        if not isinstance(parameter, str):
            index = integer("parameter", parameter, least=-self.dimension)
            if index >= self.dimension:
                raise ValueError(
                    f"parameter must be less than {self.dimension}, the number of parameters, "
                    f"got {index}"
                )
            return index % self.dimension
        if parameter not in self.names:
            raise ValueError(f"unknown parameter {parameter!r}; the names are {list(self.names)}")
        return self.names.index(parameter)

    def correlation(self) -> FloatArray:
        """Correlations, (dimension, dimension); nan for fixed parameters, which have none."""
        sd = np.where(self.space.free, self.sd(), np.nan)
        correlation = np.clip(self.covariance() / sd / sd[:, None], -1.0, 1.0)
        correlation[np.diag_indices_from(correlation)] = np.where(self.space.free, 1.0, np.nan)
        return correlation

    def to_pandas(self, n: int = 1000, rng: np.random.Generator | int = 0) -> Any:
        """Draws as a pandas ``DataFrame`` with a column for each parameter.

        Parameters
        ----------
        n, rng
            Number of draws, and a seed or a generator, as in `sample`.
        """
        pandas = import_extra("pandas", "to_pandas", "use posterior.sample(n) for an array")
        return pandas.DataFrame(self.sample(n, rng), columns=list(self.names))


@at_peace
class Distribution(Drawn):
    """Gives a posterior what follows from its density, its moments and its marginals, too."""

    integer: tuple[bool, ...] | None
    support: Support | None

    @property
    @abstractmethod
    def _moments(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean (dimension,), SDs (dimension,) and covariance (dimension, dimension)."""

    @abstractmethod
    def log_density(self, theta: ArrayLike) -> FloatArray:
        """Log density (...) over the free parameters at points (..., dimension)."""

    @abstractmethod
    def marginal(self, parameter: int | np.integer | str) -> OneParameter:
        """The distribution of one parameter."""

    def log_pdf(self, theta: ArrayLike) -> FloatArray:
        """The same as `log_density`."""
        return self.log_density(theta)

    def pdf(self, theta: ArrayLike) -> FloatArray:
        """Density (...) over the free parameters at points (..., dimension)."""
        return np.exp(self.log_density(theta))

    def mean(self) -> FloatArray:
        """Mean, (dimension,)."""
        return self._moments[0].copy()

    def covariance(self) -> FloatArray:
        """Covariance, (dimension, dimension)."""
        return self._moments[2].copy()

    def sd(self) -> FloatArray:
        """Standard deviations, (dimension,)."""
        return self._moments[1].copy()

    def median(self) -> FloatArray:
        """Medians of all parameters, (dimension,)."""
        return self._of_marginals(lambda marginal: marginal.median(), ())

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
        Their two ends, (dimension, 2), or (2,) for one parameter; equal for fixed ones. Where the
        first end of a periodic parameter is larger, its interval goes through the bounds.
        """
        if parameter is not None:
            return self.marginal(parameter).interval(confidence)
        return self._of_marginals(lambda marginal: marginal.interval(confidence), (2,))

    def _of_marginals(
        self, figure: Callable[[OneParameter], Any], shape: tuple[int, ...]
    ) -> FloatArray:
        """A figure of this shape of each parameter's marginal; fixed ones have their value."""
        out = np.empty((self.dimension, *shape))
        for i, free in enumerate(self.space.free):
            out[i] = figure(self.marginal(i)) if free else self.space.bounds.lower[i]
        return out

    def to_scipy(self, parameter: int | np.integer | str) -> Any:
        """The marginal of one parameter as a frozen distribution of ``scipy.stats``.

        Parameters
        ----------
        parameter
            Its name, or its index.
        """
        return self.marginal(parameter).to_scipy()
