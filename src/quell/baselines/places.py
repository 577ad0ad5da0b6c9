"""The coordinates a baseline works in: the user's own parameters, or the inference space."""

from dataclasses import dataclass

import numpy as np

from quell.acquisition.search import SearchBox
from quell.arrays import FloatArray
from quell.problem import Problem

#: Where there is no bound the box ends so many widths of the plausible box beyond it.
BEYOND = 3.0
#: Share of the box that is left out next to a bound, in inference space.
NEXT_TO_BOUND = 1e-3


@dataclass(frozen=True, eq=False)
class Places:
    """Coordinates x (n, D) of the free parameters, and the ``box`` they are taken from."""

    problem: Problem
    box: SearchBox
    own: bool

    @classmethod
    def of(cls, problem: Problem, *, own: bool) -> "Places":
        """The user's ``own`` parameters within their bounds, or the inference space.

        The box is the same part of the parameters in both, but for the last thousandth of it next
        to a bound, which in inference space is a long way.

        >>> problem = Problem(sum, lower=[0, -np.inf], upper=[1, np.inf], prior=lambda theta: 0.0,
        ...                   plausible_lower=[0.2, -1], plausible_upper=[0.8, 1], bounded="logit")
        >>> Places.of(problem, own=True).box.upper, Places.of(problem, own=False).box.upper.round(2)
        (array([1., 7.]), array([2.49, 3.5 ]))
        """
        space = problem.space
        bounds = space.bounds
        low, high = bounds.plausible_lower, bounds.plausible_upper
        margin = BEYOND * (high - low)
        lower = np.where(np.isfinite(bounds.lower), bounds.lower, low - margin)
        upper = np.where(np.isfinite(bounds.upper), bounds.upper, high + margin)
        if own:
            return cls(problem, SearchBox(lower[space.free], upper[space.free]), own)
        inside = NEXT_TO_BOUND * (upper - lower)
        lower = np.where(np.isfinite(bounds.lower), lower + inside, lower)
        upper = np.where(np.isfinite(bounds.upper), upper - inside, upper)
        reach = 0.5 + BEYOND
        corners = space.to_inference(np.stack([lower, upper]))
        # The ends of a circle are opposite to its plausible box, not at the bounds.
        corners[:, bounds.periodic[space.free]] = [[-reach], [reach]]
        return cls(problem, SearchBox(*np.clip(corners, -reach, reach)), own)

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
