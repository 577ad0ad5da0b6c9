"""The surrogate's fit: how many hyperparameter samples, how thorough, and when."""

from dataclasses import replace

import numpy as np

from quell.gp import (
    GaussianProcess,
    HyperparameterPrior,
    TrainedGP,
    TrainingData,
    refresh,
    retrain,
    train,
)
from quell.gp.pooling import between_variance
from quell.settings import Settings
from quell.vbmc.state import Iteration, State
from quell.vbmc.subset import MOST_POINTS, RENEWAL, learning_part

#: Most hyperparameter samples held in warm-up, and how their number falls with the data; after the
#: last number of evaluations, and so many more per coordinate, the paper's variants hold the mode
#: alone (reference implementation; the paper says "later").
MOST_SAMPLES_IN_WARMUP = 8
SAMPLES_TIMES_ROOT_N = 80.0
MODE_ALONE_FROM, MODE_ALONE_PER_DIMENSION = 200, 10
#: They also do so where the samples hardly differ in what they say of the ELBO: half of the last
#: iteration, half of all, with weights that fall with the evaluations since (reference
#: implementation).
NO_DIFFERENCE = 1e-4
REMEMBERED_EVALUATIONS = 10.0
#: Search for hyperparameters again while the solution is less reliable than this.
SEARCH_ABOVE = 1.0
#: Iterations between global searches for another mode of the hyperparameters, where refits wait.
SEARCH_INTERVAL = 6
#: At the end of an iteration the hyperparameter samples move on, and their mode is found again,
#: once there are so many times ``Settings.retrain_share`` more evaluations.
MOVE_SHARES, MODE_SHARES = 2, 5


def sample_count(state: State, settings: Settings) -> int:
    """How many hyperparameter samples to hold; 0 for the mode alone."""
    if settings.hyperparameters == "map":
        return 0
    n = len(state.evaluations)
    most = settings.max_samples
    if state.warmup:
        most = min(most, MOST_SAMPLES_IN_WARMUP)
    count = min(most, round(SAMPLES_TIMES_ROOT_N / np.sqrt(n)))
    mode_alone_from = MODE_ALONE_FROM + MODE_ALONE_PER_DIMENSION * state.dimension
    if settings.min_samples == 1 and (n >= mode_alone_from or samples_make_no_difference(state)):
        return 0
    return max(count, settings.min_samples)


def samples_make_no_difference(state: State) -> bool:
    """Whether the mode of the hyperparameters will do, by the ELBOs so far; then it does for good.

    Never in warm-up.
    """
    history = state.history
    if state.warmup or not history:
        return False
    if any(it.n_samples == 1 for it in history if not it.warmup):
        return True
    counts = np.array([it.n_evaluations for it in history])
    weights = np.exp((counts - counts[-1]) / REMEMBERED_EVALUATIONS)
    weights /= 2 * weights.sum()
    weights[-1] += 0.5
    return bool(weights @ [difference_between_samples(it) for it in history] < NO_DIFFERENCE)


def difference_between_samples(iteration: Iteration) -> float:
    """How much hyperparameter samples differ in what they say of the expected log joint G.

    The variance of E_s[G] over the samples s, and the SD of V_s[G]; that one is a variance and the
    other an SD is as in the reference implementation.
    """
    solution = iteration.solution
    integral = solution.elbo.expected_log_joint
    of_variances = between_variance(integral.sample_variances, solution.weights)
    return integral.between + float(np.sqrt(of_variances))


def hyperprior(state: State, data: TrainingData, settings: Settings) -> HyperparameterPrior:
    """The prior of the hyperparameters; what the quadratic leaves over is expected to be about D.

    That is twice what the log density of a normal falls by, on average, from its mode to its draws.
    """
    return HyperparameterPrior.for_data(
        data, plausible_range=state.plausible_range, noise_guess=state.noise_guess,
        output_scale=float(state.dimension) if settings.output_scale_prior else None,
        empirical=settings.rules_of_2018,
    )  # fmt: skip


def learnt_from(data: TrainingData, settings: Settings) -> TrainingData:
    """What hyperparameters are learnt from: all observations, or a part of many.

    Where no time is saved (``retrain_share`` of 0, the paper's) of very many only.
    """
    if settings.retrain_share == 0 and data.size < MOST_POINTS - RENEWAL:
        return data
    return learning_part(data)


def fit_surrogate(rng: np.random.Generator, state: State, settings: Settings) -> TrainedGP:
    """Train at the end of an iteration, as thoroughly as the last one's reliability asks for.

    Full search after a change of the training set or the space, and now and then while
    unreliable. Otherwise the samples of the last fit move on, with a new mode and metric at
    times; a few more among many observations are only conditioned on. Of many observations some
    are learnt from.
    """
    data = state.training.data
    fit = _learnt(rng, state, learnt_from(data, settings), settings)
    return fit if fit.gp.data is data else replace(fit, gp=_conditioned(fit.gp, data))


