"""The evidence of the surrogate, by importance sampling from the posterior.

The ELBO is the log evidence less the divergence of q from the posterior,

    ELBO = E_q[f̄(x) - log q(x)] = log Z - KL(q || p),   p(x) = exp f̄(x) / Z,

which a mixture leaves positive where the posterior has heavy tails or sharp edges. With draws
x_i from q and weights W_i = exp(f̄(x_i)) / q(x_i), Z is the mean of the weights: what the
surrogate says, without the loss.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from quell.acquisition.draws import mixture_draws
from quell.vbmc.state import Solution

N_DRAWS = 4096
#: No draw may carry more than this share of all weight: beyond it the mean has no known error.
LARGEST_SHARE = 0.02
#: Surrogates promise mass where they have no data; more than this many nats is not believed.
LARGEST_CORRECTION = 1.0


@dataclass(frozen=True)
class Evidence:
    """The log evidence with the SD of its error, and how it was estimated."""

    value: float
    sd: float
    method: Literal["elbo", "importance sampling"]


def evidence(rng: np.random.Generator, solution: Solution, *, importance: bool) -> Evidence:
    """The log evidence of a solution; its ELBO where the weights are too uneven to be trusted.

    The SD is that of the ELBO, which holds the surrogate's uncertainty, and that of the mean
    over the draws.
    """
    elbo = solution.elbo
    plain = Evidence(elbo.value, elbo.sd, "elbo")
    if not importance:
        return plain
    gp, mixture = solution.surrogate(), solution.mixture
    x = mixture_draws(rng, N_DRAWS, mixture)
    mean, _ = gp.pooled(x)
    log_weights = mean - mixture.log_density(x)
    top = log_weights.max()
    weights = np.exp(log_weights - top)
    total = weights.sum()
    value = float(top + np.log(total / len(x)))
    # Not against the ELBO itself, whose entropy is an average over other draws.
    correction = value - float(log_weights.mean())
    if not (weights.max() < LARGEST_SHARE * total and correction < LARGEST_CORRECTION):
        return plain
    spread = float(np.std(weights, ddof=1) / np.mean(weights))
    sd = float(np.hypot(elbo.sd, spread / np.sqrt(len(x))))
    return Evidence(elbo.value + correction, sd, "importance sampling")
