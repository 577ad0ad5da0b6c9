"""Observations that the surrogate did not expect.

After warm-up the hyperparameters rest between iterations. Where one observation contradicts them
(a value 50 000 nats below what was expected to within 3), the points that follow are chosen by a
surrogate that is known to be wrong. So an observation is a surprise if what lies as far from its
prediction has a probability below 1/N, N being the number of evaluations so far: in a run with a
surrogate that is right, a handful. Far below the posterior nobody minds: where both prediction and
observation are deeper than is worth resolving (`quell.vbmc.low_values`) there is no surprise.
"""

import numpy as np
from scipy.special import erfc

from quell.evaluations import Evaluations
from quell.vbmc.low_values import resolved_depth
from quell.vbmc.state import State


def is_surprising(state: State, evaluations: Evaluations) -> bool:
    """Whether a row of ``evaluations`` that the state does not know yet contradicts its surrogate.

    Failed evaluations contradict nothing.
    """
    if state.fit is None or state.warmup:
        return False
    new = np.arange(len(state.evaluations), len(evaluations))
    gp = state.fit.gp
    usable = evaluations.ok[new]
    if not gp.data.has_unknown_noise:
        usable &= np.isfinite(evaluations.sd[new])  # noise of a size that is still to be learnt
    new = new[usable]
    if not len(new):
        return False
    x = state.space.to_inference(evaluations.theta[new])
    y = evaluations.log_joint[new] + state.space.log_jacobian(x)
    mean, variance = gp.pooled(x)
    sds = evaluations.sd[new] * state.noise_scale
    noise = gp.weights @ gp.new_observation_variance(sds, len(new))
    sd = np.sqrt(variance + noise)
    rare = erfc(np.abs(y - mean) / (sd * np.sqrt(2))) < 1 / len(evaluations)
    relevant = np.maximum(y, mean) > gp.data.y.max() - resolved_depth(state.dimension)
    return bool(np.any(rare & relevant))
