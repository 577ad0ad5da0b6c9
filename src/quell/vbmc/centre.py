"""An evaluation in the middle of the posterior.

In more than a few dimensions hardly any draw from a normal lies near its centre, and acquisition
functions want values around the posterior rather than in it. So runs spend hundreds of evaluations
on a posterior whose highest point none of them has seen. As long as the log joint is as smooth as
the surrogate expects, that is no loss; but a narrow peak within a broad one, or a dip, is never
found out. Hence the rule: the place where the surrogate is highest, among the components' means,
has an evaluation near it, at an average distance per parameter of less than a fifth of the SD of
its mode: so near that a peak a fifth as wide would have been seen from within. Under noise that
place moves with every iteration, so at most every 5 (D + 2)th evaluation is spent on it: ten within
the paper's budget.
"""

import numpy as np

from quell.arrays import FloatArray
from quell.gp import GaussianProcess
from quell.mixture import Mixture
from quell.problem import Problem
from quell.variational.islands import within_reach
from quell.vbmc.state import State

#: Distance (root mean square over the parameters, in SDs) at which an evaluation is near.
NEAR = 0.2
#: Evaluations between two of them, in units of D + 2.
EVERY = 5
#: Components this many times wider that reach a point are of the same mode.
SAME_MODE = 2.0


def next_centre(problem: Problem, state: State, pending: FloatArray) -> FloatArray | None:
    """The middle θ (D_full,) of the posterior if no evaluation is near it; None if one is.

    ``pending`` (n, D_full) are under evaluation. The posterior has to be found.
    """
    if state.is_searching or state.mixture is None or state.fit is None:
        return None
    if state.n_asked % (EVERY * (state.dimension + 2)):
        return None
    q, top = state.mixture, highest_mean(state.fit.gp, state.mixture)
    theta = problem.snap(state.space.to_original(top[None]))
    if not is_possible(problem, state, theta):
        return None
    top = state.space.to_inference(theta)[0]
    known = state.space.to_inference(np.concatenate([state.evaluations.theta, pending]))
    sds = np.sqrt(mode_of(q, top).covariance().diagonal())
    nearest = np.min(np.mean(((known - top) / sds) ** 2, axis=1))
    return None if nearest < NEAR**2 else np.asarray(theta[0])


def highest_mean(gp: GaussianProcess, mixture: Mixture) -> FloatArray:
    """That of the components' means where the surrogate is highest, (D,)."""
    return mixture.means[int((gp.weights @ gp.predict_mean(mixture.means)).argmax())]


def is_possible(problem: Problem, state: State, theta: FloatArray) -> bool:
    """Whether a point (1, D_full) can be evaluated: within the bounds, where there is density."""
    clear = state.space.clear_of_bounds(theta) & (problem.log_prior(theta) > -np.inf)
    return bool(clear.all()) and (state.support is None or bool(state.support(theta).all()))


def mode_of(mixture: Mixture, x: FloatArray) -> Mixture:
    """The components of the mode that has a point (D,); all of them if none reaches it."""
    reach = [
        bool(within_reach(_component(mixture, k), x[None], SAME_MODE)[0])
        for k in range(mixture.n_components)
    ]
    if not any(reach):
        return mixture
    weights = mixture.weights[reach]
    return Mixture(
        weights / weights.sum(), mixture.means[reach], mixture.scales[reach], mixture.lengths
    )


def _component(mixture: Mixture, k: int) -> Mixture:
    return Mixture(np.ones(1), mixture.means[k : k + 1], mixture.scales[k : k + 1], mixture.lengths)
