"""The coordinates a baseline works in: the user's own parameters, or the inference space."""

from dataclasses import dataclass

import numpy as np

from quell.acquisition.search import SearchBox
from quell.arrays import FloatArray
from quell.problem import Problem

#: Where there is no bound the box ends so many widths of the plausible box beyond it.
BEYOND = 3.0


@dataclass(frozen=True, eq=False)
class Places:
    """Coordinates x (n, D) of the free parameters, and the ``box`` they are taken from."""

    problem: Problem
    box: SearchBox
    own: bool

    @classmethod
    def of(cls, problem: Problem, *, own: bool) -> "Places":
        """The user's ``own`` parameters within their bounds, or the inference space.

        >>> problem = Problem(sum, lower=[0, -np.inf], upper=[1, np.inf], prior=lambda theta: 0.0,
        ...                   plausible_lower=[0.2, -1], plausible_upper=[0.8, 1])
        >>> Places.of(problem, own=True).box.upper, Places.of(problem, own=False).box.upper
        (array([1., 7.]), array([3.5, 3.5]))
        """
        if not own:
            reach = np.full(problem.space.dimension, 0.5 + BEYOND)
            return cls(problem, SearchBox(-reach, reach), own)
        bounds, free = problem.space.bounds, problem.space.free
        low, high = bounds.plausible_lower[free], bounds.plausible_upper[free]
        margin = BEYOND * (high - low)
        lower, upper = bounds.lower[free], bounds.upper[free]
        return cls(
            problem,
            SearchBox(
                np.where(np.isfinite(lower), lower, low - margin),
                np.where(np.isfinite(upper), upper, high + margin),
            ),
            own,
        )

    @property
    def width(self) -> FloatArray:
        """Widths (D,) of the box."""
        return self.box.upper - self.box.lower

    def to_theta(self, x: FloatArray) -> FloatArray:
        """Coordinates (n, D) as parameters (n, D_full)."""
        space = self.problem.space
        if not self.own:
            return space.to_original(x)
        theta = np.broadcast_to(space.bounds.lower, (*x.shape[:-1], space.n_parameters)).copy()
        theta[..., space.free] = x
        return theta

    def to_x(self, theta: FloatArray) -> FloatArray:
        """Parameters (n, D_full) as coordinates (n, D)."""
        space = self.problem.space
        return theta[..., space.free].copy() if self.own else space.to_inference(theta)

    def log_prior(self, x: FloatArray) -> FloatArray:
        """Log prior density (n,) over the coordinates, at points (n, D)."""
        logs = self.problem.log_prior(self.to_theta(x))
        return logs if self.own else np.asarray(logs + self.problem.space.log_jacobian(x))
