"""The posterior a user works with: a mixture in inference space, seen in their own parameters."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.checks import generator
from quell.mixture import Mixture, normal_base_sample
from quell.problem.integers import round_to_integers
from quell.results.marginal import Marginal
from quell.space import InferenceSpace

#: Quasi-random points per component behind moments that have no closed form, and their seed.
MOMENT_POINTS, MOMENT_SEED = 2048, 20200615
#: Component means from which the mode is searched, the densest first.
MODE_STARTS = 3


@dataclass(frozen=True, eq=False)
class Posterior:
    """A distribution over all of the user's parameters, fixed ones included; part of a result.

    Inference treats integer parameters as continuous, each integer k standing for the interval
    from k - ½ to k + ½. Draws and the mode are rounded; densities and moments are those of the
    continuous distribution. Moments of a periodic parameter are those of its values between the
    bounds.

    Parameters
    ----------
    mixture
        The mixture of normal distributions in the inference space, over the free parameters.
    space
        The map between the user's parameters and the inference space.
    integer
        Which parameters are integers, one truth value for each; None if there are none.

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
        vary as little as n allows.
        """
        draws = self.mixture.sample(n, generator(rng), stratified=True)
        return self._rounded(self.space.to_original(draws))

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
        return out

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        base = normal_base_sample(
            MOMENT_POINTS, self.mixture.dimension, np.random.default_rng(MOMENT_SEED)
        )
        q = self.mixture
        x = q.means[:, None, :] + (q.scales[:, None] * q.lengths)[:, None, :] * base
        theta = self.space.to_original(x)
        weights = q.weights[:, None] / MOMENT_POINTS
        mean = np.einsum("ks,ksi->i", np.broadcast_to(weights, theta.shape[:2]), theta)
        centred = (theta - mean).reshape(-1, theta.shape[2])
        flat = np.broadcast_to(weights, theta.shape[:2]).reshape(-1, 1)
        return mean, centred.T @ (flat * centred)

    def mean(self) -> FloatArray:
        """Mean, (dimension,), by a fixed quasi-random average."""
        return self._moments[0].copy()

    def covariance(self) -> FloatArray:
        """Covariance, (dimension, dimension), by a fixed quasi-random average."""
        return self._moments[1].copy()

    def sd(self) -> FloatArray:
        """Standard deviations, (dimension,)."""
        return np.sqrt(self._moments[1].diagonal())

    def mode(self) -> FloatArray:
        """The point (dimension,) of highest density in the user's parameters.

        It depends on the parameterisation: the mode in log σ is not the logarithm of that in σ.
        """
        from scipy.optimize import minimize  # slow to import

        def loss(x: FloatArray) -> float:
            return float(self.space.log_jacobian(x) - self.mixture.log_density(x))

        starts = sorted(self.mixture.means, key=loss)[:MODE_STARTS]
        ends = [minimize(loss, start, method="Nelder-Mead").x for start in starts]
        return self._rounded(self.space.to_original(min([*starts, *ends], key=loss)))

    def marginal(self, parameter: int | str) -> Marginal:
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
        # v = (s x) Rᵀ: each component is normal along any coordinate of the standardised space.
        direction = self.space.rotation[column] * self.space.scales
        q = self.mixture
        return Marginal(
            self.space,
            int(parameter),
            column,
            q.weights,
            q.means @ direction,
            q.scales * np.sqrt(((q.lengths * direction) ** 2).sum()),
        )
