"""A look at places that may be as high as the best one known.

Acquisition functions ask where the posterior is; a mode that it does not have is never asked about.
So some points are *looks*: at the place in the plausible box, out of reach of the posterior, where
the surrogate gives the largest chance that the log joint is high,

    P(f(x) > top − depth) = Φ((f̄(x) − top + depth) / s(x)),

as long as that chance is worth an evaluation. Where the log joint falls off like a quadratic, as
around a single mode, no place has such a chance.

A surrogate that has seen one wide mode is sure of the rest of the box, rightly or not. So after
warm-up a few looks are at the emptiest places, whatever it says, until 5 (D + 1) evaluations are
spread over the box. In warm-up they would only hold up the way to the posterior.

After warm-up the surrogate no longer knows the low evaluations, and so not where it is low. Looks
are then guided by the surrogate of warm-up (`quell.vbmc.state.Overview`), with all evaluations.
"""

import numpy as np
from scipy.special import ndtr

from quell.arrays import BoolArray, FloatArray
from quell.distances import squared_distances
from quell.evaluations import Evaluations, Origin
from quell.gp import GaussianProcess
from quell.gp.model import Layout
from quell.mixture.quasirandom import uniform_points
from quell.problem import Problem
from quell.space import InferenceSpace
from quell.variational.islands import high_depth, within_reach
from quell.vbmc.state import Overview, State
from quell.vbmc.training_set import TrainingSet

#: Smallest chance that is worth a look.
SMALLEST_CHANCE = 0.05
#: Evaluations spread over the plausible box, so many times D + 1.
SPREAD_PER_DIMENSION = 5
#: Share of the points that may be looks, in warm-up and after.
WARMUP_SHARE, LATER_SHARE = 0.5, 0.2
#: Places compared.
N_PLACES = 256
#: Failed points that looks and the search keep away from.
MOST_AVOIDED = 100
#: The posterior's reach is this many times its components': as far as the acquisition function asks
#: (`quell.acquisition.WIQR`).
REACH = 2.0


def next_look(
    rng: np.random.Generator, problem: Problem, state: State, pending: FloatArray
) -> FloatArray | None:
    """The point θ (D_full,) most worth a look now; None if none is.

    ``pending`` (n, D_full) are under evaluation. One hyperparameter sample is drawn to decide: over
    a few looks all of them have their say.
    """
    assert state.mixture is not None
    if rng.random() >= (WARMUP_SHARE if state.warmup else LATER_SHARE):
        return None
    overview = Overview.of(state) if state.warmup else state.overview
    if overview is None:
        return None
    space = overview.space
    theta = problem.snap(space.to_original(plausible_places(rng, space, N_PLACES)))
    x = state.space.to_inference(theta)
    apart = ~within_reach(state.mixture, x, REACH) & state.space.clear_of_bounds(theta)
    theta = theta[apart & (problem.log_prior(theta) > -np.inf)]
    if not len(theta):
        return None
    places, waiting = space.to_inference(theta), space.to_inference(pending)
    gp = _surrogate(rng, state, overview)
    if gp is None:
        return None
    table = state.evaluations
    lowest = float(gp.data.y.min())
    failed = space.to_inference(failed_points(table))
    if len(failed):  # a failure is no reason to look there again
        gp = gp.append(failed, np.full(len(failed), lowest), 0.0)
    if len(waiting):
        gp = gp.append(waiting, gp.pooled(waiting)[0], 0.0)
    chance = chance_of_height(gp, places)
    best = int(chance.argmax())
    if chance[best] > SMALLEST_CHANCE:
        return theta[best]
    wanted = 0 if state.warmup else SPREAD_PER_DIMENSION * (space.dimension + 1)
    if n_spread(table) + len(pending) >= wanted:
        return None
    known = np.concatenate([space.to_inference(table.theta), waiting])
    return theta[int(room_around(places, known).argmax())]


def failed_points(table: Evaluations) -> FloatArray:
    """Points θ (n, D_full) that failed for no known reason, the last ones if there are many."""
    return table.theta[~table.ok & ~table.zero_density][-MOST_AVOIDED:]


def n_spread(table: Evaluations) -> int:
    """Number of evaluations that were not made where the posterior is: of the user's too."""
    return sum(origin not in (Origin.SEARCH, Origin.CHECK) for origin in table.origin)


def room_around(places: FloatArray, known: FloatArray) -> FloatArray:
    """How much room (n,) is around places (n, D) in [−½, ½]^D, among points ``known`` (m, D).

    The squared distance to the nearest of them, or to the mirror image behind a wall: on a regular
    grid all points have the same room.
    """
    nearest = squared_distances(places, known).min(axis=1)
    wall = np.min(0.5 - np.abs(places), axis=1)
    return np.asarray(np.minimum(nearest, (2 * wall) ** 2))


def chance_of_height(gp: GaussianProcess, x: FloatArray) -> FloatArray:
    """Chance (n,) that the log joint at points (n, D) is high, over all hyperparameter samples."""
    level = gp.predict_mean(gp.data.x).max(axis=1, keepdims=True) - high_depth(gp.dimension)
    mean, variance = gp.predict(x)
    chance = ndtr((mean - level) / np.sqrt(np.maximum(variance, np.finfo(float).tiny)))
    return np.asarray(gp.weights @ chance)


def low_looks(table: Evaluations, depth: float) -> BoolArray:
    """Mask (N,) of looks at what turned out to be more than ``depth`` below the best.

    That was worth knowing, but at its face value would distort a surrogate of the posterior.
    """
    looks = np.array([origin == Origin.LOOK for origin in table.origin], dtype=bool)
    if not looks.any() or not table.ok.any():
        return np.zeros(len(table), dtype=bool)
    return looks & table.ok & (table.log_joint < np.nanmax(table.log_joint) - depth)


def _surrogate(
    rng: np.random.Generator, state: State, overview: Overview
) -> GaussianProcess | None:
    """One sample of the overview, conditioned on all evaluations; None if it is of other noise."""
    if state.warmup:
        assert state.fit is not None
        gp = state.fit.gp
        return gp.only(int(rng.choice(gp.n_samples, p=gp.weights)))
    s = int(rng.choice(len(overview.theta), p=overview.weights))
    everything = TrainingSet.of(
        state.evaluations, np.zeros(len(state.evaluations), dtype=bool), overview.space,
        noisy=state.noisy, power=overview.power,
    )  # fmt: skip
    data = everything.data
    if overview.theta.shape[1] != Layout(data.dimension, data.has_unknown_noise).size:
        return None
    return GaussianProcess.condition(data, overview.theta[s : s + 1])


def plausible_places(rng: np.random.Generator, space: InferenceSpace, n: int) -> FloatArray:
    """Quasi-random points (n, D) of inference space that fill the plausible box."""
    v = uniform_points(rng, n, space.dimension) - 0.5
    return v if space.is_standard else np.asarray((v @ space.rotation) / space.scales)
