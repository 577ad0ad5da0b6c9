"""The weights of the components, given the pooled surrogate.

At draws θ_i from a mixture q₀ of all components the surrogate expects the log joint g_i. Two
objectives, both concave in the weights w of q = Σ_m w_m q_m:

* The ELBO, E_q[g − log q], with draws from q₀ reweighted by q/q₀. It is what a single run
  maximises, -KL(q || p) up to log Z.
* The expected log density E_p[log q] under the surrogate's posterior p ∝ e^g, with importance
  weights e^g/q₀: -KL(p || q) up to a constant. Its maximum is found by expectation maximisation,
  whose every step is an average of responsibilities.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from quell.arrays import FloatArray

MOST_STEPS = 500
#: Steps end when no weight changes by more than this; components below the second are dropped.
TOLERANCE, NEGLIGIBLE = 1e-5, 1e-7


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


def expected_log_density_weights(draws: Draws, start: FloatArray) -> FloatArray:
    """The weights (M,) of largest E_p[log q], by expectation maximisation from ``start`` (M,)."""
    kept = np.isfinite(draws.log_joint)
    target = np.exp(draws.log_weights[kept] - draws.log_weights[kept].max())
    target /= target.sum()
    used = np.flatnonzero(start > 0)
    log_p = draws.log_densities[kept]
    p = np.exp(log_p - log_p.max(axis=1, keepdims=True))[:, used]
    weights = start[used] / start[used].sum()
    for step in range(MOST_STEPS):
        new = weights * (p.T @ (target / (p @ weights)))
        change = float(np.abs(new - weights).max())
        weights = new / new.sum()
        if change < TOLERANCE:
            break
        if step % 20 == 19 and (small := weights < NEGLIGIBLE).any():
            used, weights, p = used[~small], weights[~small], np.ascontiguousarray(p[:, ~small])
    out = np.zeros_like(start)
    out[used] = weights / weights.sum()
    return out


def elbo_weights(draws: Draws, start: FloatArray) -> FloatArray:
    """The weights (M,) of the largest ELBO, by L-BFGS from ``start`` (M,) on softmax logits."""
    from scipy.optimize import minimize  # slow to import

    kept = np.isfinite(draws.log_joint)
    g, log_p = draws.log_joint[kept], draws.log_densities[kept]
    top = log_p.max(axis=1)
    used = np.flatnonzero(start > 0)
    p = np.exp(log_p - top[:, None])[:, used]
    ratio = np.exp(top - draws.log_proposal[kept]) / len(draws.theta)

    def loss(logits: FloatArray) -> tuple[float, FloatArray]:
        w = np.exp(logits - logits.max())
        w /= w.sum()
        scaled = p @ w
        share = ratio * scaled  # q/q₀ over n
        total = share.sum()  # one, but for the draws; and for what lies outside the support
        gain = g - np.log(scaled) - top
        value = float(share @ gain / total) + np.log(total)
        slope = p.T @ (ratio * (gain - share @ gain / total)) / total
        return -value, -(w * (slope - w @ slope))

    best = minimize(
        loss, np.log(np.maximum(start[used], NEGLIGIBLE)), jac=True, method="L-BFGS-B",
        options={"maxiter": MOST_STEPS},
    )  # fmt: skip
    weights = np.exp(best.x - best.x.max())
    out = np.zeros_like(start)
    out[used] = weights / weights.sum()
    return out
