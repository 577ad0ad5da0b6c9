"""Evaluations beyond the ends of the posterior, along axes that are not known well.

A posterior that has only a piece of a ridge looks like any other from within. Acquisition functions
want values where it has its mass and a little further, where a ridge and a normal hardly differ
under noise; the surrogate goes on with its quadratic, and all that is evaluated bears it out. What
tells them apart is a value further out. So now and then a quadratic is fitted to the evaluations
together (`quell.vbmc.curvature`), and where they allow for an axis of half the curvature that the
posterior has, its end is evaluated: so far out that the posterior's own fall is three SDs of the
noise, and at least three of its SDs. Where the axis is what it was taken for, the value says how
steep the sides are. How this came about, and what it does: docs/experiments/ridges.md.
"""

import numpy as np

from quell.arrays import FloatArray
from quell.gp import TrainingData
from quell.problem import Problem
from quell.vbmc.centre import highest_mean, is_possible, mode_of
from quell.vbmc.curvature import UNKNOWN_VARIANCE, curvature, principal_axes
from quell.vbmc.state import State

#: Evaluations between two of them, in units of D + 2.
EVERY = 2
#: An axis is known if its curvature is larger than this part of the posterior's, by so many SEs.
KNOWN, ERRORS = 0.5, 2.0
#: How far out: SDs of the posterior at least, and SDs of the noise by which it falls.
LEAST_SDS, NOISE_SDS = 3.0, 3.0
#: An end is seen if there is an evaluation this part of the way to it, and no further beside the
#: axis than these squared SDs per coordinate.
SEEN, BESIDE = 0.8, 4.0


def next_end(problem: Problem, state: State, pending: FloatArray) -> FloatArray | None:
    """A point θ (D_full,) beyond an end of the posterior; None if all axes or ends are known.

    ``pending`` (n, D_full) are under evaluation. The posterior has to be found.
    """
    if state.is_searching or state.mixture is None or state.fit is None:
        return None
    apart = EVERY * (state.dimension + 2)
    if state.n_asked % apart != apart // 2:
        return None
    mode = mode_of(state.mixture, highest_mean(state.fit.gp, state.mixture))
    mean, (directions, sds) = mode.mean(), principal_axes(mode.covariance())

    def rounded(x: FloatArray) -> FloatArray:
        return np.asarray((x - mean) @ directions / sds)

    data = state.training.data
    values, vectors, errors = curvature(data, rounded(data.x))
    lowest = values - ERRORS * errors
    known = rounded(np.concatenate([data.x, state.space.to_inference(pending)]))
    far = np.sqrt(max(LEAST_SDS**2, 2.0 * NOISE_SDS * _typical_sd(data)))
    for k in np.argsort(lowest)[: int(np.sum(lowest < KNOWN))]:
        along = known @ vectors[:, k]
        along = along[np.sum(known**2, axis=1) - along**2 < BESIDE * state.dimension]
        reach = {sign: float(np.max(sign * along, initial=0.0)) for sign in (-1.0, 1.0)}
        for sign in sorted(reach, key=lambda sign: reach[sign]):
            end = mean + sign * far * ((directions * sds) @ vectors[:, k])
            theta = problem.snap(state.space.to_original(end[None]))
            if reach[sign] < SEEN * far and is_possible(problem, state, theta):
                return np.asarray(theta[0])
    return None


def _typical_sd(data: TrainingData) -> float:
    variance = np.where(np.isnan(data.variance), UNKNOWN_VARIANCE, data.variance)
    return float(np.sqrt(np.median(variance)))
