"""The end of warm-up: when the bulk of the posterior has been found, and what is then dropped."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quell.arrays import BoolArray, FloatArray
from quell.evaluations import Origin
from quell.quadrature import Quadrature
from quell.settings import Settings
from quell.vbmc.reliability import IMPROVEMENT_BETA
from quell.vbmc.state import FALSE_ALARM_RELIABILITY, Overview, State

#: Evaluations that are no steps of the search for the posterior.
NO_STEPS = (Origin.LOOK, Origin.AGAIN)
#: How the end of warm-up is told: see `warmup_is_over`.
Rule = Literal["hindsight", "paper", "2018"]

# All as in the reference implementation, where nothing else is said.

#: Evaluations without progress, and progress per evaluation (nats) that counts as none.
STALL_EVALUATIONS = 15
STALL_PER_EVALUATION = 0.2
#: The ELBOs of the first iterations do not count: so many for what was reached before the stall,
#: and one more for the stall itself.
IGNORED_ITERATIONS = 2
#: A long stall: evaluations, and more of them per coordinate, in which the best lower bound of the
#: log joint has risen by less than this (nats).
LONG_STALL, LONG_STALL_PER_DIMENSION = 20, 5
NEGLIGIBLE = 0.01
#: Evaluations between two times that some are dropped.
TRIMMING_INTERVAL = 10
#: Nats below the best that are kept at the end of warm-up, per D; at a false alarm, per D + 2.
KEPT_PER_DIMENSION = 10
KEPT_AT_FALSE_ALARM = 100


def n_steps(origins: Sequence[Origin]) -> int:
    """How many evaluations are steps of the search.

    Not looks at what is elsewhere, nor repeats of what was not believed. Only steps can be expected
    to make progress, so windows and iterations are counted in them.

    >>> n_steps([Origin.DESIGN, Origin.LOOK, Origin.SEARCH, Origin.AGAIN])
    2
    """
    return sum(origin not in NO_STEPS for origin in origins)


def steps_so_far(state: State) -> NDArray[np.intp]:
    """The steps (t,) made by the end of each iteration."""
    is_step = np.array(
        [origin not in NO_STEPS for origin in state.evaluations.origin], dtype=np.intp
    )
    made = np.concatenate([[0], np.cumsum(is_step)])
    return np.asarray(made[[it.n_evaluations for it in state.history]])


def running_lower_bounds(state: State) -> FloatArray:
    """Largest f̄ - 3 SD under the current surrogate among the points known at each iteration.

    The surrogate has just been fitted to the state's training set.
    """
    assert state.fit is not None
    rows = state.training.rows
    mean, variance = state.fit.gp.pooled(state.fit.gp.data.x)
    bounds = mean - IMPROVEMENT_BETA * np.sqrt(variance)
    return np.array(
        [bounds[rows < iteration.n_evaluations].max(initial=-np.inf) for iteration in state.history]
    )


def elbos_in_hindsight(state: State) -> FloatArray:
    """ELBOs (t,) of the posteriors of all iterations so far, under the current surrogate."""
    assert state.fit is not None
    quadrature = Quadrature(state.fit.gp)
    return np.array(
        [
            quadrature.mean_and_gradient(it.solution.mixture)[0] + it.solution.elbo.entropy
            if it.solution.space is state.space
            else -np.inf
            for it in state.history
        ]
    )


def has_stalled_in_hindsight(state: State, batch: int) -> bool:
    """Whether the posterior is hardly better than before a long stall, as seen by now.

    Lower confidence bounds also rise because the surrogate becomes surer of what it knows, under
    noise for a long time.
    """
    steps = steps_so_far(state)
    long_ago = steps <= steps[-1] - longest_stall(state)
    if not long_ago.any():
        return False
    elbos = elbos_in_hindsight(state)
    return bool(elbos.max() - elbos[long_ago].max() < STALL_PER_EVALUATION * batch)


def longest_stall(state: State) -> int:
    """Steps without progress that end warm-up by themselves."""
    return LONG_STALL + LONG_STALL_PER_DIMENSION * state.dimension


def warmup_is_over(state: State, batch: int, rule: Rule = "hindsight") -> bool:
    """Whether the search for the bulk has stalled, by one of the criteria.

    The "paper"'s: the lower confidence bounds of the ELBO and of the values at the points have
    stalled, or the latter for long. Before the paper ("2018") the ELBO's had to do. By default the
    ELBO may also have stalled for long in "hindsight".
    """
    history = state.history
    t = len(history)
    window = int(np.ceil(STALL_EVALUATIONS / batch))
    bounds = np.array([it.lower_bound(IMPROVEMENT_BETA) for it in history])
    smallest_gain = STALL_PER_EVALUATION * batch

    elbo_stalled = False
    if t > window + 1:
        recent = bounds[max(IGNORED_ITERATIONS + 1, t - window) :]
        earlier = bounds[IGNORED_ITERATIONS : t - window]
        if len(recent) and len(earlier):
            elbo_stalled = recent.max() - earlier.max() < smallest_gain
    if rule == "2018":
        return bool(elbo_stalled)
    lcb = running_lower_bounds(state)
    lcb_stalled = t > window and lcb[-window:].max() - lcb[:-window].max() < smallest_gain

    first = int(np.argmax(lcb > lcb.max() - NEGLIGIBLE))
    steps = steps_so_far(state)
    long_stall = bool(steps[-1] - steps[first] > longest_stall(state))
    if rule == "hindsight" and not long_stall:
        long_stall = has_stalled_in_hindsight(state, batch)

    last_trim = state.trims[-1] if state.trims else 0
    # Where nothing new comes there is nothing to wait for.
    far_enough = state.settling or history[-1].n_evaluations - last_trim >= TRIMMING_INTERVAL
    return bool(((elbo_stalled and lcb_stalled) or long_stall) and far_enough)


def warmup_rule(settings: Settings) -> Rule:
    """The rule that goes with the settings.

    >>> warmup_rule(Settings()), warmup_rule(Settings.variant("paper-viqr"))
    ('hindsight', 'paper')
    """
    if settings.rules_of_2018:
        return "2018"
    return "paper" if settings.whitening_schedule == "paper" else "hindsight"


def trimming_depth(state: State, *, over: bool) -> float:
    """How far below the best evaluations are dropped, in nats, warm-up being ``over`` or not."""
    dimension, n_trims = state.dimension, len(state.trims)
    depth = KEPT_PER_DIMENSION * dimension if over else KEPT_AT_FALSE_ALARM * (dimension + 2)
    return float(depth * (1 + n_trims))


def leave_warmup(state: State, *, at_once: bool = False) -> State:
    """End warm-up, or note a false alarm; either way drop the lowest evaluations.

    ``at_once`` trusts the first alarm, as before the paper.
    """
    if at_once or state.reliability < FALSE_ALARM_RELIABILITY or len(state.trims) > 0:
        return end_warmup(state)
    state = state.with_data(trimmed=state.trimmed | _low(state, over=False), full_refit=True)
    return replace(state, trims=(*state.trims, len(state.evaluations)))


def end_warmup(state: State) -> State:
    """The state after warm-up, without the lowest evaluations."""
    overview = Overview.of(state) if state.warmup else state.overview
    low = _low(state, over=True)
    state = state.with_data(trimmed=state.trimmed | low, full_refit=True, warmup=False)
    return replace(
        state, last_warmup=len(state.history), last_whitening=len(state.history),
        n_whitenings=0, overview=overview,
    )  # fmt: skip


def _low(state: State, *, over: bool) -> BoolArray:
    """Mask (N,) of the evaluations that are dropped, but for the D + 1 best."""
    log_joint = state.evaluations.log_joint
    usable = state.evaluations.ok & ~state.trimmed
    low = usable & (log_joint[usable].max() - log_joint >= trimming_depth(state, over=over))
    best = np.flatnonzero(usable)[np.argsort(-log_joint[usable], kind="stable")]
    low[best[: state.dimension + 1]] = False
    return np.asarray(low)
