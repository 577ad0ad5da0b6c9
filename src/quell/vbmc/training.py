"""From the table of evaluations to the surrogate's training set, and the fit to it."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from quell.arrays import BoolArray, FloatArray
from quell.evaluations import Evaluations
from quell.gp import (
    GaussianProcess,
    HyperparameterPrior,
    TrainedGP,
    TrainingData,
    refresh,
    retrain,
    shape_noise,
    train,
)
from quell.settings import Settings
from quell.space import InferenceSpace
from quell.vbmc.state import State
from quell.vbmc.subset import kept_rows, learning_rows

#: A value this many nats below the best is as good as zero density: some targets return a huge
#: negative number where they mean that.
HOPELESS = 1e6
#: Zero density is entered with at least this SD.
SMALLEST_CENSORED_SD = 0.1
#: Most hyperparameter samples held in warm-up, and how their number falls with the data.
MOST_SAMPLES_IN_WARMUP = 8
SAMPLES_TIMES_ROOT_N = 80.0
#: Iterations between global searches for another mode of the hyperparameters, where refits wait.
SEARCH_INTERVAL = 6
#: At the end of an iteration the hyperparameter samples move on, and their mode is found anew,
#: once there are so many times ``Settings.retrain_share`` more evaluations.
MOVE_SHARES, MODE_SHARES = 2, 5


def training_set(state: State, settings: Settings) -> tuple[TrainingData, np.ndarray, FloatArray]:
    """Training data in the current space, the evaluations behind them, and single-evaluation SDs.

    Repeated evaluations of one point are one observation: their precision-weighted mean. The
    returned row of an observation is that of its first evaluation. Failed and trimmed
    evaluations are left out; a point of zero density, or next to it (`HOPELESS`), enters as a low
    value (see :func:`censored`). Of very many points some are chosen (see
    :mod:`quell.vbmc.subset`).
    """
    return _training_set(
        state.evaluations, state.trimmed.tobytes(), state.space, state.noisy,
        settings.noise_shaping,
    )  # fmt: skip


@lru_cache(maxsize=4)  # one step of the algorithm wants the same set several times
def _training_set(
    table: Evaluations, trimmed: bytes, space: InferenceSpace, noisy: bool, shape: bool
) -> tuple[TrainingData, np.ndarray, FloatArray]:
    used = ~np.frombuffer(trimmed, dtype=bool)
    hopeless = is_hopeless(table.log_joint)
    merged = table.merge_duplicates(used & ~hopeless)
    rows, theta, y, sd = merged.row, merged.theta, merged.log_joint, merged.sd
    single = sd * np.sqrt(merged.count)
    zero = np.flatnonzero((table.zero_density | hopeless) & used)
    if len(zero):
        low, low_sd = censored(y, sd, space.dimension)
        rows = np.concatenate([rows, zero])
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
        theta = np.concatenate([theta, table.theta[zero]])[order]
        y = np.concatenate([y, np.full(len(zero), low)])[order]
        sd = np.concatenate([sd, np.full(len(zero), low_sd)])[order]
        single = np.concatenate([single, np.full(len(zero), low_sd)])[order]
    x = space.to_inference(theta)
    y = y + space.log_jacobian(x)
    kept = kept_rows(x, y, noisy)
    if kept is not None:
        x, y, sd, rows, single = x[kept], y[kept], sd[kept], rows[kept], single[kept]
    data = TrainingData.from_arrays(x, y, sd)
    if shape:
        data = shape_noise(data)
    return data, rows, single


def is_hopeless(log_joint: FloatArray) -> BoolArray:
    """Mask (N,) of values so far below the best that the surrogate could not resolve the others.

    >>> is_hopeless(np.array([-2.0, np.nan, -1e300, -9.0]))
    array([False, False,  True, False])
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(log_joint < np.fmax.reduce(log_joint, initial=-np.inf) - HOPELESS)


