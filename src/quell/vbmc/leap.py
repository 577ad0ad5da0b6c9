"""A leap to where a law of the log-likelihood says that the posterior is.

While the posterior is searched for, a law (`quell.vbmc.law`) is fitted to all evaluations at the
end of every iteration. Where it predicts each of them from the others clearly better than the
surrogate does, it is followed as far as it is borne out:

1. *Its mode is evaluated*, once an iteration, if it promises more than was seen.
2. *Draws from the normal around it are evaluated* once there are evaluations there which it got
   right; every other time only, as long as it does not know the curvature in all directions.
3. *The run goes on from that normal*, in coordinates in which it is round and with what is known
   near it, when the curvature is known and there are 2D + 1 evaluations there.

A law that is wrong costs an evaluation per iteration while it promises something. A surrogate along
the axes of the plausible box does not find a posterior 10⁵ times thinner than that and askew to it,
nor, when shown its mode, how it lies; docs/experiments/searching.md has what came out.
"""

from dataclasses import replace

import numpy as np

from quell.acquisition import SearchBox
from quell.arrays import FloatArray
from quell.gp.leaving_out import left_out_errors
from quell.gp.marginal import LOG_2PI
from quell.mixture import Mixture
from quell.mixture.divergence import gaussian_skl
from quell.problem import Problem
from quell.settings import Settings
from quell.space import InferenceSpace
from quell.vbmc.centre import is_possible
from quell.vbmc.coordinates import Carried, change_coordinates
from quell.vbmc.law import Law, Lead, fit_law
from quell.vbmc.low_values import resolved_depth
from quell.vbmc.refit import refit
from quell.vbmc.softening import softness_for
from quell.vbmc.state import Action, State
from quell.vbmc.warmup import end_warmup

#: Standard errors by which a law must predict better.
CLEARLY = 2.0
#: A law is right about evaluations if it is off by less than this, in SDs of their noise and a nat.
RIGHT = 2.0
#: Steps by which the coordinates at the mode are found, in SDs of the normal there.
STEP = 1e-2
#: One evaluation in so many is a draw from a law that does not know all curvatures.
DRAW_EVERY = 2
#: Draws that are made to find one that can be evaluated.
MOST_DRAWS = 50
N_DRAWS = 2000
#: The search box reaches so many times as far as the log density is worth resolving. The plausible
#: box may be 10⁵ SDs wide, and where an exact target leaves nothing to learn the search would go on
#: into the void.
BOX_SDS = 2.0
#: A posterior that differs from the law's normal by a smaller gsKL has nothing to gain.
SAME = 1.0
#: The mode of a law is evaluated where no evaluation is nearer than this (root mean square over the
#: parameters, in SDs of the normal there).
NEAR = 0.2


def next_leap(
    rng: np.random.Generator, problem: Problem, state: State, pending: FloatArray
) -> FloatArray | None:
    """A point θ (D_full,) where a law says that the posterior is; None if nothing is to be learnt.

    ``pending`` (n, D_full) are under evaluation.
    """
    lead = state.lead
    if lead is None:
        return None
    law, free = lead.law, state.space.free
    if lead.is_borne_out and not law.is_complete and state.n_asked % DRAW_EVERY:
        return None
    if lead.is_borne_out:
        drawn = law.sample(rng, MOST_DRAWS)
    else:
        drawn = law.plain.inverse(law.mode[None])
        known = np.concatenate([state.evaluations.theta, pending])[:, free]
        if np.min(law.distances(known)) < NEAR**2 * state.dimension:
            return None
    points = _full(state.space, drawn)
    for theta in points[state.space.contains(points)]:
        theta = problem.snap(theta[None])
        if is_possible(problem, state, theta):
            return np.asarray(theta[0])
    return None


def follow_law(rng: np.random.Generator, state: State, settings: Settings) -> State:
    """The state with a law to follow, if there is one worth it; or after the leap to its mode."""
    state = replace(state, lead=None)
    law, theta, y, sd = _fitted(state)
    if law is None or not is_within_bounds(law, state.space) or not predicts_better(law, state):
        return state
    near = law.is_near(theta)
    off = np.abs(y - law.value(theta)) / np.sqrt(sd**2 + 1.0)
    if near.any() and np.median(off[near]) < RIGHT:
        space = space_of(rng, state, law)
        if not tells_something_new(state, law, space):
            return state
        if law.is_complete and near.sum() >= (2 * state.dimension + 1) * 2**state.refused_leaps:
            return leap(rng, state, law, space, settings)
        return replace(state, lead=Lead(law, is_borne_out=True))
    promises = law.top - law.error > np.max(y - sd)
    return replace(state, lead=Lead(law, is_borne_out=False)) if promises else state


