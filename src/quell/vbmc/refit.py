"""Surrogate and posterior fitted to all evaluations, and the record of it."""

from dataclasses import replace

import numpy as np

from quell.gp import GaussianProcess
from quell.mixture import Mixture, entropy_lower_bound
from quell.mixture.divergence import gaussian_skl
from quell.quadrature import Quadrature
from quell.settings import Settings
from quell.variational import VariationalFit, fit_mixture
from quell.variational.islands import with_islands
from quell.vbmc import reliability as rel
from quell.vbmc.coordinates import Carried
from quell.vbmc.state import Action, Iteration, Solution, State
from quell.vbmc.support import cutting_planes, inside
from quell.vbmc.training import fit_surrogate
from quell.vbmc.training_set import support_from

#: Components in warm-up (paper, section 2.1).
WARMUP_COMPONENTS = 2
#: Starts scored by a normal and by a full refit of the mixture, and climbs of a full one; a normal
#: one is a warm start, so that one climb on one base sample is enough.
N_STARTS, N_STARTS_FULL, N_CLIMBS_FULL = 5, 40, 2
WARM_ITERATIONS = 30
#: Every evaluation is followed by a refit in the iteration after one with an index above this
#: (paper, supplement B.1), and in so many after warm-up (reference implementation).
UNRELIABLE = 3.0
WATCHED_AFTER_WARMUP = 2
#: Points of the base samples of a warm start, to climb on and to score by: fewest and most per
#: component, and in all. Their cost grows with the square of the number of components.
WARM_BASE, WARM_SCORING = (64, 256, 4096), (128, 512, 8192)


def refit(rng: np.random.Generator, state: State, settings: Settings, action: Action) -> State:
    """Train the surrogate, fit the mixture, and append the iteration to the history."""
    state = with_cuts(rng, state)
    fit = fit_surrogate(rng, state, settings)
    start = better_start(state, fit.gp)
    if start is not None and settings.look_around:
        start = with_islands(fit.gp, start)
    variational = fit_posterior(rng, fit.gp, start, state, settings)
    record = _record(state, fit.gp, variational, settings, action)
    return replace(
        state,
        fit=fit,
        memory=fit.memory,
        mixture=variational.mixture,
        before=variational.mixture,
        full_refit=False,
        in_iteration=0,
        frequent=_retrain_frequently(state, record, settings),
        history=(*state.history, record),
    )


def with_cuts(rng: np.random.Generator, state: State) -> State:
    """The state with planes beside the support where the posterior reaches over its edge."""
    state = with_found(state)
    if state.support is None:
        return state
    x, mixture = state.training.data.x, state.mixture
    if mixture is None:
        lengths = np.maximum(x.std(axis=0), np.finfo(np.float64).tiny)
        mixture = Mixture(np.ones(1), x.mean(axis=0)[None], np.ones(1), lengths)
    known = x[inside(state.support, state.space, x)]
    cuts = cutting_planes(rng, state.support, state.space, mixture, known, state.cuts)
    return state.with_data(cuts=cuts)


def with_found(state: State) -> State:
    """The state with the edges of its support that the evaluations tell of.

    Not in warm-up, when too little is known to cut anything off.
    """
    if state.warmup:
        return state
    found = support_from(
        state.evaluations, state.given, state.space, noisy=state.noisy, before=state.found
    )
    if found is state.found:
        return state
    return state.with_data(found=found, support=state.given if found is None else found, cuts=None)


