"""The end of an iteration: a refit; then warm-up, and other coordinates if they are better."""

from dataclasses import replace

import numpy as np

from quell.arrays import FloatArray
from quell.settings import Settings
from quell.space import InferenceSpace
from quell.streams import rng_for_tails
from quell.vbmc.compression import likeliest_compression, with_compression
from quell.vbmc.coordinates import (
    Carried,
    change_coordinates,
    go_back,
    log_marginal_likelihood,
)
from quell.vbmc.curvature import stretched
from quell.vbmc.finish import best_iteration
from quell.vbmc.heavy import proposed_tails
from quell.vbmc.leap import follow_law
from quell.vbmc.noise_scale import with_noise_scale
from quell.vbmc.refit import refit
from quell.vbmc.softening import proposed_softness
from quell.vbmc.state import Action, State
from quell.vbmc.training_set import TrainingSet
from quell.vbmc.warmup import leave_warmup, warmup_is_over, warmup_rule
from quell.vbmc.whitening import INTERVAL, LONGEST, axis_ratio, is_scheduled, whitening_is_due

#: A surrogate is lost in new coordinates if the SD of the ELBO is larger than before by this factor
#: and this many nats (docs/experiments/ridges.md).
LOST = (1.5, 0.3)
#: A change of the posterior (gsKL) that has to be paid for by the likelihood of the observations:
#: the paper's limit for a usable one.
LARGE_CHANGE = 1.0
#: What is added to the count of changes for one that was taken back, so that the next waits longer
#: than after one that was kept (reference implementation).
COUNTED_AS = 2


def end_iteration(rng: np.random.Generator, state: State, settings: Settings) -> State:
    """Refit everything to all evaluations and close the iteration; change coordinates if due."""
    state = with_compression(rng, state, settings)
    if settings.robust:
        state = with_noise_scale(rng, state, settings)
    before, state = state, refit(rng, state, settings, action=Action.NONE)
    if not state.history[-1].believable and not state.warmup:
        state = recover(rng, before, state, settings)
    if settings.climb:
        state = (
            follow_law(rng, state, settings) if state.is_searching else replace(state, lead=None)
        )
        if state.history[-1].action == Action.LEAPT:
            return state
    searching = state.warmup and len(state.history) > 1
    if searching and warmup_is_over(state, settings.batch, warmup_rule(settings)):
        state = leave_warmup(state, at_once=settings.rules_of_2018)
        action = Action.TRIMMED if state.warmup else Action.END_OF_WARMUP
        last = replace(state.history[-1], action=action)
        state = replace(state, history=(*state.history[:-1], last))
        if settings.rules_of_2018 and not state.warmup:
            # A round is skipped: an iteration on what is left, without new evaluations.
            state = refit(rng, state, settings, action=Action.NONE)
    if not settings.whitening or state.mixture is None:
        return state
    if settings.whitening_schedule == "paper":
        return state if state.warmup else whiten_by_schedule(rng, state, settings)
    if state.warmup:
        return whiten_on_the_way(rng, state, settings)
    usual = adapt_coordinates(rng, state, settings)
    tried = not state.noisy if settings.heavy_tails is None else settings.heavy_tails
    return adapt_tails(rng, state, usual, settings) if tried else usual


def recover(rng: np.random.Generator, before: State, lost: State, settings: Settings) -> State:
    """On from the last solution that promised no more than was seen, with all evaluations.

    Its coordinates and hyperparameters are the start of a search for better ones. Where that is
    lost as well, once more with low values compressed as is likeliest, and from then on: at face
    value, one of a million nats below the best may be why. Where nothing helps, so be it until
    there are more evaluations; and where the observations speak strongly for the coordinates there
    are now, evaluations will tell. The paper has no such rule.
    """
    if settings.whitening_schedule == "paper":
        return lost
    sane = [iteration for iteration in before.history if iteration.believable]
    back = go_back(rng, before, sane[-1].solution) if sane else before
    again = refit(rng, back, settings, action=Action.WENT_BACK) if sane else lost
    if is_found(again, lost):
        return again
    chosen = likeliest_compression(rng, back.with_data(was_lost=True), settings)
    is_new = chosen.power != (back.power if back.compresses else 1.0)
    if sane and is_new:
        chosen = replace(chosen, memory=back.memory, full_refit=True)
        again = refit(rng, chosen, settings, action=Action.WENT_BACK)
        if is_found(again, lost):
            return again
    lost = lost.with_data(was_lost=True, power=chosen.power)
    return replace(lost, full_refit=lost.full_refit or is_new)


