"""Looks at an edge that was found: where exactly is it?

Between the two sides of an edge that the evaluations tell of (`quell.vbmc.found_edge`) is a gap in
which nobody knows on which side a point is. A surrogate that is sure of the density there asks for
no evaluation, but the mass that lies in the gap is in doubt: if a share g of the posterior is in
its inner half, the whole may be anything between 1 - g and 1 + g of what it is taken for, an SD of
g/√3 if all of that is as likely.

While this is more than what the surrogate does not know, the SD of the ELBO, every other evaluation
is made at a draw in the gap. Each of them moves one of its two sides.
"""

from dataclasses import replace

import numpy as np

from quell.acquisition.draws import mixture_draws
from quell.arrays import FloatArray
from quell.evaluations import Evaluations
from quell.problem import Problem
from quell.vbmc.found_edge import FoundSupport
from quell.vbmc.state import Solution, State
from quell.vbmc.training_set import support_from

#: Draws from the mixture that look for doubtful ones.
N_DRAWS = 256


def next_at_edge(
    rng: np.random.Generator, problem: Problem, state: State, pending: FloatArray
) -> FloatArray | None:
    """A point θ (D_full,) in the gap between the sides of an edge; None if no more is needed.

    ``pending`` (n, D_full) are under evaluation.
    """
    if state.found is None or state.mixture is None or not state.history or state.n_asked % 2:
        return None
    space = state.space
    theta = problem.snap(space.to_original(mixture_draws(rng, N_DRAWS, state.mixture)))
    if doubt(state.found, theta) <= state.history[-1].elbo_sd:
        return None
    possible = state.found.undecided(theta) & space.clear_of_bounds(theta)
    possible &= problem.log_prior(theta) > -np.inf
    known = np.concatenate([state.evaluations.theta, pending])
    possible &= ~(theta[:, None, :] == known).all(axis=2).any(axis=1)
    places = np.flatnonzero(possible)
    return theta[rng.choice(places)] if len(places) else None


def doubt(found: FoundSupport, theta: FloatArray) -> float:
    """SD of the log of the mass, for all that is not known of the edges, given draws θ (n, D)."""
    theta = theta[found(theta)]
    return float(found.undecided(theta).mean() / np.sqrt(3.0)) if len(theta) else np.inf


def doubt_of(solution: Solution, x: FloatArray) -> float:
    """The same of a solution, given draws x (n, D) in its space; 0 where no edge was found."""
    if not isinstance(solution.support, FoundSupport):
        return 0.0
    return doubt(solution.support, solution.space.to_original(x))


def with_latest_edges(solution: Solution, evaluations: Evaluations) -> Solution | None:
    """A solution that ends at edges found, with these where all evaluations say that they are.

    None if they say that there are none: the solution has been contradicted.
    """
    found = solution.support
    if not isinstance(found, FoundSupport):
        return solution
    latest = support_from(evaluations, found.given, solution.space, noisy=found.noisy, before=found)
    return None if latest is None else replace(solution, support=latest)
