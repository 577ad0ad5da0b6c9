"""By what factor the stated SDs of the noise are wrong, as the observations say.

A target whose SDs are too small by a factor makes the surrogate follow its noise, with a kernel so
short that neighbours say nothing of each other; one whose SDs are too large throws away what it
knows. With ``Settings(robust=True)`` the stated SDs are taken k times, k being the power of two
that makes the observations likeliest: marginal likelihoods at the modes of the hyperparameters are
compared, with a prior that expects honest SDs and gives every factor of two, either way, a
thousandth of the odds.

To a Gaussian process a kernel short enough is as good as noise. What tells them apart is an
evaluation of the same point: so a few are made again for this (`quell.vbmc.doubt`). Repeats enter
the surrogate as one observation, their mean; their n differences from it, with the sum of squares
χ² in stated SDs, are independent of that and have the likelihood k⁻ⁿ exp(-½ χ²/k²).

The choice is made after warm-up, when the surrogate is good enough for its misfit to be noise and
these repeats are there, and made again now and then: of all factors the first time, then of the one
there is and its neighbours.
"""

from dataclasses import replace

import numpy as np

from quell.evaluations.repeated import disagreement
from quell.settings import Settings
from quell.vbmc.compression import log_likelihood
from quell.vbmc.doubt import is_auditing
from quell.vbmc.state import State
from quell.vbmc.subset import may_be_some_of_many

#: Factors of the stated SDs.
SCALES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
#: Log odds against every factor of two. The likelihood at a mode has gained 5 nats by chance from
#: half of the SDs when they were right; where they are not it gains tens.
AGAINST = float(np.log(1000.0))
#: The choice is made again whenever there are this share more evaluations: for the time it takes.
CHOICE_SHARE = 0.4


def with_noise_scale(rng: np.random.Generator, state: State, settings: Settings) -> State:
    """The state with the factor of its SDs that makes the observations likeliest.

    With another factor the surrogate is learnt afresh.
    """
    n_evaluations = len(state.evaluations)
    due = n_evaluations >= (1.0 + CHOICE_SHARE) * state.scale_chosen
    if not (state.audited and due) or state.is_searching or is_auditing(state):
        return state
    data = state.training.data
    if not np.any(data.variance > 0) or may_be_some_of_many(data):
        return state
    now = SCALES.index(state.noise_scale)
    tried = SCALES if not state.scale_chosen else SCALES[max(0, now - 1) : now + 2]
    choices = [state.with_data(noise_scale=scale) for scale in tried]

    n, chi_square = disagreement(state.evaluations.rows(~state.aside))

    def log_odds(choice: State) -> float:
        scale = choice.noise_scale
        of_repeats = -n * np.log(scale) - 0.5 * chi_square / scale**2
        price = AGAINST * abs(np.log2(scale))
        return log_likelihood(rng, choice, settings) + float(of_repeats - price)

    best = replace(max(choices, key=log_odds), scale_chosen=n_evaluations)
    if best.noise_scale == state.noise_scale:
        return replace(state, scale_chosen=n_evaluations)
    return replace(best, full_refit=True, fit=None, memory=None)
