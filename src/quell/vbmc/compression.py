"""How strongly low values are compressed, as the observations say.

While the posterior is searched for, and from when a surrogate was lost for good, a log joint falls
by anything from a hundred nats to 10⁸ below the best value, and `quell.vbmc.low_values` may
compress that by a power λ. At face value (λ = 1) a
fall of 10⁸ drowns what matters; as a logarithm (λ = 0) a fall of 10³, whose slopes say where the
posterior is, is hardly seen. Which one makes a Gaussian process of the values, they tell
themselves: compressed values c(y) that are normal with density N are a density of y,

    p(y) = N(c(y)) ∏ c'(d),

so that marginal likelihoods at the modes of the hyperparameters, with the slopes of the
compression, are compared like any others. The powers have no other freedom: there is nothing to
penalise (docs/experiments/searching.md).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from quell.gp.hyperposterior import Hyperposterior
from quell.gp.marginal import MarginalLikelihood
from quell.gp.mode import find_mode
from quell.settings import Settings
from quell.vbmc.state import State
from quell.vbmc.subset import may_be_some_of_many
from quell.vbmc.training import has_grown, hyperprior

#: From face value to the logarithm.
POWERS = (1.0, 0.5, 0.25, 0.0)
#: The choice is made again whenever there are this share more evaluations: they could not change
#: the likelihood much before, and it costs a search for hyperparameters of every power tried.
CHOICE_SHARE = 0.4


def with_compression(rng: np.random.Generator, state: State, settings: Settings) -> State:
    """The state with the compression of low values that makes its observations likeliest.

    Of all the first time, then of the one there is and the next ones to it, now and then while low
    values are compressed at all.
    """
    if not (state.compresses and has_grown(state, CHOICE_SHARE)):
        return state
    now = POWERS.index(state.power)
    tried = POWERS[max(0, now - 1) : now + 2] if state.history else POWERS
    return likeliest_compression(rng, state, settings, tried)


def likeliest_compression(
    rng: np.random.Generator, state: State, settings: Settings, tried: Sequence[float] = POWERS
) -> State:
    """The state with that of the powers ``tried`` that makes its observations likeliest.

    With another one than before the surrogate is learnt afresh.
    """
    if not settings.compress_low_values or may_be_some_of_many(state.training.data):
        return state
    strongest = state.with_data(power=POWERS[-1])
    if strongest.training.log_slope == 0.0:
        return state  # nothing is low
    choices = [state.with_data(power=power) for power in tried]
    best = max(choices, key=lambda choice: log_likelihood(rng, choice, settings))
    if best.power == state.power:
        return state
    return replace(best, full_refit=True, fit=None, memory=None)


def log_likelihood(rng: np.random.Generator, state: State, settings: Settings) -> float:
    """Log marginal likelihood of the values as they came, at the mode of the hyperparameters."""
    data = state.training.data
    prior = hyperprior(state, data, settings)
    marginal = MarginalLikelihood(data)
    mode = find_mode(rng, Hyperposterior(marginal, prior))
    return marginal.value(prior.constrain(mode)) + state.training.log_slope
