"""The search for the next point: where the acquisition function is largest, or a way up."""

from functools import partial

import numpy as np

from quell.acquisition import Acquisition, Climb, Situation, by_name, candidates, maximise
from quell.acquisition.climb import ClimbScore
from quell.acquisition.noise import NoiseTable
from quell.acquisition.regularise import Allowed
from quell.arrays import BoolArray, FloatArray
from quell.gp import GaussianProcess
from quell.mixture import Mixture
from quell.problem import Problem
from quell.settings import Settings
from quell.space import InferenceSpace
from quell.variational.islands import within_reach
from quell.vbmc.design import MOST_DRAWS
from quell.vbmc.looks import REACH, failed_points
from quell.vbmc.state import State
from quell.vbmc.support import inside

#: Points under evaluation keep apart by this many SDs of the posterior (root mean square over
#: coordinates).
SMALLEST_DISTANCE = 0.1
#: Of the evaluations made while the posterior is searched for, one in so many climbs.
CLIMB_EVERY = 2
#: If it may lead so much higher than all that is known, in nats; else there is no way up.
WORTH_A_CLIMB = 1.0
#: Points scored in the search for the next one, and climbs from the best of them; chosen for the
#: time they take.
N_CANDIDATES = 128
N_CLIMBS = 1


def search_point(
    rng: np.random.Generator, problem: Problem, state: State, settings: Settings,
    pending: FloatArray, *, checked: bool,
) -> FloatArray | None:  # fmt: skip
    """The point θ (D_full,) that the acquisition function wants; while searching, one further up.

    ``checked``: only among points of the support. None where the posterior is nowhere near it, or
    beyond the bounds as far as floating-point numbers can tell.
    """
    assert state.fit is not None
    assert state.mixture is not None
    gp = state.fit.gp
    # Where the training set was just trimmed the surrogate still knows all of it.
    single_sd = state.training.single_sd if state.training.data.size == gp.data.size else None
    noise = NoiseTable.of(gp, single_sd)
    pending = state.space.to_inference(pending)
    gp = with_expected_values(gp, pending, _expected_sd(gp))
    gp = gp.append_pending(avoided(state), 0.0)
    within = None
    if checked and state.support is not None:
        within = partial(inside, state.support, state.space)
    situation = Situation(gp, state.mixture, noise, within)
    climbing = (
        settings.climb
        and isinstance(settings.acquisition, str)
        and state.is_searching
        and state.n_asked % CLIMB_EVERY == 0
    )
    acquisition = acquisition_of(settings)
    score = (Climb() if climbing else acquisition).prepare(rng, situation)
    snap = partial(_snapped, problem, state.space) if problem.has_integers else None
    for _ in range(MOST_DRAWS):
        tried = candidates(rng, situation, state.box, N_CANDIDATES)
        tried = tried if snap is None else snap(tried)
        allowed = _allowed(problem, state, pending, tried, within)
        if allowed(tried).any():
            break
    else:
        return None
    best = partial(maximise, box=state.box, candidates=tried, n_starts=N_CLIMBS, snap=snap)
    if isinstance(score, ClimbScore):
        in_reach = _in_reach(state.mixture, allowed)
        if in_reach(tried).any():
            found = best(score, allowed=in_reach)
            if found.value > score.top + WORTH_A_CLIMB:
                return problem.snap(state.space.to_original(found.x))
        score = acquisition.prepare(rng, situation)
    found = best(score, allowed=allowed)
    return problem.snap(state.space.to_original(found.x))


def _in_reach(mixture: Mixture, allowed: Allowed) -> Allowed:
    """Which of the points that are allowed are in reach of the posterior; looks are at others."""

    def near(x: FloatArray) -> BoolArray:
        return allowed(x) & within_reach(mixture, x, REACH)

    return near


def _snapped(problem: Problem, space: InferenceSpace, x: FloatArray) -> FloatArray:
    """The points (n, D) of inference space where points near x (n, D) are evaluated."""
    return space.to_inference(problem.snap(space.to_original(x)))


def with_expected_values(gp: GaussianProcess, places: FloatArray, sd: float) -> GaussianProcess:
    """The surrogate as if all of the ``places`` (n, D) had given what is expected of them.

    The variance falls as it will whatever the values are. The expected value leaves the pooled
    mean where it is, and makes the hyperparameter samples agree there: their disagreement is part
    of the uncertainty that attracted the point, and would attract the next one.
    """
    return gp.append(places, gp.pooled(places)[0], sd) if len(places) else gp


def _allowed(
    problem: Problem, state: State, pending: FloatArray, tried: FloatArray, within: Allowed | None
) -> Allowed:
    """Which points (n, D) may be evaluated: ``within``, clear of bounds, apart from pending.

    Where all that are ``tried`` are too close to pending ones, as integers may have to be, any
    distance will do.
    """

    def clear(x: FloatArray) -> BoolArray:
        is_clear = np.asarray(state.space.clear_of_bounds(state.space.to_original(x)))
        return is_clear if within is None else is_clear & within(x)

    if not len(pending) or problem.has_integers:
        return clear
    assert state.mixture is not None
    scale = SMALLEST_DISTANCE * np.sqrt(state.mixture.covariance().diagonal())

    def apart(x: FloatArray) -> BoolArray:
        offsets = (x[:, None, :] - pending) / scale
        return clear(x) & np.all(np.mean(offsets**2, axis=2) > 1.0, axis=1)

    return apart if apart(tried).any() else clear


def avoided(state: State) -> FloatArray:
    """Points (n, D) that failed for no known reason.

    As exact observations without a value they leave every mean alone, and nothing to be learnt
    in their neighbourhood, which repels the search.
    """
    return state.space.to_inference(failed_points(state.evaluations))


def _expected_sd(gp: GaussianProcess) -> float:
    """Noise expected of a point without value; unknown where some of the data's is."""
    return float(np.sqrt(np.median(gp.data.variance)))


def acquisition_of(settings: Settings) -> Acquisition:
    """The acquisition function the settings name."""
    if not isinstance(settings.acquisition, str):
        return settings.acquisition
    return by_name(settings.acquisition)
