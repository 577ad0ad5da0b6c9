"""The end of warm-up: criteria on histories made by hand, trimming, false alarms."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.vbmc import (
    elbo_of,
    fitted_state,
    hand_fit,
    make_history,
    make_iteration,
    make_problem,
    make_state,
    solution_of,
    unbounded_problem,
)

from quell import Settings
from quell.evaluations import Origin
from quell.mixture import Mixture
from quell.vbmc import warmup
from quell.vbmc.warmup import (
    elbos_in_hindsight,
    leave_warmup,
    running_lower_bounds,
    warmup_is_over,
    warmup_rule,
)

BATCH = 5


@pytest.fixture
def is_over(monkeypatch):
    """warmup_is_over for histories of ELBOs and of running lower bounds."""
    problem = make_problem(1)

    def check(
        elbo, lcb, *, n_evaluations=None, trims=(), batch=BATCH, rule="paper", hindsight=None,
        is_look=lambda _: False, **columns,
    ):  # fmt: skip
        n = len(elbo)
        counts = 10 + BATCH * np.arange(n) if n_evaluations is None else n_evaluations
        history = make_history(n, elbo=elbo, n_evaluations=counts, warmup=True, **columns)
        size = int(counts[-1])
        state = make_state(problem, np.linspace(-1, 1, size)[:, None], np.zeros(size))
        origin = tuple(Origin.LOOK if is_look(i) else Origin.SEARCH for i in range(size))
        table = replace(state.evaluations, origin=origin)
        state = replace(state, evaluations=table, history=history, trims=trims)
        monkeypatch.setattr(warmup, "running_lower_bounds", lambda *_: np.asarray(lcb, float))
        monkeypatch.setattr(warmup, "elbos_in_hindsight", lambda *_: np.asarray(hindsight, float))
        return warmup_is_over(state, batch, rule)

    return check


FLAT, RISING = np.zeros(7), 3.0 * np.arange(7)


class TestCriteria:
    def test_stalled_elbo_and_stalled_bound_end_it(self, is_over):
        # the bound still creeps up, so that the long stall is not the reason
        assert is_over(FLAT, 0.05 * np.arange(7))

    def test_either_alone_does_not(self, is_over):
        assert not is_over(RISING, 0.05 * np.arange(7))
        assert not is_over(FLAT, RISING)

    def test_before_the_paper_the_elbo_alone_decided(self, is_over):
        assert is_over(FLAT, RISING, rule="2018")
        assert not is_over(RISING, FLAT, rule="2018")

    def test_progress_is_measured_in_nats_per_evaluation(self, is_over):
        for gain, expected in ((0.95, True), (1.05, False)):  # 0.2 for each of 5 evaluations
            elbo = np.r_[np.zeros(4), np.full(3, gain)]
            assert is_over(elbo, 0.05 * np.arange(7)) == expected

    def test_an_error_bar_counts_against_the_elbo(self, is_over):
        assert is_over(RISING, 0.05 * np.arange(7), elbo_sd=RISING)

    def test_falling_counts_as_stalled(self, is_over):
        assert is_over(-RISING, 0.05 * np.arange(7))

    def test_too_short_a_history_says_nothing(self, is_over):
        for n in range(2, 6):
            assert not is_over(np.zeros(n), 0.05 * np.arange(n))

    def test_the_first_two_iterations_have_no_say(self, is_over):
        elbo = np.r_[5.0, 5.0, np.zeros(2), np.full(3, 3.0)]
        assert not is_over(elbo, 0.05 * np.arange(7))

    def test_long_stall_ends_it_although_the_elbo_rises(self, is_over):
        # D = 1: more than 25 evaluations since the bound was last beaten
        for n, expected in ((6, False), (7, True)):
            elbo = 3.0 * np.arange(n)
            assert is_over(elbo, np.zeros(n)) == expected
        assert not is_over(3.0 * np.arange(7), np.r_[0.0, np.full(6, 0.02)])
        assert is_over(3.0 * np.arange(7), np.r_[0.0, np.full(6, 0.005)])

    def test_looks_are_no_stall(self, is_over):
        """They are made elsewhere: that they find nothing higher says nothing of the search."""
        n, rising = 10, 3.0 * np.arange(10)
        assert is_over(rising, np.zeros(n))  # 45 evaluations
        assert not is_over(rising, np.zeros(n), is_look=lambda i: i >= 10 and i % 2 == 0)
        hindsight = {"rule": "hindsight", "hindsight": np.zeros(n)}
        assert is_over(rising, rising, **hindsight)
        assert not is_over(rising, rising, is_look=lambda i: i >= 10 and i % 2 == 0, **hindsight)

    def test_what_only_becomes_surer_does_not_go_on_for_ever(self, is_over):
        """Both bounds rise as their SDs fall; in hindsight the posterior is the same for long."""
        rising = 3.0 * np.arange(9)
        # D = 1: over 25 evaluations, by less than 1 nat
        how = {"rule": "hindsight"}
        for gain, expected in ((0.9, True), (1.1, False)):
            late = np.r_[np.zeros(4), np.full(5, gain)]
            assert is_over(rising, rising, hindsight=late, **how) == expected
            early = np.r_[
                np.full(3, -50.0), np.zeros(1), np.full(5, gain)
            ]  # what was before counts
            assert is_over(rising, rising, hindsight=early, **how) == expected
        assert not is_over(rising[:5], rising[:5], hindsight=np.zeros(5), **how)  # 20 evaluations
        assert not is_over(rising, rising, hindsight=np.zeros(9), rule="paper")
        assert not is_over(rising, rising, hindsight=np.zeros(9), rule="2018")

    def test_some_distance_from_the_last_trim(self, is_over):
        n_last = 10 + BATCH * 6
        assert not is_over(FLAT, 0.05 * np.arange(7), trims=(n_last - 9,))
        assert is_over(FLAT, 0.05 * np.arange(7), trims=(n_last - 10,))

    def test_any_batch(self, is_over):
        for batch in (1, 3, 15, 40):
            n = 40
            counts = 10 + batch * np.arange(n)
            stalled = is_over(np.zeros(n), 1e-3 * np.arange(n), n_evaluations=counts, batch=batch)
            assert stalled
            rising = batch * np.arange(n, dtype=float)
            assert not is_over(rising, rising, n_evaluations=counts, batch=batch)

    def test_bounds_that_do_not_exist_yet_are_no_stall(self, is_over):
        """After a false alarm all early points may be gone."""
        lcb = np.r_[np.full(4, -np.inf), 0.0, 0.0, 0.0]
        assert not is_over(FLAT, lcb)


def test_elbos_in_hindsight():
    """Of the last posterior it is its own ELBO; of others, what the surrogate says of them now."""
    state = fitted_state()
    now = solution_of(state)
    other = Mixture([1.0], [[0.5, 0.5]], [0.3], [1.0, 1.0])
    stale = replace(now, mixture=other, elbo=replace(elbo_of(state.fit.gp, other), entropy=1.5))
    history = (make_iteration(1, solution=stale, elbo=99.0), make_iteration(2, solution=now))
    found = elbos_in_hindsight(replace(state, history=history))
    expected = elbo_of(state.fit.gp, other).expected_log_joint.mean + 1.5
    np.testing.assert_allclose(found, [expected, now.elbo.value])


@pytest.mark.parametrize(
    ("settings", "rule"),
    [(Settings(), "hindsight"), (Settings.variant("paper-viqr"), "paper"),
     (Settings.variant("paper-old"), "2018")],
)  # fmt: skip
def test_rules(settings, rule):
    assert warmup_rule(settings) == rule


def test_running_lower_bounds_by_hand():
    problem = unbounded_problem(1)
    theta = np.array([[3.0], [2.0], [-1.0], [0.5], [0.4]])
    state = make_state(problem, theta, [-9.0, -3.0, np.nan, 0.0, -0.5], 0.1)
    data = state.training.data
    fit = hand_fit(data)
    state = replace(state, fit=fit, history=make_history(4, n_evaluations=[1, 3, 4, 5]))
    mean, variance = fit.gp.pooled(data.x)
    lcb = mean - 3 * np.sqrt(variance)
    found = running_lower_bounds(state)
    expected = [lcb[0], lcb[:2].max(), lcb[:3].max(), lcb.max()]
    np.testing.assert_allclose(found, expected)
    assert (np.diff(found) >= 0).all()


class TestLeaving:
    def state(self, values, *, reliability=5.0, dimension=1, **changes):
        n = len(values)
        theta = np.linspace(-3, 3, n)[:, None] * np.ones(dimension)
        state = make_state(unbounded_problem(dimension), theta, values, 0.1)
        history = make_history(6, reliability=reliability, warmup=True)
        return state.with_data(history=history, full_refit=False, **changes)

    def test_end_of_warmup(self):
        state = leave_warmup(self.state(-np.arange(0.0, 40, 2)))
        assert not state.warmup
        assert state.last_warmup == 6
        assert state.last_whitening == 6
        assert state.full_refit
        assert state.trims == ()

    def test_end_of_warmup_drops_what_is_far_below_the_best(self):
        values = -np.arange(0.0, 40, 2)
        state = leave_warmup(self.state(values))
        np.testing.assert_array_equal(state.trimmed, values <= -10)  # 10 D

    def test_threshold_grows_with_the_dimension(self):
        values = -np.arange(0.0, 80, 2)
        state = leave_warmup(self.state(values, dimension=3))
        np.testing.assert_array_equal(state.trimmed, values <= -30)

    def test_false_alarm(self):
        values = -np.r_[0.0, 20.0, 299.0, 300.0, 5000.0]
        state = leave_warmup(self.state(values, reliability=150.0))
        assert state.warmup
        assert state.full_refit
        assert state.trims == (5,)
        np.testing.assert_array_equal(state.trimmed, values <= -300)  # 100 (D + 2)

    def test_an_index_that_does_not_exist_yet_is_a_false_alarm(self):
        assert leave_warmup(self.state(-np.arange(9.0), reliability=np.inf)).warmup

    def test_after_one_false_alarm_it_ends_with_twice_the_threshold(self):
        values = -np.arange(0.0, 40, 2)
        state = leave_warmup(self.state(values, reliability=150.0, trims=(10,)))
        assert not state.warmup
        np.testing.assert_array_equal(state.trimmed, values <= -20)

    @pytest.mark.parametrize("dimension", [1, 2, 3])
    def test_the_best_few_always_stay(self, dimension):
        values = -1000.0 * np.arange(9)
        state = leave_warmup(self.state(values, dimension=dimension))
        assert (~state.trimmed).sum() == dimension + 1
        assert not state.trimmed[: dimension + 1].any()

    def test_failed_evaluations_neither_count_nor_are_touched(self):
        values = np.array([np.nan, -np.inf, -1000.0, 0.0, -1.0, np.nan, -3.0])
        state = leave_warmup(self.state(values))
        assert state.trimmed.tolist() == [False, False, True, False, False, False, False]

    def test_trimmed_ones_stay_trimmed_and_do_not_set_the_standard(self):
        values = np.array([50.0, 0.0, -5.0, -9.0, -20.0])
        trimmed = np.array([True, False, False, False, False])
        state = leave_warmup(self.state(values, trimmed=trimmed))
        assert state.trimmed.tolist() == [True, False, False, False, True]

    def test_the_log_joint_counts_not_the_likelihood(self):
        problem = make_problem(
            1, prior=lambda theta: -50.0 * float(theta[0] > 0), lower=[-10.0], upper=[10.0]
        )
        state = make_state(problem, [[-1.0], [-0.5], [-0.2], [1.0]], np.zeros(4))
        state = replace(state, history=make_history(6, reliability=5.0, warmup=True))
        assert leave_warmup(state).trimmed.tolist() == [False, False, False, True]

    def test_evaluations_stay_in_the_table(self):
        state = self.state(-np.arange(0.0, 40, 2))
        assert leave_warmup(state).evaluations is state.evaluations