def is_found(again: State, lost: State) -> bool:
    """Whether a fit promises no more than was seen, and nothing speaks for the ``lost`` one."""
    return again.history[-1].believable and not is_far_likelier(again, lost)


def whiten_by_schedule(rng: np.random.Generator, state: State, settings: Settings) -> State:
    """The paper's whitening (supplement B.2): at its time, and kept whatever comes of it."""
    solution = best_iteration(state.history).solution
    shape = Carried.of(solution.mixture, solution.space, state.space).covariance()
    if state.dimension == 1 or not whitening_is_due(state, "paper", shape):
        return state
    white = state.space.whitened(shape)
    turned = change_coordinates(rng, state, white, full_refit=True)
    return refit(rng, turned, settings, action=Action.WHITENING)


def whiten_on_the_way(rng: np.random.Generator, state: State, settings: Settings) -> State:
    """In warm-up: axes along a ridge, if the observations speak strongly for them.

    Along a ridge that is askew to the axes and much narrower than long, the search for the
    posterior creeps.
    """
    if state.dimension == 1 or not state.history[-1].believable or not is_scheduled(state):
        return state
    if not is_expressible(state, state.space):
        return state
    shape = round_shape(state, state.space)
    if axis_ratio(shape) <= LONGEST:
        return state
    turned = change_coordinates(rng, state, state.space.whitened(shape), full_refit=True)
    whitened = refit(rng, turned, settings, action=Action.WHITENING)
    if is_far_likelier(state, whitened):
        return whitened
    return refused(state)


def adapt_coordinates(rng: np.random.Generator, state: State, settings: Settings) -> State:
    """Sharper edges where the posterior calls for them, and axes along which it is round.

    Both are tried together first, then the axes alone. What makes the surrogate worse is taken
    back; the next try then waits an interval longer.
    """
    solution = best_iteration(state.history).solution
    tried = False
    softness = (
        proposed_softness(rng, solution, state.space.softness) if is_scheduled(state) else None
    )
    soft = state.space if softness is None else state.space.with_softness(softness)
    if softness is not None and is_expressible(state, soft):
        tried = True
        shape = round_shape(state, soft)
        action = Action.SOFTENED if np.isnan(state.space.softness).all() else Action.SHARPENED
        changed = change_coordinates(rng, state, soft.whitened(shape), full_refit=True)
        changed = refit(rng, changed, settings, action=action)
        if not is_worse(state, changed) and is_likelier(state, changed):
            return changed
    if state.dimension == 1 or not is_expressible(state, state.space):
        return refused(state) if tried else state
    shape = round_shape(state, state.space)
    if whitening_is_due(state, "adaptive", shape):
        tried = True
        afresh = axis_ratio(shape) > LONGEST
        turned = change_coordinates(rng, state, state.space.whitened(shape), full_refit=afresh)
        whitened = refit(rng, turned, settings, action=Action.WHITENING)
        if not afresh:
            # A small turn is no reason to watch every evaluation again.
            whitened = replace(whitened, frequent=state.frequent)
        if not is_worse(state, whitened):
            return whitened
    return refused(state) if tried else state


def adapt_tails(rng: np.random.Generator, state: State, usual: State, settings: Settings) -> State:
    """The ``usual`` state after an iteration, or one with maps for heavy tails if that is better.

    The observations must be likelier than in the usual coordinates by more than the freedom to
    choose is worth: ½ log N (Schwarz's criterion) for the centre and the scale of every new map.
    What is likelier than a fit that is lost says nothing, so that is waited out.
    The random numbers are others than the run's: one whose tries are all refused is the same run,
    to the last digit, as without.
    """
    n = len(state.history)
    since = max(state.last_tails, state.last_warmup or 0)
    if n - since < INTERVAL * (1 + state.refused_tails) or not usual.history[-1].believable:
        return usual
    rng = rng_for_tails(rng)
    proposal = proposed_tails(rng, best_iteration(state.history).solution, state.space.tails)
    if proposal is None:
        return usual
    tails, n_new = proposal
    space = state.space.with_tails(tails)
    if not is_expressible(state, space):
        return usual
    white = space.whitened(round_shape(state, space))
    changed = change_coordinates(rng, state, white, full_refit=True)
    changed = refit(rng, changed, settings, action=Action.HEAVY_TAILS)
    price = n_new * np.log(changed.training.data.size)
    if likelihood_gain(usual, changed) > price and not is_worse(usual, changed):
        return replace(changed, last_tails=n)
    return replace(usual, last_tails=n, refused_tails=state.refused_tails + 1)


