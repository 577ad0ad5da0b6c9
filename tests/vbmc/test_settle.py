"""Evaluations that come in one piece: as much work as if they had come one by one."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.vbmc import fitted_state, make_history, make_problem, make_state, make_table, quadratic

from quell import Settings
from quell.vbmc import absorb, close_iteration, initial_state
from quell.vbmc.reliability import STABLE_EVALUATIONS, is_stable
from quell.vbmc.settle import (
    QUIET_ITERATIONS,
    are_all_given,
    is_settled,
    iterations_owed,
    settle,
)

QUICK = Settings(hyperparameters="map", final_components=0)


def rng(seed=0):
    return np.random.default_rng(seed)


def head_start(n, origin="given", **changes):
    """The state before the first fit, with this many evaluations."""
    problem = make_problem(2, noise="exact")
    theta = rng(3).uniform(-2.5, 3.0, (n, 2))
    table = make_table(problem, theta, quadratic(theta), 0.0, origin=origin)
    state = initial_state(rng(), problem, np.empty((0, 2)), table, noisy=False)
    return replace(state, **changes)


class TestAHeadStart:
    def test_gets_through_warmup_and_grows(self):
        state = head_start(120)
        state = absorb(rng(1), state, QUICK, state.evaluations)
        assert not state.warmup
        assert state.history[-1].n_components > 2
        assert is_settled(state)
        assert not state.settling
        assert [it.settling for it in state.history[:2]] == [False, True]

    def test_of_few_evaluations_leaves_the_run_in_warmup(self):
        """Where more will come, the schedule is that of a run that evaluated as many."""
        state = head_start(25)
        state = absorb(rng(1), state, QUICK, state.evaluations)
        assert len(state.history) == 4  # one for ten, and one for every five more
        assert state.warmup

    def test_of_few_evaluations_is_fitted_thoroughly_where_there_is_nothing_else(self):
        state = head_start(25)
        state = close_iteration(rng(1), absorb(rng(1), state, QUICK, state.evaluations), QUICK)
        assert is_settled(state)
        again = close_iteration(rng(2), state, QUICK)
        assert len(again.history) == len(state.history)  # and that was all

    def test_a_run_that_chooses_points_closes_its_iteration_only(self):
        closed = close_iteration(rng(), fitted_state(n=40, in_iteration=3), QUICK)
        assert len(closed.history) == 1

    def test_a_false_alarm_does_not_keep_it_in_warmup(self, monkeypatch):
        """After one, the next end of warm-up waits for evaluations, which do not come."""
        monkeypatch.setattr("quell.vbmc.warmup.FALSE_ALARM_RELIABILITY", -1.0)
        state = head_start(80)
        state = absorb(rng(1), state, QUICK, state.evaluations)
        assert len(state.trims) == 1
        assert not state.warmup


@pytest.mark.parametrize(
    ("n", "in_iteration", "design", "owed"),
    [(10, 10, 10, 1), (14, 14, 10, 1), (15, 0, 10, 2), (60, 0, 10, 11), (60, 5, None, 1),
     (60, 4, None, 1), (60, 23, None, 4), (12, 0, 20, 1)],
)  # fmt: skip
def test_iterations_owed(n, in_iteration, design, owed):
    state = replace(head_start(n), in_iteration=in_iteration)
    assert iterations_owed(state, 5, design) == owed


def test_evaluations_that_failed_are_owed_nothing():
    values = np.append(np.zeros(10), np.full(30, np.nan))
    state = make_state(make_problem(), rng().uniform(-1, 1, (40, 2)), values)
    assert iterations_owed(state, 5, 10) == 1


class TestSettled:
    def quiet(self, n=QUIET_ITERATIONS, **changes):
        columns = {"settling": True, "gskl": 0.001, "n_evaluations": 50}
        history = (*make_history(1, n_evaluations=50), *make_history(n, **(columns | changes)))
        return fitted_state(history=history)

    def test_after_some_quiet_iterations(self):
        assert is_settled(self.quiet())
        assert not is_settled(self.quiet(QUIET_ITERATIONS - 1))

    def test_not_in_warmup(self):
        assert not is_settled(replace(self.quiet(), warmup=True))

    @pytest.mark.parametrize(
        "loud",
        [{"gskl": 0.015}, {"elbo": 0.4}, {"action": "whitening"}, {"settling": False}],
    )
    def test_not_while_something_changes(self, loud):
        """Tolerances at D = 2 and noise of SD 1: 0.32 nats, gsKL 0.014."""
        state = self.quiet()
        changed = replace(state.history[-2], **loud)
        state = replace(state, history=(*state.history[:-2], changed, state.history[-1]))
        assert not is_settled(state)

    def test_uncertainty_is_no_change(self):
        assert is_settled(self.quiet(elbo_sd=5.0, reliability=6.0))

    def test_not_more_often_than_allowed(self):
        state = head_start(40)
        state = settle(rng(), absorb(rng(1), state, QUICK, state.evaluations), QUICK, 0)
        before = len(state.history)
        assert len(settle(rng(), state, QUICK, 2).history) == before + 2


class TestStability:
    """On the same evaluations everything comes to rest, which proves nothing."""

    def test_iterations_without_evaluations_do_not_count(self):
        n = STABLE_EVALUATIONS[True] // 5
        how = {"noisy": True, "batch": 5}
        assert is_stable(make_history(n), 200, 0.0, 0.5, **how)
        assert not is_stable(make_history(n, settling=True), 200, 0.0, 0.5, **how)

    def test_a_head_start_alone_is_not_stable(self):
        state = head_start(120)
        state = absorb(rng(1), state, QUICK, state.evaluations)
        assert len(state.history) > STABLE_EVALUATIONS[False] // 5
        assert not any(it.stable for it in state.history)


@pytest.mark.parametrize(
    ("origins", "given"), [("given", True), ("user", True), ("search", False), ("design", False)]
)
def test_whose_evaluations(origins, given):
    assert are_all_given(head_start(3, origins).evaluations) == given
