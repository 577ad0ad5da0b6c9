"""The surrogate seen from the user's parameters: the log joint in their units, and the data near.

The surrogate is of the log joint in inference space, which has the log-Jacobian of the map in it;
what is drawn is f(x) − log |∂θ/∂x|.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from quell.arrays import BoolArray, FloatArray
from quell.distances import squared_distances
from quell.gp import GaussianProcess
from quell.plots.ranges import Range, range_of
from quell.plots.sources import point_of
from quell.plots.style import Z95
from quell.results import Result
from quell.vbmc.low_values import resolved_depth
from quell.vbmc.support import inside

#: Points of a slice.
N_POINTS = 200
#: A slice is so much wider than the range of the posterior, on both sides.
WIDER = 0.3
#: Evaluations shown with a slice at most, and how far they may be from it, in length scales.
MOST_NEAR, FURTHEST = 15, 1.0


@dataclass(frozen=True, eq=False)
class Slice:
    """The log joint along one parameter, through one point.

    At the ``values`` (n,), which are points ``theta`` (n, D): ``mean`` and ``sd`` (n,) of the
    surrogate, nan outside of the support, and ``answer`` (n,), posterior times evidence.
    ``dimension`` is the number of free parameters.
    """

    shown: Range
    values: FloatArray
    theta: FloatArray
    mean: FloatArray
    sd: FloatArray
    answer: FloatArray
    dimension: int

    @property
    def limits(self) -> tuple[float, float] | None:
        """As far down as differences matter, and up to the band where the curve is high."""
        depth = resolved_depth(self.dimension)
        either = np.fmax(self.mean, self.answer)
        if not np.isfinite(either).any():
            return None
        top = float(np.nanmax(either))
        high = self.mean > top - depth
        if not np.isfinite(top) or not high.any():
            return None
        upper = max(top, float(np.nanmax((self.mean + Z95 * self.sd)[high])))
        upper = min(upper, top + depth)
        lower = float(np.nanmin((self.mean - Z95 * self.sd)[high]))
        lower = max(lower, top - depth)
        room = 0.08 * max(upper - lower, 0.1)
        return lower - room, upper + room


def slice_along(result: Result, gp: GaussianProcess, i: int, point: FloatArray) -> Slice:
    """The slice along the parameter ``i`` through ``point`` (D,)."""
    posterior = result.posterior
    shown = range_of([posterior], posterior.names[i], point[i : i + 1], wider=WIDER)
    values = shown.integers() if shown.integer else shown.spread(N_POINTS)
    theta = points_along(result, point, {i: values})
    mean, sd = log_joint_of_surrogate(result, gp, theta)
    mean = np.where(in_support(result, theta), mean, np.nan)
    evidence = result.log_evidence if np.isfinite(result.log_evidence) else result.elbo
    answer = posterior.log_density(theta) + evidence
    answer = np.where(np.isfinite(answer), answer, np.nan)
    return Slice(shown, values, theta, mean, sd, answer, posterior.space.dimension)


@dataclass(frozen=True, eq=False)
class Nearby:
    """Evaluations near a slice, repeated ones as their mean: where they are drawn, (n,) each.

    ``distance`` is from 0 to 1, as far as any may be.
    """

    x: FloatArray
    log_joint: FloatArray
    sd: FloatArray
    distance: FloatArray


def near_slice(result: Result, gp: GaussianProcess, along: Slice, most: int = MOST_NEAR) -> Nearby:
    """At most so many evaluations, the nearest first."""
    merged = result.evaluations.merge_duplicates()
    distance = distance_to(result, gp, along.theta, merged.theta)
    rows = np.argsort(distance, kind="stable")[: max(0, most)]
    rows = rows[distance[rows] < FURTHEST]
    unknown = gp.hyper.unknown_variance
    fitted = 0.0 if unknown is None else float(np.sqrt(gp.weights @ unknown))
    sd = np.where(np.isnan(merged.sd), fitted / np.sqrt(merged.count), merged.sd)
    x = along.shown.place(merged.theta[:, along.shown.parameter])
    return Nearby(x[rows], merged.log_joint[rows], sd[rows], distance[rows] / FURTHEST)


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
