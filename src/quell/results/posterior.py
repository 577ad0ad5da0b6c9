"""The posterior a user works with: a mixture in inference space, seen in their own parameters."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import BoolArray, FloatArray, at_peace
from quell.checks import as_floats
from quell.checks import integer as whole_number
from quell.mixture import Mixture
from quell.problem.constraint import Support
from quell.problem.integers import round_to_integers
from quell.results.as_prior import PosteriorPrior
from quell.results.distribution import Distribution
from quell.results.from_file import LostSupport
from quell.results.html import posterior_html
from quell.results.marginal import Marginal
from quell.results.mode import CENTRAL, highest
from quell.results.moments import moments
from quell.results.parts import Parts
from quell.results.truncated import (
    FEW_DRAWS,
    N_DRAWS,
    CutMarginal,
    Kept,
    draw_inside,
)
from quell.results.whole_numbers import IntegerMarginal
from quell.space import InferenceSpace
from quell.streams import as_generator
from quell.text import printable


@at_peace
@dataclass(frozen=True, eq=False)
class Posterior(Distribution):
    """A distribution over all of the user's parameters, fixed ones included; part of a result.

    Integer parameters have probabilities: what the mixture says at whole numbers, where alone the
    target is known (see `quell.results.parts`). `log_density` is then that of the others together
    with the probability of the integers, also between them, where k stands for k - ½ to k + ½.
    Moments of a periodic parameter are those of its values between the bounds.

    Parameters
    ----------
    mixture
        The mixture of normal distributions in the inference space, over the free parameters.
    space
        The map between the user's parameters and the inference space.
    integer
        Which parameters are integers, one truth value for each; None if there are none.
    support
        A function that takes points (n, dimension) to a mask (n,) of those where the density is
        positive; None if it is everywhere within the bounds. Outside the posterior is zero; moments
        and marginals are then those of draws, always the same ones.

    Examples
    --------
    Usually ``result.posterior``; here one made by hand, of a parameter between 0 and 1 and one
    without bounds:

    >>> from quell.mixture import Mixture
    >>> from quell.space import InferenceSpace
    >>> space = InferenceSpace.from_bounds([0, -np.inf], [1, np.inf], [0.3, -1], [0.7, 1])
    >>> posterior = Posterior(Mixture([1.0], [[0.0, 0.0]], [0.3], [1.0, 1.0]), space)
    >>> draws = posterior.sample(1000, np.random.default_rng(0))
    >>> bool(((draws[:, 0] > 0) & (draws[:, 0] < 1)).all())
    True
    >>> posterior.mean().round(2) + 0.0
    array([0.5, 0. ])
    """

    mixture: Mixture
    space: InferenceSpace
    integer: tuple[bool, ...] | None = None
    support: Support | None = None

    @cached_property
    def _integers(self) -> BoolArray:
        """Mask (dimension,) of the integers."""
        return np.zeros(self.dimension, bool) if self.integer is None else np.array(self.integer)

    @cached_property
    def _parts(self) -> Parts:
        """The posterior as normal distributions in standardised coordinates."""
        return Parts.of(self.mixture, self.space, self._integers)

    @property
    def has_whole_numbers(self) -> bool:
        """Whether there are integers that are not as good as continuous."""
        return bool(self._parts.whole.any())

    @property
    def log_mass(self) -> float:
        """The log of the sum over whole numbers of the mixture's density; 0 without integers.

        What the evidence has to be multiplied by: the run integrates where it is to sum.
        """
        return self._parts.log_mass

    def _rounded(self, theta: FloatArray) -> FloatArray:
        if self._integers.any():
            return round_to_integers(theta, self.space.bounds, self._integers)
        return theta

    def sample(self, n: int, rng: np.random.Generator | int = 0) -> FloatArray:
        """Draw from the posterior.

        Parameters
        ----------
        n
            Number of draws.
        rng
            Where their randomness comes from: a generator, or a seed. Without one the seed is 0,
            and the draws are the same every time.

        Returns
        -------
        Draws (n, dimension), always inside the bounds, in random order; shares of the components
        vary as little as n allows. Of a posterior that is hardly in its support draws are repeated.
        """
        rng, n = as_generator(rng), whole_number("n", n, least=0)
        if self.support is None:
            return self._draw(n, rng)
        if isinstance(self.support, LostSupport):
            return self.support.sample(n, rng)
        theta = draw_inside(n, rng, self._draw, self.support).theta
        return theta if len(theta) == n else theta[rng.integers(len(theta), size=n)]

    def _draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        if self.has_whole_numbers:
            return self._rounded(self._parts.sample(n, rng, self.space))
        draws = self.mixture.sample(n, rng, stratified=True)
        return self._rounded(self.space.to_original(draws))

    @cached_property
    def _kept(self) -> Kept | None:
        """Draws in the support; None where all of the mixture is."""
        if self.support is None:
            return None
        if isinstance(self.support, LostSupport):
            return self.support.kept
        rng = np.random.default_rng(0)
        if self.support(self._draw(FEW_DRAWS, rng)).all():
            return None
        try:
            return draw_inside(N_DRAWS, rng, self._draw, self.support)
        except ValueError:  # a lost run: moments are the mixture's, and its verdict says so
            return None

    @property
    def share_in_support(self) -> float:
        """The share of the mixture that lies in the support: what the rest is cut off from."""
        return 1.0 if self._kept is None else self._kept.share

    def log_density(self, theta: ArrayLike) -> FloatArray:
        """Log density over the free parameters.

        Parameters
        ----------
        theta
            Points (..., dimension).

        Returns
        -------
        Log densities (...), -inf out of bounds and where a fixed parameter has another value.
        `log_pdf` is the same, and `pdf` the density itself.
        """
        theta = self._rounded(as_floats("theta", theta))
        inside = self.space.contains(theta)
        out = np.full(inside.shape, -np.inf)
        if inside.any():
            x = self.space.to_inference(theta[inside])
            out[inside] = self.mixture.log_density(x) - self.space.log_jacobian(x) - self.log_mass
        return self._in_support(theta, out)

    def _in_support(self, theta: FloatArray, logs: FloatArray) -> FloatArray:
        """Log densities (...) of the mixture at θ (..., dimension), as those of the posterior."""
        if self._kept is None:
            return logs
        assert self.support is not None
        inside = np.asarray(logs > -np.inf)
        if inside.any():
            logs[inside] -= np.log(self._kept.share)
            inside[inside] = self.support(theta[inside])
        return np.where(inside, logs, -np.inf)

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        if self._kept is not None:
            theta = self._kept.theta
            covariance = np.cov(theta.T).reshape(self.dimension, self.dimension)
            return theta.mean(axis=0), theta.std(axis=0, ddof=1), covariance
        return moments(self._parts, self.space)

    def mode(self) -> FloatArray:
        """The point (dimension,) of highest density in the user's parameters.

        It depends on the parameterisation: the mode in log σ is not the logarithm of that in σ.
        Next to a hard bound the density is taken as an average over a tenth of the posterior's
        width: there even a light tail of the mixture makes a spike, which means nothing.
        """

        def log_density(x: FloatArray) -> float:
            if self._kept is not None and self.log_density(self.space.to_original(x)) == -np.inf:
                return -np.inf
            return float(self.mixture.log_density(x))

        starts = list(self.mixture.means)
        if self.has_whole_numbers:
            starts = list(self.space.to_inference(self._parts.centres(self.space)))
        if self._kept is not None:
            starts += list(self.space.to_inference(self._kept.theta[:FEW_DRAWS]))
        return self._rounded(
            self.space.to_original(
                highest(self.space, log_density, self._mean_slopes(), starts, self._snapped)
            )
        )

    def _mean_slopes(self) -> FloatArray:
        """Averages (D,) of dθ/dv over the middle of each free parameter; 0 of whole numbers."""
        slopes = np.zeros(self.space.dimension)
        for column in np.flatnonzero(~self._parts.whole):
            marginal = self.marginal(int(np.flatnonzero(self.space.free)[column]))
            assert isinstance(marginal, Marginal)
            slopes[column] = marginal.mean_slope(*CENTRAL)
        return slopes

    def _snapped(self, x: FloatArray) -> FloatArray:
        """The point x (D,) moved to whole numbers of the integers."""
        if not self._integers.any():
            return x
        return self.space.to_inference(self._rounded(self.space.to_original(x)))

    def marginal(self, parameter: int | np.integer | str) -> Marginal | IntegerMarginal:
        """The distribution of one parameter, in closed form.

        Parameters
        ----------
        parameter
            Its name, or its index.

        Raises
        ------
        ValueError
            If there is no such parameter, or it is fixed.
        """
        parameter = self._index(parameter)
        if not self.space.free[parameter]:
            raise ValueError(f"{self.names[parameter]!r} is fixed: it has no marginal density")
        column = int(self.space.free[:parameter].sum())
        if self._parts.whole[column]:
            if self._kept is not None:
                values = self._kept.theta[:, parameter]
                return IntegerMarginal.of_draws(self.space, parameter, values)
            return IntegerMarginal(self.space, parameter, *self._parts.probabilities(column))
        marginal = Marginal(
            self.space, parameter, column, *self._parts.along(column),
            integer=bool(self._integers[parameter]),
        )  # fmt: skip
        if self._kept is None:
            return marginal
        return CutMarginal.of(marginal, self._kept.theta[:, parameter])

    def as_prior(self) -> PosteriorPrior:
        """The posterior as ``prior=`` of another `Problem` with the same names, in any order.

        What was learnt from one set of data is then known to the inference from the next one, and
        its log evidence is that of the new data given the old. Normalised, zero outside the bounds
        and the support, and a probability for integers.
        """
        return PosteriorPrior(self, tuple(range(self.dimension)))

    def __repr__(self) -> str:
        names = ", ".join(printable(name) for name in self.names)
        return (
            f"Posterior of {names}: a mixture of {self.mixture.n_components} normal distributions"
        )

    def _repr_html_(self) -> str:
        return posterior_html(self)
