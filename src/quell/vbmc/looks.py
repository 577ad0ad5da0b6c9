"""A look at places that may be as high as the best one known.

Acquisition functions ask where the posterior is; a mode that it does not have is never asked about.
So some points are *looks*: at the place in the plausible box, out of reach of the posterior, where
the surrogate gives the largest chance that the log joint is high,

    P(f(x) > top − depth) = Φ((f̄(x) − top + depth) / s(x)),

as long as that chance is worth an evaluation, and not a certainty already. Where the log joint
falls off like a quadratic, as around a single mode, no place has such a chance.

A surrogate whose variance is thousands of nats gives a chance to most of a box of many dimensions,
for ever. So such looks become rarer as the chances do not come true: by 1 / (1 + m), if looks
should have found m high places since one was found. (Of the number of finds for one that was due,
taken to be exponential with mean one, that is what is expected after none came of m.)

A surrogate that has seen one wide mode, or a hill beside the posterior, is sure of the rest of the
box, rightly or not. So a few looks are at the emptiest places, whatever it says, until 5 (D + 1)
evaluations are spread over the box: after warm-up, for before they would only hold up the way to
the posterior, or when that has taken longer than a stall that would end it. Once the answer is
known more closely than anybody needs it, further evaluations of it tell nothing: then every other
one is a look at the emptiest place, to the end.

Before all of these come the places where a model that does not know its parameters apart would
have the same mode again (`quell.vbmc.twins`).

After warm-up the surrogate no longer knows the low evaluations, and so not where it is low. Looks
are then guided by the surrogate of warm-up (`quell.vbmc.state.Overview`), with all evaluations.
"""

from dataclasses import replace

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
from quell.vbmc.twins import next_twin
from quell.vbmc.warmup import longest_stall, n_steps

#: Smallest chance that is worth a look, and the largest after warm-up: beyond it nothing is left
#: to find out.
SMALLEST_CHANCE, LARGEST_CHANCE = 0.05, 0.95
#: Evaluations spread over the plausible box, so many times D + 1.
SPREAD_PER_DIMENSION = 5
#: Share of the points that may be looks: in warm-up, after it and at the emptiest places, and when
#: the answer is settled.
WARMUP_SHARE, LATER_SHARE, SETTLED_SHARE = 0.5, 0.2, 0.5
#: An answer is settled if it is stable, with an SD of the ELBO below this (nats). A posterior that
#: is off by so little cannot be told from the true one by any number of draws that people take.
SETTLED_SD = 0.01
#: Places compared.
N_PLACES = 256
#: Places compared around each evaluation that the posterior denies, and how many of these.
PLACES_AROUND, MOST_DENIED = 16, 8
#: So many SDs of its noise are taken off what an evaluation says against the posterior.
DENIED_NOISE_SDS = 3.0
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
    settled = is_settled(state)
    share = WARMUP_SHARE if state.warmup else LATER_SHARE
    share *= trust_in_chances(state)
    spread_share = SETTLED_SHARE if settled else LATER_SHARE
    if state.warmup and n_steps(state.evaluations.origin) <= longest_stall(state):
        spread_share = 0.0
    turn = rng.random()
    if turn >= max(share, spread_share):
        return None
    twin = next_twin(problem, state, pending)
    if twin is not None:
        return twin
    overview = Overview.of(state) if state.warmup else state.overview
    if overview is None:
        return None
    space = overview.space
    drawn = plausible_places(rng, space, N_PLACES)
    near_denied = drawn[:0] if state.warmup else around_denied(rng, state, space)
    theta = problem.snap(space.to_original(np.concatenate([drawn, near_denied])))
    x = state.space.to_inference(theta)
    possible = state.space.clear_of_bounds(theta) & (problem.log_prior(theta) > -np.inf)
    apart = ~within_reach(state.mixture, x, REACH)
    apart[N_PLACES:] = True
    apart &= possible
    waiting = space.to_inference(pending)
    if turn < share:
        likely = likely_height(rng, state, overview, theta[apart], waiting)
        if likely is not None:
            return theta[apart][likely]
    wanted = SPREAD_PER_DIMENSION * (space.dimension + 1)
    enough = not settled and n_spread(state.evaluations) + len(pending) >= wanted
    if enough or turn >= spread_share:
        return None
    theta = theta[possible if settled else apart]
    if not len(theta):
        return None
    known = np.concatenate([space.to_inference(state.evaluations.theta), waiting])
    return theta[int(room_around(space.to_inference(theta), known).argmax())]


