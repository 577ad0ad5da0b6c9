"""How far may the marginals be off, for all the surrogate knows?

The posterior is that of the surrogate's mean. Other functions are as likely, and each is the log
joint of a posterior of its own. Drawn functions f_s weight points x_i of a density m,

    w_i ∝ exp(f_s(x_i)) / m(x_i),

and the distance between the marginals of these points and the answer's, averaged over parameters
and functions, is what to expect of the paper's measure MMTV: the mean over the parameters of the
total variation distance to the true marginals. It knows what noise and few evaluations leave open.
It cannot know of a mode that no evaluation came near, nor of a surrogate that is wrong throughout.
How well it tells: docs/experiments/honesty.md.
"""

import numpy as np
from numpy.typing import NDArray

from quell.arrays import FloatArray
from quell.diagnostics.case import Case
from quell.diagnostics.finding import Finding
from quell.gp.paths import deviations
from quell.mixture import Mixture
from quell.vbmc.support import inside

#: Points from the posterior, and as many from one of components this many times as wide: functions
#: may give more to the tails.
N_POINTS, WIDER = 1024, 2.0
#: Functions drawn, at least.
N_FUNCTIONS = 32
#: Intervals of equal mass by which marginals are compared.
N_INTERVALS = 10
#: What makes an answer unusable (paper, section 4).
LARGEST = 0.2


def unknown_marginals(rng: np.random.Generator, case: Case) -> Finding:
    """The expected distance of the marginals from the true ones; 0 none, 1 all."""
    figure = expected_mmtv(rng, case)
    text = ""
    if not figure <= LARGEST:
        text = (
            "the evaluations leave the posterior open: log densities as likely as the one that was "
            f"fitted have marginals that differ from the answer's by {figure:.2f} on average "
            "(total variation; 0 is the same, 1 another place): use a larger budget"
        )
    return Finding("expected_mmtv", figure, LARGEST, text)


def expected_mmtv(rng: np.random.Generator, case: Case) -> float:
    """The expected mean over parameters of the distance between true marginals and the answer's."""
    solution, gp = case.solution, case.surrogate
    q, space = solution.mixture, solution.space
    wide = Mixture(q.weights, q.means, WIDER * q.scales, q.lengths)
    x = np.concatenate([one.sample(N_POINTS, rng, stratified=True) for one in (q, wide)])
    if solution.support is not None:
        x = x[inside(solution.support, space, x)]
    if not len(x):
        return 1.0
    log_q = q.log_density(x)
    log_m = np.logaddexp(log_q, wide.log_density(x))
    theta = space.to_original(x)[:, space.free]
    order, answer = np.argsort(theta, axis=0), _weights(log_q - log_m)
    each = int(np.ceil(N_FUNCTIONS / gp.n_samples))
    distances = []
    for s, mean in enumerate(gp.predict_mean(x)):
        for f in mean + deviations(rng, gp, s, x, each):
            distances.append(_distance(order, answer, _weights(f - log_m)))
    return float(np.repeat(gp.weights / each, each) @ distances)


def _weights(logs: FloatArray) -> FloatArray:
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def _distance(order: NDArray[np.intp], one: FloatArray, other: FloatArray) -> float:
    """Mean over columns of the distance between marginals of weighted points; 0 to 1.

    ``order`` (n, D) sorts the points along each column; the intervals have equal mass by ``one``.
    """
    below, below_other = np.cumsum(one[order], axis=0), np.cumsum(other[order], axis=0)
    shares = np.arange(1, N_INTERVALS) / N_INTERVALS
    total = 0.0
    for column, column_other in zip(below.T, below_other.T, strict=True):
        ends = np.minimum(np.searchsorted(column, shares), len(one) - 1)
        p = np.diff(column[ends], prepend=0.0, append=1.0)
        p_other = np.diff(column_other[ends], prepend=0.0, append=1.0)
        total += 0.5 * float(np.abs(p - p_other).sum())
    return total / order.shape[1]
