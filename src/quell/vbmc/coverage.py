"""How much of the plausible box was never looked at.

By its length scales the surrogate knows how far an evaluation is seen: at a place far from all of
them its SD is that of its prior, whatever their values were. The share of the plausible box where
that is nearly so is the room left for what no evaluation could have shown, another mode for one. It
looks at places and length scales alone: neither at the noise, nor at how low the surrogate expects
the log joint to be there.
"""

from collections.abc import Sequence

import numpy as np

from quell.arrays import FloatArray
from quell.distances import squared_distances
from quell.evaluations import Evaluations
from quell.vbmc.looks import plausible_places
from quell.vbmc.state import Action, Iteration, Overview, State
from quell.vbmc.subset import MOST_POINTS

#: A place is unseen where this part of the prior SD is left, or more.
UNSEEN_SD = 0.5
N_PLACES = 512
#: Added to the correlation of every point with itself, for the sake of rounding.
NUGGET = 1e-6


def unseen_share(rng: np.random.Generator, state: State) -> float:
    """The share of the plausible box that no evaluation has shown; nan before there is a surrogate.

    By the length scales of warm-up, when all of the box counts, averaged over their samples.
    """
    overview = state.overview if state.overview is not None else Overview.of(state)
    if overview is None:
        return float("nan")
    return unseen_by(rng, overview, state.evaluations)


def overview_of(history: Sequence[Iteration]) -> Overview:
    """The overview of a run that has come so far: of the end of warm-up, or of now."""
    ends = [it for it in history if it.action == Action.END_OF_WARMUP]
    solution = (ends or history)[-1].solution
    return Overview(solution.space, solution.theta, solution.weights)


def unseen_by(rng: np.random.Generator, overview: Overview, evaluations: Evaluations) -> float:
    """The share of the plausible box that these evaluations have not shown."""
    space = overview.space
    seen = evaluations.ok | evaluations.zero_density
    known = np.unique(space.to_inference(evaluations.theta[seen]), axis=0)
    if len(known) > MOST_POINTS:
        known = known[np.linspace(0, len(known) - 1, MOST_POINTS).astype(np.intp)]
    places = plausible_places(rng, space, N_PLACES)
    lengths = np.exp(overview.theta[:, : space.dimension])
    shares = [np.mean(variance_left(known, places, own) > UNSEEN_SD**2) for own in lengths]
    return float(overview.weights @ shares)


def variance_left(known: FloatArray, places: FloatArray, lengths: FloatArray) -> FloatArray:
    """Part (n,) of the prior variance left at ``places`` (n, D) by exact values at points (m, D).

    >>> left = variance_left(np.array([[0.0]]), np.array([[0.0], [1.0], [9.0]]), np.array([1.0]))
    >>> left.round(2)
    array([0.  , 0.63, 1.  ])
    """
    from scipy.linalg import cholesky, solve_triangular  # slow to import

    known, places = known / lengths, places / lengths
    own = np.exp(-0.5 * squared_distances(known, known)) + NUGGET * np.eye(len(known))
    cross = np.exp(-0.5 * squared_distances(known, places))
    half = solve_triangular(cholesky(own, lower=True), cross, lower=True)
    return np.asarray(1.0 - np.sum(half**2, axis=0))