def _fitted(state: State) -> tuple[Law | None, FloatArray, FloatArray, FloatArray]:
    """The law, and the points θ (n, D), values and SDs (n,) that it is fitted to."""
    table, last = state.evaluations, state.history[-1].solution
    rows = state.training.rows
    rows = rows[np.isfinite(table.log_joint[rows])]
    theta, y = table.theta[rows][:, state.space.free], table.log_joint[rows]
    sd = np.where(np.isnan(table.sd[rows]), last.unknown_sd, table.sd[rows] * state.noise_scale)
    return fit_law(state.space.bounds, theta, y, sd), theta, y, sd


def predicts_better(law: Law, state: State) -> bool:
    """Whether a law predicts each evaluation from the others better than the surrogate does.

    By more than two standard errors of the difference.
    """
    assert state.fit is not None
    error, sd = left_out_errors(state.fit.gp)
    densities = -0.5 * (error / sd) ** 2 - np.log(sd) - 0.5 * LOG_2PI
    if state.training.log_slopes is not None:
        densities = densities + state.training.log_slopes
    found = np.isfinite(state.evaluations.log_joint[state.training.rows])
    gain = law.scores - densities[found]
    return bool(gain.sum() > CLEARLY * np.sqrt(len(gain)) * gain.std())


def space_of(rng: np.random.Generator, state: State, law: Law) -> InferenceSpace:
    """The space in which the law's normal is round, its bounded parameters linear around it."""
    space = state.space
    drawn = _full(space, law.sample(rng, N_DRAWS))
    drawn = np.clip(drawn, space.almost_lower, space.almost_upper)
    v = space.to_inference(drawn) * space.scales @ space.rotation.T
    softness = softness_for(space, drawn[:, space.free], v, space.softness)
    if softness is not None:
        space = space.with_softness(softness)
    x = space.to_inference(_full(space, _around(law)))
    d = state.dimension
    spreads = (x[:d] - x[d:]) / (2.0 * STEP)
    return space.whitened(spreads.T @ spreads)


def _around(law: Law) -> FloatArray:
    """Points θ (2D, D) a small step away from the mode, up and down along every axis."""
    steps = STEP * np.concatenate([law.root.T, -law.root.T])
    return law.plain.inverse(law.mode + steps)


def is_within_bounds(law: Law, space: InferenceSpace) -> bool:
    """Whether the mode of a law can be evaluated, and all around it."""
    points = _full(space, _around(law))
    return bool(np.isfinite(points).all() and space.clear_of_bounds(points).all())


def _full(space: InferenceSpace, theta: FloatArray) -> FloatArray:
    """All parameters (n, D_full) for points (n, D) of the free ones."""
    full = np.tile(space.bounds.lower, (len(theta), 1))
    full[:, space.free] = theta
    return full


def _mode(space: InferenceSpace, law: Law) -> FloatArray:
    """The mode (1, D) of a law in a space."""
    return space.to_inference(_full(space, law.plain.inverse(law.mode[None])))


def tells_something_new(state: State, law: Law, space: InferenceSpace) -> bool:
    """Whether the law's normal is another posterior than the one there is."""
    assert state.mixture is not None
    carried = Carried.of(state.mixture, state.space, space)
    if not carried.is_finite:
        return True
    identity = np.eye(state.dimension)
    return gaussian_skl(carried.mean(), carried.covariance(), _mode(space, law)[0], identity) > SAME


def leap(
    rng: np.random.Generator, state: State, law: Law, space: InferenceSpace, settings: Settings
) -> State:
    """The state after warm-up, at the law's normal.

    Or as it is, if the surrogate there promises more than was seen. The likelihood of observations
    is no judge here: those near the mode alone are as likely in coordinates that know nothing of
    the law, and all of them have been predicted better by the law.
    """
    moved = change_coordinates(rng, end_warmup(state), space, full_refit=True)
    mode = _mode(space, law)
    normal = Mixture(np.ones(1), mode, np.ones(1), np.ones(state.dimension))
    reach = BOX_SDS * np.sqrt(2.0 * resolved_depth(state.dimension))
    box = SearchBox(mode[0] - reach, mode[0] + reach)
    moved = replace(moved, memory=None, mixture=normal, box=box)
    after = refit(rng, moved, settings, action=Action.LEAPT)
    if after.history[-1].believable:
        return after
    return replace(state, refused_leaps=state.refused_leaps + 1)