def _learnt(
    rng: np.random.Generator, state: State, data: TrainingData, settings: Settings
) -> TrainedGP:
    """The hyperparameters of `fit_surrogate`, learnt from ``data``.

    The surrogate is of these data, or of those before where the hyperparameters are still theirs.
    """
    prior = hyperprior(state, data, settings)
    n_samples = sample_count(state, settings)
    interval = SEARCH_INTERVAL if settings.retrain_share else 1
    search = state.reliability > SEARCH_ABOVE and len(state.history) % interval == 0
    memory = state.memory if state.fit is None else state.fit.memory
    if (
        memory is None
        or state.full_refit
        or n_samples == 0
        or n_samples > len(memory.vectors) - 1
        or memory.vectors.shape[1] != prior.layout.size  # noise of unknown size came or went
    ):
        return train(
            rng, data, n_samples=n_samples, previous=memory,
            search=search or state.full_refit, prior=prior,
        )  # fmt: skip
    if state.fit is None:  # a new space
        return retrain(rng, memory, data, prior=prior)
    fit = state.fit
    if n_samples < fit.gp.n_samples:
        keep = np.sort(rng.choice(fit.gp.n_samples, n_samples, replace=False))
        fit = replace(fit, gp=fit.gp.select(keep))
    if search or has_grown(state, MODE_SHARES * settings.retrain_share):
        return retrain(rng, fit, data, prior=prior, search=search)
    if has_grown(state, MOVE_SHARES * settings.retrain_share):
        return refresh(rng, fit, data, prior=prior)
    return fit


def has_grown(state: State, share: float) -> bool:
    """Whether the number of evaluations has passed a rung of a ladder since the last iteration.

    The rungs are this ``share`` apart; with 0 they are everywhere.
    """
    if share == 0 or not state.history:
        return True
    before, now = state.history[-1].n_evaluations, len(state.evaluations)
    return int(np.log(now) / np.log1p(share)) > int(np.log(before) / np.log1p(share))


def _conditioned(gp: GaussianProcess, data: TrainingData) -> GaussianProcess:
    """The surrogate on other data, hyperparameters unchanged; cheap for one more observation."""
    before = data.subset(slice(-1)) if data.size == gp.data.size + 1 else None
    if before is not None and before.equals(gp.data):
        return gp.append(data.x[-1], data.y[-1], float(np.sqrt(data.variance[-1])))
    return GaussianProcess.condition(data, gp.theta, gp.weights)


def refit_is_due(state: State, settings: Settings) -> bool:
    """Whether surrogate and posterior are refitted within the iteration, at this evaluation."""
    wait = max(1, int(np.ceil(settings.retrain_share * len(state.evaluations))))
    return state.frequent and state.in_iteration % wait == 0


def quick_fit(rng: np.random.Generator, state: State, settings: Settings) -> TrainedGP:
    """Follow one more observation within an iteration.

    Where a refit is due the samples make a trajectory each (or the mode is found again);
    otherwise the hyperparameters stay as they are.
    """
    assert state.fit is not None
    gp, data = state.fit.gp, state.training.data
    if gp.data.has_unknown_noise != data.has_unknown_noise:
        return fit_surrogate(rng, state, settings)
    fit = state.fit
    if refit_is_due(state, settings):
        part = learnt_from(data, settings)
        prior = hyperprior(state, part, settings)
        if sample_count(state, settings) == 0:
            fit = train(rng, part, n_samples=0, previous=state.memory, prior=prior)
        else:
            fit = refresh(rng, fit, part, prior=prior)
    return fit if fit.gp.data is data else replace(fit, gp=_conditioned(fit.gp, data))


def fit_after_surprise(rng: np.random.Generator, state: State, settings: Settings) -> TrainedGP:
    """A new mode of the hyperparameters, searched for everywhere, and the samples moved on.

    For an observation that contradicts the ones there are (see `quell.vbmc.surprise`).
    """
    assert state.fit is not None
    data = state.training.data
    if data.has_unknown_noise != state.fit.gp.data.has_unknown_noise:
        return fit_surrogate(rng, state, settings)
    part = learnt_from(data, settings)
    prior = hyperprior(state, part, settings)
    if sample_count(state, settings) == 0:
        fit = train(rng, part, n_samples=0, previous=state.fit, search=True, prior=prior)
    else:
        fit = retrain(rng, state.fit, part, prior=prior, search=True)
    return fit if part is data else replace(fit, gp=_conditioned(fit.gp, data))
