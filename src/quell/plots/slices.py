"""The surrogate seen from the user's parameters: the log joint in their units, and the data near.

The surrogate is of the log joint in inference space, which has the log-Jacobian of the map in it;
what is drawn is f(x) − log |∂θ/∂x|.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quell.arrays import BoolArray, FloatArray
from quell.distances import squared_distances
from quell.gp import GaussianProcess
from quell.plots.sources import point_of
from quell.results import Result
from quell.vbmc.support import inside


def slice_point(result: Result, at: Any) -> FloatArray:
    """The point (n_parameters,) that slices go through: given, or the posterior's mode.

    A mapping may leave parameters out: they are at the mode.
    """
    posterior = result.posterior
    mode = posterior.mode()
    if at is None:
        return mode
    point = point_of("at", at, posterior.names)
    point = np.where(np.isnan(point), mode, point)
    fixed = ~posterior.space.free
    point[fixed] = posterior.space.bounds.lower[fixed]
    if not posterior.space.contains(point):
        raise ValueError(f"at must lie within the bounds, got {point.tolist()} (move it inside)")
    return point


def points_along(result: Result, point: FloatArray, values: dict[int, FloatArray]) -> FloatArray:
    """Points (n, n_parameters) equal to ``point`` but for some parameters' ``values`` (n,).

    Values out of bounds are moved just inside.
    """
    n = len(next(iter(values.values())))
    theta = np.tile(point, (n, 1))
    bounds = result.posterior.space.bounds
    for i, column in values.items():
        if not bounds.periodic[i]:
            low, high = bounds.almost_lower[i], bounds.almost_upper[i]
            column = np.clip(column, low, high)
        theta[:, i] = column
    return theta


def log_joint_of_surrogate(
    result: Result, gp: GaussianProcess, theta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and SD (n,) of the log joint at points (n, n_parameters), in the user's units."""
    space = result.solution.space
    x = space.to_inference(theta)
    mean, variance = gp.pooled(x)
    return mean - space.log_jacobian(x), np.sqrt(np.maximum(variance, 0.0))


def in_support(result: Result, theta: FloatArray) -> BoolArray:
    """Which of the points (n, n_parameters) can have a density."""
    solution = result.solution
    mask = np.ones(len(theta), dtype=bool)
    if solution.support is not None:
        mask = inside(solution.support, solution.space, solution.space.to_inference(theta))
    return mask


def distance_to(result: Result, gp: GaussianProcess, line: FloatArray, theta: FloatArray) -> Any:
    """Distances (n,) of points (n, ..) from the nearest of a ``line`` (m, ..), in length scales."""
    space = result.solution.space
    lengths = np.exp(gp.weights @ np.log(gp.hyper.lengths))
    apart = squared_distances(
        space.to_inference(theta) / lengths, space.to_inference(line) / lengths
    )
    return np.sqrt(apart.min(axis=1))
