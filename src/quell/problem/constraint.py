"""A constraint across parameters: a function that says which points are allowed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quell.arrays import BoolArray, FloatArray

if TYPE_CHECKING:
    from quell.problem.problem import Problem

#: Which of the points θ (n, D) have a positive prior density, a mask (n,).
Support = Callable[[FloatArray], BoolArray]

#: Draws in the plausible box, of which one must be allowed.
N_TRIES = 1000
#: Draws at which a prior is tried out, and how far out they are where there is no hard bound, in
#: widths of the plausible box.
N_TRIED, REACH = 200, 20.0


@dataclass(frozen=True, eq=False)
class Constraint:
    """The user's function of one point, for points (n, D); its answers are checked.

    >>> Constraint(lambda theta: theta[0] < theta[1])(np.array([[1.0, 2.0], [2.0, 1.0]]))
    array([ True, False])
    """

    function: Callable[[FloatArray], Any]

    def __call__(self, theta: FloatArray) -> BoolArray:
        """Mask (n,) of the points that are allowed."""
        return np.array([self._holds(point.copy()) for point in theta], dtype=bool)

    def _holds(self, point: FloatArray) -> bool:
        theta = point.tolist()
        try:
            answer = self.function(point)
        except Exception as error:
            raise ValueError(
                f"constraint failed at theta = {theta} with {type(error).__name__}: {error} "
                "(return True or False at every point within the bounds)"
            ) from error
        if np.ndim(answer) != 0 or np.asarray(answer).dtype.kind != "b":
            raise TypeError(
                f"constraint must return True or False, got {answer!r} at theta = {theta} "
                "(compare: lambda theta: theta[0] + theta[1] < 1)"
            )
        return bool(answer)


def check_constraint(constraint: Any) -> Constraint:
    """The constraint, once it is known to be a function."""
    if not callable(constraint):
        raise TypeError(
            "constraint must be a function of theta that returns True where a point is allowed, "
            f"got an object of type {type(constraint).__name__}"
        )
    return Constraint(constraint)


def is_positive(log_prior: Callable[[FloatArray], FloatArray], theta: FloatArray) -> BoolArray:
    """Mask (n,) of points (n, D) where the prior density is positive.

    Where it cannot be computed it is not: such a point is nothing to be proposed or returned.

    >>> is_positive(lambda theta: np.log(theta[:, 0]), np.array([[1.0], [2.0]]))
    array([ True,  True])
    """
    try:
        return np.asarray(log_prior(theta) > -np.inf)
    except Exception:
        if len(theta) == 1:
            return np.zeros(1, dtype=bool)
        return np.concatenate([is_positive(log_prior, point[None]) for point in theta])


def check_room(problem: Problem) -> None:
    """``ValueError`` unless some of the plausible box is allowed."""
    space = problem.space
    x = np.random.default_rng(0).uniform(-0.5, 0.5, (N_TRIES, space.dimension))
    if not (problem.log_prior(space.to_original(x)) > -np.inf).any():
        raise ValueError(
            f"constraint is False, or the prior zero, at all of {N_TRIES} random points of the "
            "plausible box: move the box to where the parameters are allowed"
        )


def warn_where_it_fails(problem: Problem) -> None:
    """``UserWarning`` if the prior cannot be computed somewhere within the hard bounds.

    Tried at random points around the plausible box, and between the hard bounds. In a run points
    where it fails count as ones of zero density, which is what they mostly are.
    """
    if not problem.prior.may_be_zero:
        return
    bounds, rng = problem.space.bounds, np.random.default_rng(0)
    low, high = bounds.plausible_lower, bounds.plausible_upper
    share = rng.random((N_TRIED, len(low)))
    with np.errstate(over="ignore", invalid="ignore"):  # boxes as large as numbers are
        far = REACH * (high - low)
        sides = (
            np.where(np.isfinite(bounds.lower), bounds.lower, low - far),
            np.where(np.isfinite(bounds.upper), bounds.upper, high + far),
        )
        near = low + (high - low) * (2.0 * share[::2] - 0.5)
        points = np.clip(np.vstack([near, sides[0] + (sides[1] - sides[0]) * share[1::2]]), *sides)
    for theta in points[np.isfinite(points).all(axis=1)]:
        try:
            problem.log_prior(theta)
        except Exception as error:
            warnings.warn(
                f"{error}; points where it fails count as ones of zero density (return -inf where "
                "it is zero)",
                UserWarning,
                stacklevel=4,  # at the line where the problem is made
            )
            return
