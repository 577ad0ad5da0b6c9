"""The two steps of the algorithm: propose the next point, absorb the answer.

A run alternates them; between the two the target is evaluated, wherever that is. ``propose`` looks
at the state only; ``absorb`` updates it, after every evaluation a little and after every
``batch`` of them thoroughly.
"""

from dataclasses import dataclass, replace

import numpy as np

from quell.acquisition import SearchBox, expand_box
from quell.arrays import FloatArray
from quell.evaluations import Evaluations, Origin
from quell.problem import Problem
from quell.settings import Settings
from quell.variational import fit_mixture
from quell.vbmc.centre import next_centre
from quell.vbmc.design import SMALLEST_DESIGN, first_points, random_points
from quell.vbmc.doubt import (
    doubts_at_arrival,
    next_again,
    rows_aside,
    with_audit,
    with_worst_doubted,
)
from quell.vbmc.edge_looks import next_at_edge
from quell.vbmc.ends import next_end
from quell.vbmc.leap import next_leap
from quell.vbmc.looks import low_looks, next_look, with_looks_counted
from quell.vbmc.search_point import search_point
from quell.vbmc.settle import MOST_ITERATIONS, are_all_given, iterations_owed, settle
from quell.vbmc.state import State
from quell.vbmc.surprise import is_surprising
from quell.vbmc.training import fit_after_surprise, quick_fit, refit_is_due
from quell.vbmc.training_set import TrainingSet
from quell.vbmc.update import end_iteration
from quell.vbmc.warmup import n_steps, trimming_depth

#: Different points with a value without which nothing can be fitted.
FEWEST_DISTINCT = 2
#: The search box has at least the plausible box and twice its width on both sides.
BOX_HALF_WIDTH = 2.5
#: The mixture's fit within an iteration, chosen for the time it takes.
QUICK_STARTS, QUICK_ITERATIONS, QUICK_BASE, QUICK_SCORING = 3, 15, (128,), 256


@dataclass(frozen=True, eq=False)
class Proposal:
    """A point θ (D_full,) to evaluate, in the user's parameters, and why."""

    theta: FloatArray
    origin: Origin


def initial_state(
    rng: np.random.Generator, problem: Problem, starts: FloatArray, evaluations: Evaluations,
    *, noisy: bool, look_around: bool = True,
) -> State:  # fmt: skip
    """The state before the first evaluation.

    ``starts`` (n, D_full) are evaluated first; the design is filled up with points spread over the
    plausible box of inference space, or without ``look_around`` drawn there. The search box has the
    plausible box, twice its width on both sides, and all starts and evaluations there are.
    """
    space = problem.space
    size = max(space.dimension, SMALLEST_DESIGN)
    n_random = max(0, size - len(starts) - evaluations.n_distinct)
    half = np.full(space.dimension, BOX_HALF_WIDTH)
    box = SearchBox(-half, half)
    known = space.to_inference(np.concatenate([starts, evaluations.theta[evaluations.ok]]))
    if len(known):
        box = expand_box(expand_box(box, known.min(axis=0)), known.max(axis=0))
    trimmed = np.zeros(len(evaluations), dtype=bool)
    if look_around:
        drawn = first_points(rng, problem, space, n_random, known)
    else:
        drawn = random_points(rng, problem, space, n_random)
    return State(
        space=space,
        noisy=noisy,
        noise_guess=problem.noise_guess,
        design=np.concatenate([starts, drawn]),
        n_starts=len(starts),
        evaluations=evaluations,
        trimmed=trimmed,
        training=TrainingSet.of(evaluations, trimmed, space, noisy=noisy),
        support=problem.support,
        given=problem.support,
        box=box,
        plausible_range=np.ones(space.dimension),
    )


def propose(
    rng: np.random.Generator, problem: Problem, state: State, settings: Settings,
    pending: FloatArray,
) -> Proposal:  # fmt: skip
    """The next point to evaluate, while those ``pending`` (n, D_full) are under evaluation."""
    if state.n_asked < len(state.design):
        origin = Origin.START if state.n_asked < state.n_starts else Origin.DESIGN
        return Proposal(state.design[state.n_asked], origin)
    if state.fit is None or state.mixture is None:
        # More points are wanted than the design has, before there is enough for a fit.
        return Proposal(random_points(rng, problem, state.space, 1)[0], Origin.DESIGN)
    if settings.robust:
        again = next_again(state, pending)
        if again is not None:
            return Proposal(again, Origin.AGAIN)
    theta = next_leap(rng, problem, state, pending)
    if theta is not None:
        return Proposal(theta, Origin.SEARCH)
    if settings.look_around:
        theta = next_centre(problem, state, pending)
        if theta is not None:
            return Proposal(theta, Origin.SEARCH)
        theta = next_end(problem, state, pending)
        if theta is not None:
            return Proposal(theta, Origin.SEARCH)
        theta = next_look(rng, problem, state, pending)
        if theta is not None:
            return Proposal(theta, Origin.LOOK)
    theta = next_at_edge(rng, problem, state, pending)
    if theta is not None:
        return Proposal(theta, Origin.SEARCH)
    # Beside the edge of a support every point is checked; elsewhere the one that is found will do.
    theta = search_point(rng, problem, state, settings, pending, checked=state.cuts is not None)
    if theta is not None and state.support is not None and not state.support(theta[None])[0]:
        theta = search_point(rng, problem, state, settings, pending, checked=True)
    if theta is None:
        return Proposal(random_points(rng, problem, state.space, 1)[0], Origin.DESIGN)
    return Proposal(theta, Origin.SEARCH)


