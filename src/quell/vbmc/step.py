"""The two steps of the algorithm: propose the next point, absorb the answer.

A run alternates them; between the two the target is evaluated, by whomever. ``propose`` looks
at the state only; ``absorb`` updates it, after every evaluation a little and after every
``batch`` of them thoroughly.
"""

import time
from dataclasses import replace

import numpy as np

from quell.acquisition import (
    Acquisition,
    SearchBox,
    Situation,
    by_name,
    candidates,
    expand_box,
    maximise,
)
from quell.checks import FloatArray
from quell.evaluations import Evaluations
from quell.gp import GaussianProcess
from quell.problem import Problem
from quell.settings import Settings
from quell.variational import fit_mixture
from quell.vbmc.state import State
from quell.vbmc.training import quick_fit, training_set
from quell.vbmc.update import end_iteration

SMALLEST_DESIGN = 10
#: The search box is the plausible box and twice its width on both sides.
BOX_HALF_WIDTH = 2.5
N_CANDIDATES = 256
N_CLIMBS = 1
QUICK_STARTS, QUICK_ITERATIONS, QUICK_BASE, QUICK_SCORING = 3, 15, (128,), 256


def initial_state(
    rng: np.random.Generator, problem: Problem, starts: FloatArray, evaluations: Evaluations,
    *, noisy: bool,
) -> State:  # fmt: skip
    """The state before the first evaluation.

    ``starts`` (n, D_full) are evaluated first; the design is filled up with uniform draws in
    the plausible box of inference space.
    """
    space = problem.space
    size = max(space.dimension, SMALLEST_DESIGN)
    n_given = int(evaluations.ok.sum())
    n_random = max(0, size - len(starts) - n_given)
    drawn = problem.snap(space.to_original(rng.uniform(-0.5, 0.5, (n_random, space.dimension))))
    half = np.full(space.dimension, BOX_HALF_WIDTH)
    return State(
        space=space,
        noisy=noisy,
        design=np.concatenate([starts, drawn]),
        evaluations=evaluations,
        trimmed=np.zeros(len(evaluations), dtype=bool),
        box=SearchBox(-half, half),
        plausible_range=np.ones(space.dimension),
    )


def propose(
    rng: np.random.Generator, problem: Problem, state: State, settings: Settings
) -> FloatArray:
    """The next point to evaluate, (D_full,) in the user's parameters."""
    asked = sum(origin not in ("given", "check") for origin in state.evaluations.origin)
    n_taken = asked + len(state.pending)
    if n_taken < len(state.design):
        return state.design[n_taken]
    if state.fit is None or state.mixture is None:
        # More points are wanted than the design has, before any value is known.
        x = rng.uniform(-0.5, 0.5, state.dimension)
        return problem.snap(state.space.to_original(x))
    _, _, single_sd = training_set(state, settings)
    gp = state.fit.gp
    single_sd = single_sd if len(single_sd) == gp.data.size else None
    for place in avoided(state):
        gp = gp.append_pending(place, _expected_sd(gp))
    situation = Situation.of(gp, state.mixture, single_sd)
    score = acquisition_of(settings, state.noisy).prepare(rng, situation)
    found = maximise(
        score,
        state.box,
        candidates(rng, situation, state.box, N_CANDIDATES),
        n_starts=N_CLIMBS,
        allowed=lambda x: state.space.clear_of_bounds(state.space.to_original(x)),
        snap=(lambda x: state.space.to_inference(problem.snap(state.space.to_original(x))))
        if problem.has_integers
        else None,
    )
    return problem.snap(state.space.to_original(found.x))


def avoided(state: State) -> FloatArray:
    """Points (n, D) with a place but no value: under evaluation, or failed for no known reason.

    In the surrogate's covariance they repel the search and leave every mean alone.
    """
    table = state.evaluations
    failed = table.theta[~table.ok & ~table.zero_density]
    places = np.concatenate([failed, *(point[None] for point in state.pending)])
    return state.space.to_inference(places)


def _expected_sd(gp: GaussianProcess) -> float:
    """Noise expected of a point without value; unknown where some of the data's is."""
    return float(np.sqrt(np.median(gp.data.variance)))


def acquisition_of(settings: Settings, noisy: bool) -> Acquisition:
    """The acquisition function the settings name."""
    if not isinstance(settings.acquisition, str):
        return settings.acquisition
    if settings.acquisition == "auto":
        return by_name("viqr" if noisy else "pro")
    return by_name(settings.acquisition)


def absorb(
    rng: np.random.Generator, problem: Problem, state: State, settings: Settings,
    evaluations: Evaluations,
) -> State:  # fmt: skip
    """The state after new rows of ``evaluations``, which replaces the state's table."""
    started = time.process_time()
    new = len(evaluations) - len(state.evaluations)
    state = replace(
        state,
        evaluations=evaluations,
        trimmed=np.append(state.trimmed, np.zeros(new, dtype=bool)),
        in_iteration=state.in_iteration + new,
    )
    for theta in evaluations.theta[len(evaluations) - new :]:
        if state.fit is not None:
            x = state.space.to_inference(theta)
            state = replace(state, box=expand_box(state.box, x))
    if state.fit is None:
        enough = evaluations.n_counted >= len(state.design) and evaluations.ok.sum() >= 2
        if not enough:
            return state
        return end_iteration(rng, state, settings, problem.noise_guess, started)
    if state.in_iteration >= settings.batch:
        return end_iteration(rng, state, settings, problem.noise_guess, started)
    return quick_update(rng, problem, state, settings)


def quick_update(
    rng: np.random.Generator, problem: Problem, state: State, settings: Settings
) -> State:
    """Within an iteration: the new values in the surrogate, and a quick refit if asked for."""
    data, _, _ = training_set(state, settings)
    fit = quick_fit(rng, state, data, settings, problem.noise_guess)
    if not state.frequent:
        return replace(state, fit=fit)
    quick = fit_mixture(
        rng, fit.gp, state.mixture, n_starts=QUICK_STARTS, weights=not state.warmup,
        prune=False, base_sizes=QUICK_BASE, scoring_size=QUICK_SCORING,
        max_iterations=QUICK_ITERATIONS,
    )  # fmt: skip
    return replace(state, fit=fit, mixture=quick.mixture)


def close_iteration(
    rng: np.random.Generator, problem: Problem, state: State, settings: Settings
) -> State:
    """End an iteration early, so that the last few evaluations count too."""
    if state.fit is None or state.in_iteration == 0:
        return state
    return end_iteration(rng, state, settings, problem.noise_guess, time.process_time())