def censored(log_joint: FloatArray, sd: FloatArray, dimension: int) -> tuple[float, float]:
    """Value and SD by which a point of zero density enters the training set.

    As low as the lowest value kept, at most 10 D below the best: known to be low, not how low. It
    is about as noisy as the others, given their values and SDs, each (n,). If it were much noisier,
    exact values around would make the surrogate go on smoothly where there is no density.
    """
    best = float(log_joint.max())
    low = max(float(log_joint.min()), best - 10.0 * dimension)
    known = sd[~np.isnan(sd)]
    most = 1.0 + 0.1 * dimension
    typical = float(np.median(known)) if len(known) else most
    return min(low, best - 5.0), float(np.clip(typical, SMALLEST_CENSORED_SD, most))


def sample_count(state: State, settings: Settings) -> int:
    """How many hyperparameter samples to hold; 0 for the mode alone."""
    if settings.hyperparameters == "map":
        return 0
    n = len(state.evaluations)
    most = settings.max_samples
    if state.warmup:
        most = min(most, MOST_SAMPLES_IN_WARMUP)
    count = min(most, round(SAMPLES_TIMES_ROOT_N / np.sqrt(n)))
    if n >= 200 + 10 * state.dimension and settings.min_samples == 1:
        return 0
    return max(count, settings.min_samples)


def hyperprior(
    state: State, data: TrainingData, settings: Settings, noise_guess: float | None
) -> HyperparameterPrior:
    """The prior of the hyperparameters; what the quadratic leaves over is expected to be about D.

    That is twice what the log density of a normal falls by, on average, from its mode to its draws.
    """
    return HyperparameterPrior.for_data(
        data, plausible_range=state.plausible_range, noise_guess=noise_guess,
        output_scale=float(state.dimension) if settings.output_scale_prior else None,
        empirical=settings.rules_of_2018,
    )  # fmt: skip


def fit_surrogate(
    rng: np.random.Generator, state: State, data: TrainingData, settings: Settings,
    noise_guess: float | None,
) -> TrainedGP:  # fmt: skip
    """Train at the end of an iteration, as thoroughly as the last one's reliability asks for.

    Full search after a change of the training set or the space, and now and then while
    unreliable. Otherwise the samples of the last fit move on, with a new mode and metric at
    times; a few more among many observations are only conditioned on. Of very many points some
    are learnt from.
    """
    rows = learning_rows(data.x)
    if rows is not None:
        fit = fit_surrogate(rng, state, data.part(rows), settings, noise_guess)
        return replace(fit, gp=GaussianProcess.condition(data, fit.gp.theta, fit.gp.weights))
    prior = hyperprior(state, data, settings, noise_guess)
    n_samples = sample_count(state, settings)
    interval = SEARCH_INTERVAL if settings.retrain_share else 1
    search = state.reliability > 1 and len(state.history) % interval == 0
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
    if search or _has_grown(state, MODE_SHARES * settings.retrain_share):
        return retrain(rng, fit, data, prior=prior, search=search)
    if _has_grown(state, MOVE_SHARES * settings.retrain_share):
        return refresh(rng, fit, data, prior=prior)
    return replace(fit, gp=_conditioned(fit.gp, data))


def _has_grown(state: State, share: float) -> bool:
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


def quick_fit(
    rng: np.random.Generator, state: State, data: TrainingData, settings: Settings,
    noise_guess: float | None,
) -> TrainedGP:  # fmt: skip
    """Follow one more observation within an iteration.

    Where a refit is due the samples make a trajectory each (or the mode is found anew);
    otherwise the hyperparameters stay as they are.
    """
    assert state.fit is not None
    gp = state.fit.gp
    due = refit_is_due(state, settings)
    if learning_rows(data.x) is not None and due:
        return fit_surrogate(rng, state, data, settings, noise_guess)
    if gp.data.has_unknown_noise != data.has_unknown_noise:
        return fit_surrogate(rng, state, data, settings, noise_guess)
    if due:
        prior = hyperprior(state, data, settings, noise_guess)
        if sample_count(state, settings) == 0:
            return train(rng, data, n_samples=0, previous=state.memory, prior=prior)
        return refresh(rng, state.fit, data, prior=prior)
    return replace(state.fit, gp=_conditioned(gp, data))
