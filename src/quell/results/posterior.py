"""The posterior a user works with: a mixture in inference space, seen in their own parameters."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray, at_peace
from quell.checks import generator
from quell.mixture import Mixture
from quell.problem.constraint import Support
from quell.problem.integers import round_to_integers
from quell.results.from_file import LostSupport
from quell.results.marginal import Marginal
from quell.results.moments import along, moments
from quell.results.truncated import (
    FEW_DRAWS,
    N_DRAWS,
    CutMarginal,
    Kept,
    draw_inside,
)
from quell.space import InferenceSpace

#: Component means from which the mode is searched, the densest first.
MODE_STARTS = 3
#: The mode takes the slope dθ/dv of a map as at least this share of its mean over the central 68 %:
#: it is less next to a bound, where any tail of the mixture is squeezed into a spike.
MODE_RESOLUTION, CENTRAL = 0.1, (0.16, 0.84)


@at_peace
@dataclass(frozen=True, eq=False)
class Posterior:
    """A distribution over all of the user's parameters, fixed ones included; part of a result.

    Inference treats integer parameters as continuous, each integer k standing for the interval
    from k - ½ to k + ½. Draws and the mode are rounded, and moments are those of the draws;
    densities are those of the continuous distribution. Moments of a periodic parameter are those
    of its values between the bounds.

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

    def _rounded(self, theta: FloatArray) -> FloatArray:
        if self.integer is not None and any(self.integer):
            return round_to_integers(theta, self.space.bounds, np.array(self.integer))
        return theta

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return self.space.names

    @property
    def dimension(self) -> int:
        """Number of parameters, fixed ones included."""
        return self.space.n_parameters

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw from the posterior.

        Parameters
        ----------
        n
            Number of draws.
        rng
            Where their randomness comes from.

        Returns
        -------
        Draws (n, dimension), always inside the bounds, in random order; shares of the components
        vary as little as n allows. Of a posterior that is hardly in its support draws are repeated.
        """
        rng = generator(rng)
        if self.support is None:
            return self._draw(n, rng)
        if isinstance(self.support, LostSupport):
            return self.support.sample(n, rng)
        theta = draw_inside(n, rng, self._draw, self.support).theta
        return theta if len(theta) == n else theta[rng.integers(len(theta), size=n)]

    def _draw(self, n: int, rng: np.random.Generator) -> FloatArray:
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

    def log_density(self, theta: ArrayLike) -> FloatArray:
        """Log density over the free parameters.

        Parameters
        ----------
        theta
            Points (..., dimension).

        Returns
        -------
        Log densities (...), -inf out of bounds and where a fixed parameter has another value.
        """
        theta = np.asarray(theta, dtype=np.float64)
        inside = self.space.contains(theta)
        out = np.full(inside.shape, -np.inf)
        if inside.any():
            x = self.space.to_inference(theta[inside])
            out[inside] = self.mixture.log_density(x) - self.space.log_jacobian(x)
        if self._kept is not None and inside.any():
            assert self.support is not None
            out[inside] -= np.log(self._kept.share)
            inside[inside] = self.support(theta[inside])
            out[~inside] = -np.inf
        return out

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        if self._kept is not None:
            theta = self._kept.theta
            covariance = np.cov(theta.T).reshape(self.dimension, self.dimension)
            return theta.mean(axis=0), theta.std(axis=0, ddof=1), covariance
        integer = np.zeros(self.dimension, bool) if self.integer is None else np.array(self.integer)
        return moments(self.mixture, self.space, integer)

    def mean(self) -> FloatArray:
        """Mean, (dimension,)."""
        return self._moments[0].copy()

    def covariance(self) -> FloatArray:
        """Covariance, (dimension, dimension)."""
        return self._moments[2].copy()

    def sd(self) -> FloatArray:
        """Standard deviations, (dimension,)."""
        return self._moments[1].copy()

    def mode(self) -> FloatArray:
        """The point (dimension,) of highest density in the user's parameters.

        It depends on the parameterisation: the mode in log σ is not the logarithm of that in σ.
        Next to a hard bound the density is taken as an average over a tenth of the posterior's
        width: there even a light tail of the mixture makes a spike, which means nothing.
        """
        from scipy.optimize import minimize  # slow to import

        free = np.flatnonzero(self.space.free)
        shallowest = np.array([self.marginal(i).mean_slope(*CENTRAL) for i in free])
        shallowest = np.maximum(MODE_RESOLUTION * shallowest, np.finfo(np.float64).tiny)

        def loss(x: FloatArray) -> float:
            if self._kept is not None and self.log_density(self.space.to_original(x)) == -np.inf:
                return np.inf
            slopes = np.maximum(self.space.raw_slopes(x), shallowest)
            return float(np.log(slopes).sum() - self.mixture.log_density(x))

        starts = list(self.mixture.means)
        if self._kept is not None:
            starts += list(self.space.to_inference(self._kept.theta[:FEW_DRAWS]))
        starts = sorted(starts, key=loss)[:MODE_STARTS]
        ends = [minimize(loss, start, method="Nelder-Mead").x for start in starts]
        return self._rounded(self.space.to_original(min([*starts, *ends], key=loss)))

    def marginal(self, parameter: int | np.integer | str) -> Marginal:
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
        if isinstance(parameter, str):
            if parameter not in self.names:
                raise ValueError(
                    f"unknown parameter {parameter!r}; the names are {list(self.names)}"
                )
            parameter = self.names.index(parameter)
        if not self.space.free[parameter]:
            raise ValueError(f"{self.names[parameter]!r} is fixed: it has no marginal density")
        column = int(self.space.free[:parameter].sum())
        marginal = Marginal(
            self.space, int(parameter), column, *along(self.mixture, self.space, column)
        )
        if self._kept is None:
            return marginal
        return CutMarginal.of(marginal, self._kept.theta[:, parameter])
