"""The weights of the components, given the pooled surrogate.

At draws θ_i from a mixture q₀ of all components the surrogate expects the log joint g_i. The ELBO
of q = Σ_m w_m q_m is E_q[g − log q], here with draws from q₀ reweighted by q/q₀. It is concave in
the weights, so that there is one best choice. Where the density is known to be zero outside a
support, q is cut off there too: with S its mass inside, the ELBO is E_q[g − log q | inside] + log
S.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from quell.arrays import FloatArray

MOST_STEPS = 500
#: The smallest weight that the search begins with.
SMALLEST_START = 1e-7


@dataclass(frozen=True, eq=False)
class Draws:
    """n draws from q₀ with all that is known there.

    ``log_densities`` (n, M) of the components, ``log_proposal`` (n,) that of q₀, and ``log_joint``
    (n,) what the surrogate expects, -inf where the density is known to be zero.
    """

    theta: FloatArray
    log_densities: FloatArray
    log_proposal: FloatArray
    log_joint: FloatArray

    @property
    def log_weights(self) -> FloatArray:
        """Logs of the importance weights e^g/q₀, (n,)."""
        return self.log_joint - self.log_proposal

    def log_density(self, weights: FloatArray) -> FloatArray:
        """log q (n,) of the mixture with these weights (M,)."""
        return np.asarray(logsumexp(self.log_densities, b=weights, axis=1))


class Objective:
    """The ELBO of a mixture of some components as a function of the logits of its weights.

    ``used`` (K,) are places of the components among all.
    """

    def __init__(self, draws: Draws, used: NDArray[np.intp]) -> None:
        inside = np.isfinite(draws.log_joint)
        log_p = draws.log_densities[inside][:, used]
        self._top = log_p.max(axis=1)
        self._p = np.exp(log_p - self._top[:, None])
        self._g = draws.log_joint[inside]
        self._ratio = np.exp(self._top - draws.log_proposal[inside]) / len(draws.theta)

    def __call__(self, logits: FloatArray) -> tuple[float, FloatArray]:
        """The ELBO at logits (K,), and its gradient (K,)."""
        w = _softmax(logits)
        q = self._p @ w
        share = self._ratio * q  # q/q₀ over n
        inside = float(share.sum())  # S
        gain = self._g - np.log(q) - self._top
        mean = float(share @ gain) / inside
        # ∂/∂w_m of the mean is Σ_i ratio_i p_im (gain_i − 1 − mean)/S; the 1 goes with that of
        # log S.
        slope = self._p.T @ (self._ratio * (gain - mean)) / inside
        return mean + float(np.log(inside)), w * (slope - w @ slope)


def elbo_weights(draws: Draws, start: FloatArray) -> FloatArray:
    """The weights (M,) of the largest ELBO, by L-BFGS from ``start`` (M,); zeros stay zero."""
    from scipy.optimize import minimize  # slow to import

    used = np.flatnonzero(start > 0)
    objective = Objective(draws, used)

    def loss(logits: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = objective(logits)
        return -value, -gradient

    best = minimize(
        loss, np.log(np.maximum(start[used], SMALLEST_START)), jac=True, method="L-BFGS-B",
        options={"maxiter": MOST_STEPS},
    )  # fmt: skip
    out = np.zeros_like(start)
    out[used] = _softmax(best.x)
    return out


def _softmax(logits: FloatArray) -> FloatArray:
    weights = np.exp(logits - logits.max())
    return np.asarray(weights / weights.sum())
