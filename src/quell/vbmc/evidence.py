"""The expected log evidence under the surrogate.

The ELBO is the log evidence of the surrogate's mean f̄, less the divergence of q from it,

    ELBO = E_q[f̄(x) - log q(x)] = log Z(f̄) - KL(q || p),   Z(f) = ∫ exp f(x) dx,  p = exp f̄ / Z(f̄),

which a mixture leaves positive where the posterior has heavy tails or sharp edges. With draws x_i
from q and weights W_i = exp(f̄(x_i)) / q(x_i), Z(f̄) is the mean of the weights, without that loss.

The surrogate does not say that f is f̄, but that f is Gaussian around it with covariance C. log Z is
convex in f, so its expectation is larger than log Z(f̄), to second order by

    E[log Z(f)] - log Z(f̄) ≈ ½ (E_p[C(x, x)] - E_p E_p[C(x, x')]):

half of the variance at a point that is not common to all points. Under noise that is a few tenths
of a nat. It counts as its own uncertainty: how much of the error it takes away, and how that was
chosen, is in docs/experiments/evidence.md.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from quell.acquisition.draws import mixture_draws
from quell.vbmc.state import Solution
from quell.vbmc.support import inside

Method = Literal["elbo", "corrected elbo", "importance sampling"]

N_DRAWS = 4096
#: No draw may carry more than this share of all weight: beyond it the mean has no known error.
LARGEST_SHARE = 0.02
#: Surrogates promise mass where they have no data; more than this many nats is not believed,
#: neither of the weights nor of the convexity.
LARGEST_CORRECTION = 1.0


@dataclass(frozen=True)
class Evidence:
    """The log evidence with the SD of its error, and how it was estimated."""

    value: float
    sd: float
    method: Method


def evidence(rng: np.random.Generator, solution: Solution, *, importance: bool) -> Evidence:
    """The expected log evidence of a solution, or with ``importance=False`` its ELBO.

    Where the weights are too uneven to be trusted, the ELBO takes the place of log Z(f̄). The SD
    holds that of the ELBO, which is the surrogate's uncertainty, that of the mean over the draws,
    and the size of the correction for convexity.
    """
    elbo = solution.elbo
    if not importance:
        return Evidence(elbo.value, elbo.sd, "elbo")
    gp, mixture = solution.surrogate(), solution.mixture
    x = mixture_draws(rng, N_DRAWS, mixture)
    mean, variance = gp.pooled(x)
    log_weights = mean - mixture.log_density(x)
    value = elbo.value
    if solution.support is not None:
        kept = inside(solution.support, solution.space, x)
        if not kept.any():
            return Evidence(np.nan, np.nan, "elbo")
        value += float(log_weights[kept].mean() - log_weights.mean() + np.log(kept.mean()))
        x, variance, log_weights = x[kept], variance[kept], log_weights[kept]
    top = log_weights.max()
    weights = np.exp(log_weights - top)
    weights /= weights.sum()
    # Not against the ELBO itself, whose entropy is an average over other draws.
    log_mean = float(top - np.log(weights.max() * len(x)))
    gain = log_mean - float(log_weights.mean())
    if weights.max() < LARGEST_SHARE and gain < LARGEST_CORRECTION:
        spread = float(np.std(weights, ddof=1) / np.mean(weights))
        method: Method = "importance sampling"
        error = spread / np.sqrt(len(x))
    else:
        weights = np.full(len(x), 1 / len(x))
        method = "corrected elbo"
        gain = error = 0.0
    # The variance common to all points as under q.
    convexity = 0.5 * (float(weights @ variance) - elbo.sd**2)
    convexity = float(np.clip(convexity, 0.0, LARGEST_CORRECTION))
    sd = float(np.sqrt(elbo.sd**2 + error**2 + convexity**2))
    return Evidence(value + gain + convexity, sd, method)
