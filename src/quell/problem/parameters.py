"""The parameters of a problem: where they may be, where a point is evaluated, and their prior."""

from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import BoolArray, FloatArray
from quell.checks import as_floats
from quell.problem.constraint import Support, is_positive
from quell.problem.integers import round_to_integers
from quell.problem.prior import Prior
from quell.space import InferenceSpace


class Parameters:
    """Gives a problem all that can be known of its parameters without the target.

    D counts all of them, fixed ones included.
    """

    space: InferenceSpace  #: the map to the inference space; holds the bounds of integers' cells
    prior: Prior  #: with ``log_density``, ``is_proper``, ``is_included``, ``support``
    integer: BoolArray  #: mask (D,)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return self.space.names

    @property
    def dimension(self) -> int:
        """D, the number of parameters, fixed ones included."""
        return self.space.n_parameters

    @property
    def lower(self) -> FloatArray:
        """Lower hard bounds (D,); for integers the smallest value allowed."""
        bounds = self.space.bounds
        return np.where(self.integer & self.space.free, bounds.lower + 0.5, bounds.lower)

    @property
    def upper(self) -> FloatArray:
        """Upper hard bounds (D,); for integers the largest value allowed."""
        bounds = self.space.bounds
        return np.where(self.integer & self.space.free, bounds.upper - 0.5, bounds.upper)

    @property
    def plausible_lower(self) -> FloatArray:
        """Lower corner (D,) of the plausible box, as it is used."""
        return self.space.bounds.plausible_lower

    @property
    def plausible_upper(self) -> FloatArray:
        """Upper corner (D,) of the plausible box, as it is used."""
        return self.space.bounds.plausible_upper

    @property
    def has_integers(self) -> bool:
        """Whether any free parameter is an integer."""
        return bool(np.any(self.integer & self.space.free))

    def check_points(self, points: ArrayLike, argument: str = "theta") -> FloatArray:
        """Points as floats, once they are known to be within the bounds.

        Parameters
        ----------
        points
            Points (..., D).
        argument
            What messages call them.

        Raises
        ------
        ValueError
            Unless they are finite and within the bounds.
        """
        points = as_floats(argument, points)
        try:
            self.space.to_inference(points)
        except ValueError as error:
            raise ValueError(str(error).replace("theta", argument, 1)) from None
        return points

    def snap(self, theta: ArrayLike) -> FloatArray:
        """Points θ (..., D) where they are evaluated.

        Integer coordinates are rounded, periodic ones taken into [lower, upper).

        Parameters
        ----------
        theta
            Points (..., D).

        Examples
        --------
        >>> from quell import Problem
        >>> problem = Problem(
        ...     sum, lower=[1, 0], upper=[9, 24], plausible_lower=[2, 10],
        ...     plausible_upper=[5, 14], integer=[True, False], periodic=[False, True],
        ... )
        >>> problem.snap([3.3, 25.0])
        array([3., 1.])
        """
        bounds = self.space.bounds
        theta = round_to_integers(as_floats("theta", theta), bounds, self.integer)
        circle = bounds.periodic & self.space.free
        low, high = bounds.lower[circle], bounds.upper[circle]
        given = theta[..., circle]
        wrapped = low + np.mod(given - low, high - low)
        wrapped = np.where(wrapped < high, wrapped, low)  # rounding may give the upper end
        theta[..., circle] = np.where((given >= low) & (given < high), given, wrapped)
        return theta

    def log_prior(self, theta: ArrayLike) -> FloatArray:
        """Log prior density.

        Parameters
        ----------
        theta
            Points (..., D); the density is that at the points `snap` makes of them.

        Returns
        -------
        Log densities (...), −inf out of bounds; 0 within them if the target includes the prior.
        """
        theta = as_floats("theta", theta)
        if theta.ndim == 0 or theta.shape[-1] != self.dimension:
            raise ValueError(f"theta must have shape (..., {self.dimension}), got {theta.shape}")
        logs = self.prior.log_density(self.snap(theta).reshape(-1, self.dimension))
        return logs.reshape(theta.shape[:-1])

    @cached_property
    def support(self) -> Support | None:
        """Mask (n,) of points (n, D) of positive prior density; None where bounds say it all."""
        return partial(is_positive, self.log_prior) if self.prior.may_be_zero else None

    def log_joint(self, value: ArrayLike, theta: ArrayLike) -> FloatArray:
        """Log joint density: the log-likelihood plus the log prior.

        Parameters
        ----------
        value
            Log-likelihoods (...).
        theta
            The points (..., D) where they were found.
        """
        return np.asarray(as_floats("value", value) + self.log_prior(theta))