def refused(state: State) -> State:
    """The state after a change of coordinates was taken back: the next try waits longer."""
    return replace(
        state,
        n_whitenings=state.n_whitenings + COUNTED_AS,
        last_whitening=len(state.history) + 1 + INTERVAL,
    )


def is_expressible(state: State, space: InferenceSpace) -> bool:
    """Whether the posterior, and the one that would be returned, are finite in a ``space``."""
    assert state.mixture is not None
    solution = best_iteration(state.history).solution
    pairs = ((state.mixture, state.space), (solution.mixture, solution.space))
    return all(Carried.of(mixture, own, space).is_finite for mixture, own in pairs)


def round_shape(state: State, space: InferenceSpace) -> FloatArray:
    """What is to become round in a ``space``: a covariance (D, D) in its coordinates.

    That of the posterior that would be returned now, stretched along ridges that the evaluations
    together know of.
    """
    solution = best_iteration(state.history).solution
    carried = Carried.of(solution.mixture, solution.space, space)
    training = state.training
    if space is not state.space:
        training = TrainingSet.of(
            state.evaluations, state.trimmed, space, noisy=state.noisy,
            noise_scale=state.noise_scale, found=state.found,
        )  # fmt: skip
    to_standard = (space.rotation * space.scales).T
    return stretched(training.data, carried.mean(), carried.covariance(), to_standard)


def is_worse(old: State, new: State) -> bool:
    """Whether the surrogate is lost in ``new`` coordinates.

    It is less sure of the ELBO than before, or promises more than was seen: too few evaluations,
    seen along other axes, may leave room for a high density that is not there. Or the observations
    are less likely by more than chance, as where a ridge bends and axes along its chord fit it
    nowhere; or less likely at all and the posterior another one: coordinates alone change nothing.

    None of that counts where the observations speak strongly for the new coordinates. A surrogate
    that cannot see along a ridge is sure of a short piece of it; one that can is not, and may
    expect too much of where the ridge leads: the next evaluations are there.
    """
    before, after = old.history[-1], new.history[-1]
    if is_far_likelier(old, new):
        return False
    if is_far_less_likely(old, new):
        return True
    if before.believable and not after.believable:
        return True
    if after.elbo_sd > LOST[0] * before.elbo_sd + LOST[1]:
        return True
    return after.gskl > LARGE_CHANGE and not is_likelier(old, new)


def is_likelier(old: State, new: State) -> bool:
    """Whether the observations are at least as likely in ``new`` coordinates."""
    return likelihood_gain(old, new) >= 0.0


def is_far_less_likely(old: State, new: State) -> bool:
    """Whether they are less likely in ``new`` coordinates by more than fits differ by chance.

    In a fit log-likelihoods are those of samples of p hyperparameters: below the largest by p/2 on
    average, and by about as much this way or that from one fit to another.
    """
    assert new.fit is not None
    return likelihood_gain(old, new) < -0.5 * new.fit.gp.layout.size


def is_far_likelier(old: State, new: State) -> bool:
    """Whether they are so much likelier that it cannot be for the freedom to choose coordinates.

    That is worth ½ log N for every number chosen (Schwarz's criterion): the D (D + 1) / 2 of a
    covariance, and the softness of D edges.
    """
    d = new.dimension
    n_chosen = d * (d + 1) / 2 + d
    return likelihood_gain(old, new) > 0.5 * n_chosen * np.log(new.training.data.size)


def likelihood_gain(old: State, new: State) -> float:
    """By how many nats the observations are likelier in ``new`` coordinates."""
    assert old.fit is not None
    assert new.fit is not None
    return log_marginal_likelihood(new.fit.gp) - log_marginal_likelihood(old.fit.gp)