def fit_posterior(
    rng: np.random.Generator, gp: GaussianProcess, start: Mixture | None, state: State,
    settings: Settings,
) -> VariationalFit:  # fmt: skip
    """The mixture's fit at the end of an iteration."""
    n_components = WARMUP_COMPONENTS
    if start is not None:
        n_components = max(start.n_components, WARMUP_COMPONENTS)
        if not state.warmup and state.history:
            n_components = rel.next_component_count(
                state.history, start, gp.data.size, noisy=state.noisy,
                batch=settings.batch, full_refit=state.full_refit,
            )  # fmt: skip
    free = not state.warmup or n_components > WARMUP_COMPONENTS
    if state.full_refit or start is None:
        return fit_mixture(
            rng, gp, start, n_components=n_components, n_starts=N_STARTS_FULL,
            n_climbs=N_CLIMBS_FULL, weights=free, prune=free,
        )  # fmt: skip
    return fit_mixture(
        rng, gp, start, n_components=n_components, n_starts=N_STARTS, weights=free, prune=free,
        base_sizes=(per_component(n_components, *WARM_BASE),),
        scoring_size=per_component(n_components, *WARM_SCORING), max_iterations=WARM_ITERATIONS,
    )  # fmt: skip


def per_component(n_components: int, fewest: int, most: int, total: int) -> int:
    """Even number of base points for each component so that there are about ``total`` in all.

    >>> per_component(4, 64, 256, 4096), per_component(50, 64, 256, 4096)
    (256, 80)
    """
    return int(np.clip(2 * (total // (2 * n_components)), fewest, most))


def better_start(state: State, gp: GaussianProcess) -> Mixture | None:
    """The mixture from before this iteration's quick refits, if the surrogate likes it more."""
    if state.mixture is None or state.before is None or state.before is state.mixture:
        return state.mixture
    quadrature = Quadrature(gp)

    def bound(mixture: Mixture) -> float:
        return quadrature.mean_and_gradient(mixture)[0] + entropy_lower_bound(mixture)

    return max(state.mixture, state.before, key=bound)


def _retrain_frequently(state: State, record: Iteration, settings: Settings) -> bool:
    """Whether the next iteration refits after every evaluation (paper, supplement B.1)."""
    recent = (
        state.last_warmup is None or record.index + 1 <= state.last_warmup + WATCHED_AFTER_WARMUP
    )
    wanted = state.noisy if settings.frequent_retrain is None else settings.frequent_retrain
    return wanted and bool(recent or record.reliability > UNRELIABLE)


def _record(
    state: State, gp: GaussianProcess, variational: VariationalFit, settings: Settings,
    action: Action,
) -> Iteration:  # fmt: skip
    elbo = variational.elbo
    previous = state.history[-1] if state.history else None
    gskl = np.inf
    if previous is not None:
        old = previous.solution
        then = Carried.of(old.mixture, old.space, state.space)
        now = variational.mixture
        gskl = gaussian_skl(then.mean(), then.covariance(), now.mean(), now.covariance())
    noise_sd = rel.noise_near_mode(gp)
    r = rel.reliability_index(
        elbo.value, elbo.sd, gskl, previous, len(state.history), state.dimension, noise_sd
    )
    n_evaluations = len(state.evaluations)
    believable = rel.is_believable(elbo, gp.data)
    if state.settling:  # no test of stability, but it may show that there was none
        stable = believable and state.history[-1].stable and r < rel.RELIABLE
    else:
        stable = believable and rel.is_stable(
            state.history, n_evaluations, elbo.lower_confidence_bound(rel.IMPROVEMENT_BETA), r,
            noisy=state.noisy, batch=settings.batch,
        )  # fmt: skip
    return Iteration(
        index=len(state.history) + 1,
        action=action,
        n_evaluations=n_evaluations,
        n_training=gp.data.size,
        elbo=elbo.value,
        elbo_sd=elbo.sd,
        gskl=gskl,
        reliability=r,
        stable=stable,
        n_components=variational.mixture.n_components,
        n_pruned=variational.n_pruned,
        n_samples=gp.n_samples,
        noise_sd=noise_sd,
        warmup=state.warmup,
        solution=Solution(
            state.space, variational.mixture, elbo, gp.data, gp.theta, gp.weights, state.support
        ),
        believable=believable,
        settling=state.settling,
        noise_scale=state.noise_scale,
    )  # fmt: skip
