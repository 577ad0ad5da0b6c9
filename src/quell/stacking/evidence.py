"""The log evidence of all runs together.

With draws θ_i from a mixture q₀ of all components and g the log joint that the pooled surrogate
expects, Z is the mean of e^g/q₀, by importance sampling. Its SD has three parts:

* what other evaluations would have given: the jackknife over runs, each left out of the surrogate
  in turn (hyperparameters staying);
* what all evaluations have in common, the surrogate's misfit, as a share of the SD that a run
  reports;
* the error of the mean over the draws.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import logsumexp

from quell.arrays import FloatArray
from quell.stacking.surrogate import PooledSurrogate
from quell.stacking.weights import Draws

Method = Literal["stacked importance sampling", "stacked elbo"]

#: No draw may carry more than this share of all weight, as for a single run.
LARGEST_SHARE = 0.02
#: Draws behind the jackknife: differences of the same draws have little error.
JACKKNIFE_DRAWS = 4096
#: The misfit of the pooled surrogate, in SDs that a run reports (docs/experiments/stacking.md).
MISFIT_SHARE = 0.4


@dataclass(frozen=True)
class StackedEvidence:
    """The log evidence with the SD of its error, how it was estimated, and the ELBO.

    ``effective_draws`` is how many draws the weighted ones are worth.
    """

    value: float
    sd: float
    method: Method
    elbo: float
    effective_draws: float


def stacked_evidence(
    draws: Draws, weights: FloatArray, surrogate: PooledSurrogate, run_sds: FloatArray
) -> StackedEvidence:
    """The log evidence from draws, and the ELBO of the mixture with these weights (M,).

    ``run_sds`` (J,) are the SDs that the runs report.
    """
    log_weights = draws.log_weights
    share = np.exp(log_weights - logsumexp(log_weights))
    value = float(logsumexp(log_weights) - np.log(len(share)))
    elbo = _elbo(draws, weights)
    method: Method = "stacked importance sampling"
    if share.max() > LARGEST_SHARE:
        value, method = elbo, "stacked elbo"
    effective = 1 / float(share @ share)
    parts = (
        _jackknife(draws, surrogate),
        MISFIT_SHARE * float(np.median(run_sds)),
        np.sqrt(max(0.0, 1 / effective - 1 / len(share))),
    )
    return StackedEvidence(value, float(np.linalg.norm(parts)), method, elbo, effective)


def _elbo(draws: Draws, weights: FloatArray) -> float:
    """E_q[g − log q] over the support, with draws reweighted from q₀ to q."""
    inside = np.isfinite(draws.log_joint)
    log_q = draws.log_density(weights)
    ratio = np.exp(log_q - draws.log_proposal)
    kept = ratio[inside]
    gain = draws.log_joint[inside] - log_q[inside]
    return float(kept @ gain / kept.sum() + np.log(kept.sum() / ratio.sum()))


def _jackknife(draws: Draws, surrogate: PooledSurrogate) -> float:
    """SD of log Z by leaving out the observations of one run at a time."""
    # Draws come run by run: even steps have some of each.
    step = max(1, len(draws.theta) // JACKKNIFE_DRAWS)
    rows = np.flatnonzero(np.isfinite(draws.log_joint))[::step]
    n = surrogate.n_runs
    joints = surrogate.without_each(draws.theta[rows], range(n))
    values = logsumexp(joints - draws.log_proposal[rows], axis=1)
    return float(np.sqrt((n - 1) / n * np.sum((values - values.mean()) ** 2)))