def absorb(
    rng: np.random.Generator, state: State, settings: Settings, evaluations: Evaluations
) -> State:
    """The state after new rows of ``evaluations``, which replaces the state's table."""
    new = len(evaluations) - len(state.evaluations)
    state = with_looks_counted(rng, state, evaluations)
    surprised = settings.whitening_schedule != "paper" and is_surprising(state, evaluations)
    trimmed = np.append(state.trimmed, np.zeros(new, dtype=bool))
    doubted, aside_rows = state.doubted, state.aside_rows
    if settings.robust and state.noisy:
        doubted = (*doubted, *doubts_at_arrival(state, evaluations))
        surprised &= doubted == state.doubted  # what may be wrong is no surprise yet
        trimmed[list(aside_rows)] = False
        aside_rows = rows_aside(state, evaluations, doubted)
    aside = np.zeros(len(evaluations), dtype=bool)
    aside[list(aside_rows)] = True
    trimmed |= low_looks(evaluations, trimming_depth(state, over=not state.warmup), aside)
    state = state.with_data(
        evaluations=evaluations,
        trimmed=trimmed | aside,
        doubted=doubted,
        aside_rows=aside_rows,
        in_iteration=state.in_iteration + n_steps(evaluations.origin[-new:] if new else ()),
    )
    for theta in evaluations.theta[len(evaluations) - new :]:
        x = state.space.to_inference(theta)
        state = replace(state, box=expand_box(state.box, x))
    first = state.fit is None
    if first and not enough_for_a_fit(state):
        return state
    if surprised or (not first and state.in_iteration < settings.batch):
        state = quick_update(rng, state, settings, surprised=surprised)
    if not first and state.in_iteration < settings.batch:
        return state
    design = max(state.dimension, SMALLEST_DESIGN) if first else None
    owed = iterations_owed(state, settings.batch, design)
    state = settle(rng, end_iteration(rng, state, settings), settings, owed - 1)
    return with_audit(with_worst_doubted(state)) if settings.robust else state


def enough_for_a_fit(state: State) -> bool:
    """Whether the design is evaluated, or points of the user's own make up for it.

    Until there are two different points without failure, random ones follow the design.
    """
    table = state.evaluations
    n_distinct, n_user = table.n_distinct, table.origin.count(Origin.USER)
    designed = table.n_counted - n_user >= len(state.design)
    made_up = n_user > 0 and n_distinct >= max(state.dimension, SMALLEST_DESIGN)
    return n_distinct >= FEWEST_DISTINCT and (designed or made_up)


def quick_update(
    rng: np.random.Generator, state: State, settings: Settings, *, surprised: bool = False
) -> State:
    """Within an iteration: the new values in the surrogate, and a quick refit if asked for.

    After a surprise the hyperparameters are searched for, and the mixture follows, in any case.
    """
    fit = (fit_after_surprise if surprised else quick_fit)(rng, state, settings)
    if not (surprised or refit_is_due(state, settings)):
        return replace(state, fit=fit)
    quick = fit_mixture(
        rng, fit.gp, state.mixture, n_starts=QUICK_STARTS, weights=not state.warmup,
        prune=False, base_sizes=QUICK_BASE, scoring_size=QUICK_SCORING,
        max_iterations=QUICK_ITERATIONS,
    )  # fmt: skip
    return replace(state, fit=fit, mixture=quick.mixture)


def close_iteration(rng: np.random.Generator, state: State, settings: Settings) -> State:
    """End an iteration early, so that the last few evaluations count too.

    Where all evaluations are the user's own there is more to do, however few they are.
    """
    if state.fit is None:
        return state
    if not state.history or len(state.evaluations) > state.history[-1].n_evaluations:
        state = end_iteration(rng, state, settings)
    if are_all_given(state.evaluations):
        state = settle(rng, state, settings, MOST_ITERATIONS)
    return state
