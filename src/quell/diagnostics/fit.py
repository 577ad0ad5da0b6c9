"""Does the posterior fit the surrogate, and does the surrogate know its log density?

Draws from the posterior q are weighted by exp(f̄)/q, f̄ being the surrogate's mean. Their effective
number is how many independent draws they are worth, with weights truncated at √n times their mean
(Ionides 2008), so that it does not hang on a single draw. The surrogate's variance at the draws,
beyond what is common to all, is what it does not know of the shape; half of it is the convexity
term of the log evidence.
"""

import numpy as np

from quell.diagnostics.case import N_DRAWS, Case
from quell.diagnostics.finding import Finding, shown

#: With fewer effective draws even a mean is known to a tenth of an SD only.
FEWEST_EFFECTIVE = 100
#: Nats that the log evidence may owe to what is not known of the shape: as much as makes a run
#: unusable.
LARGEST_CONVEXITY = 1.0


def effective_draws(case: Case) -> Finding:
    """The effective number of draws, among 1024, weighted by the surrogate; few are bad."""
    log_weights = case.expected[0] - case.claimed
    weights = np.exp(log_weights - log_weights.max())
    weights = np.minimum(weights, np.sqrt(len(weights)) * weights.mean())
    figure = float(weights.sum() ** 2 / np.sum(weights**2))
    text = ""
    if not figure >= FEWEST_EFFECTIVE:
        text = (
            f"the posterior does not fit its surrogate: weighted by it, {N_DRAWS} draws are worth "
            f"{figure:.0f}. Use a larger budget; if that does not help, other parameters, in which "
            "the posterior is less bent"
        )
    return Finding("effective_draws", figure, FEWEST_EFFECTIVE, text)


def unknown_shape(case: Case) -> Finding:
    """Half of the surrogate's variance at a draw, beyond what is common to all, in nats."""
    variance = case.expected[1]
    figure = max(0.0, 0.5 * (float(np.mean(variance)) - case.solution.elbo.sd**2))
    text = ""
    if not figure <= LARGEST_CONVEXITY:
        text = (
            "the surrogate knows the log density within the posterior only to an SD of "
            f"{shown(np.sqrt(2 * figure), 1)} nats: use a larger budget"
        )
    return Finding("convexity", figure, LARGEST_CONVEXITY, text)