def around_denied(rng: np.random.Generator, state: State, space: InferenceSpace) -> FloatArray:
    """Places (n, D) near evaluations that are high, and not according to the posterior.

    As near as the next evaluation is: what is high there may be narrow.
    """
    assert state.mixture is not None
    table = state.evaluations
    believed = table.ok & ~state.aside
    theta = table.theta[believed]
    own = state.space.to_inference(theta)
    y = table.log_joint[believed] + state.space.log_jacobian(own)
    expected = state.mixture.log_density(own)
    noise = DENIED_NOISE_SDS * np.nan_to_num(table.sd[believed])
    depth, denied = y.max() - y, (y - y.max()) - (expected - expected.max())
    high = high_depth(space.dimension)
    rows = np.flatnonzero((depth < high) & (denied - noise > high))
    rows = rows[np.argsort(depth[rows], kind="stable")][:MOST_DENIED]
    if not len(rows):
        return np.empty((0, space.dimension))
    x = space.to_inference(theta)
    distances = squared_distances(x[rows], x)
    distances[distances == 0] = np.inf
    reach = np.sqrt(distances.min(axis=1) / space.dimension)
    steps = rng.standard_normal((PLACES_AROUND, len(rows), space.dimension))
    return np.asarray((x[rows] + steps * reach[:, None]).reshape(-1, space.dimension))


def likely_height(
    rng: np.random.Generator, state: State, overview: Overview, theta: FloatArray,
    waiting: FloatArray,
) -> int | None:  # fmt: skip
    """Which of the places θ (n, D_full) is likeliest to be high, if one is worth a look at all.

    Points ``waiting`` (m, D) for an answer, in the overview's space, are taken to give what is
    expected of them.
    """
    gp = _surrogate(rng, state, overview) if len(theta) else None
    if gp is None:
        return None
    failed = overview.space.to_inference(failed_points(state.evaluations))
    if len(failed):  # a failure is no reason to look there again
        gp = gp.append(failed, np.full(len(failed), float(gp.data.y.min())), 0.0)
    if len(waiting):
        gp = gp.append(waiting, gp.pooled(waiting)[0], 0.0)
    chance = chance_of_height(gp, overview.space.to_inference(theta))
    if not state.warmup:  # there, it is also the way up
        chance[chance > LARGEST_CHANCE] = 0.0
    best = int(chance.argmax())
    return best if chance[best] > SMALLEST_CHANCE else None


def trust_in_chances(state: State) -> float:
    """How much of the surrogate's chances of high places has come true lately, at most one."""
    return 1.0 / (1.0 + state.finds_due)


def with_looks_counted(rng: np.random.Generator, state: State, evaluations: Evaluations) -> State:
    """The state that knows how well its looks do, those in new rows of ``evaluations`` included.

    Their chances are those before their values were known.
    """
    n = len(state.evaluations)
    new = [i for i in range(n, len(evaluations)) if evaluations.origin[i] == Origin.LOOK]
    overview = Overview.of(state) if state.warmup else state.overview
    if not new or overview is None:
        return state
    known = state.evaluations.log_joint[state.evaluations.ok & ~state.aside]
    level = known.max(initial=-np.inf) - high_depth(state.dimension)
    if np.any(evaluations.ok[new] & (evaluations.log_joint[new] > level)):
        return replace(state, finds_due=0.0)
    gp = _surrogate(rng, state, overview)
    if gp is None:
        return state
    x = overview.space.to_inference(evaluations.theta[new])
    return replace(state, finds_due=state.finds_due + float(chance_of_height(gp, x).sum()))


def is_settled(state: State) -> bool:
    """Whether nothing is left to learn about the posterior that has been found."""
    last = state.history[-1] if state.history else None
    return last is not None and last.stable and last.elbo_sd < SETTLED_SD


def failed_points(table: Evaluations) -> FloatArray:
    """Points θ (n, D_full) that failed for no known reason, the last ones if there are many."""
    return table.theta[~table.ok & ~table.zero_density][-MOST_AVOIDED:]


def n_spread(table: Evaluations) -> int:
    """Number of evaluations that were not made where the posterior is: of the user's too."""
    return sum(origin not in (Origin.SEARCH, Origin.CHECK, Origin.AGAIN) for origin in table.origin)


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


def low_looks(table: Evaluations, depth: float, aside: BoolArray | None = None) -> BoolArray:
    """Mask (N,) of looks at what turned out to be more than ``depth`` below the best.

    That was worth knowing, but at its face value would distort a surrogate of the posterior.
    Evaluations set ``aside``, a mask (N,), are not the best.
    """
    looks = np.array([origin == Origin.LOOK for origin in table.origin], dtype=bool)
    believed = table.ok if aside is None else table.ok & ~aside
    if not looks.any() or not believed.any():
        return np.zeros(len(table), dtype=bool)
    return looks & table.ok & (table.log_joint < np.max(table.log_joint[believed]) - depth)


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
        state.evaluations, state.aside, overview.space,
        noisy=state.noisy, power=overview.power, noise_scale=state.noise_scale,
    )  # fmt: skip
    data = everything.data
    if overview.theta.shape[1] != Layout(data.dimension, data.has_unknown_noise).size:
        return None
    return GaussianProcess.condition(data, overview.theta[s : s + 1])


def plausible_places(rng: np.random.Generator, space: InferenceSpace, n: int) -> FloatArray:
    """Quasi-random points (n, D) of inference space that fill the plausible box."""
    v = uniform_points(rng, n, space.dimension) - 0.5
    return v if space.is_standard else np.asarray((v @ space.rotation) / space.scales)
