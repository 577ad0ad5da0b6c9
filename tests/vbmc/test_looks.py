"""Looks: at places that may be high, at empty ones, and what becomes of low answers."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.vbmc import (
    SETTINGS,
    fitted_state,
    hand_fit,
    line_fit,
    make_iteration,
    make_problem,
    make_state,
    make_table,
    unbounded_problem,
)

from quell import Settings
from quell.evaluations import Origin
from quell.mixture import Mixture
from quell.vbmc import absorb, propose
from quell.vbmc.coverage import unseen_share
from quell.vbmc.looks import (
    around_denied,
    chance_of_height,
    likely_height,
    low_looks,
    next_look,
    room_around,
    trust_in_chances,
    with_looks_counted,
)
from quell.vbmc.state import Overview
from quell.vbmc.warmup import leave_warmup

PROBLEM = unbounded_problem(1)  # θ = 4 x: the plausible box is [−2, 2]
NONE = np.empty((0, 1))


def rng(seed=0):
    return np.random.default_rng(seed)


def one_mode_known(theta, values, **changes):
    """A state in warm-up whose mixture sits at θ = −1.2, with a surrogate that varies quickly."""
    table = make_table(PROBLEM, theta, values, origin=Origin.DESIGN)
    state = make_state(PROBLEM, theta, values, evaluations=table)
    fit = line_fit(state.training.data)
    mixture = Mixture([1.0], [[-0.3]], [0.03], [1.0])
    return state.with_data(fit=fit, memory=fit.memory, mixture=mixture, before=mixture, **changes)


def two_bumps(theta):
    theta = np.asarray(theta)
    return -0.5 * ((np.abs(theta) - 1.2) / 0.15) ** 2


LEFT = np.array([-2.0, -1.6, -1.3, -1.2, -1.1, -0.8, -0.4, 0.0])[:, None]


def looks(state, n=40, problem=PROBLEM, pending=NONE):
    found = [next_look(rng(seed), problem, state, pending) for seed in range(n)]
    return [theta for theta in found if theta is not None]


class TestPlaces:
    def test_where_the_surrogate_does_not_know_better(self):
        found = looks(one_mode_known(LEFT, two_bumps(LEFT[:, 0])))
        assert 10 < len(found) < 30  # half of the points of warm-up
        assert all(0.0 < theta[0] <= 2.0 for theta in found)

    def test_not_where_all_is_known_to_be_low(self):
        theta = np.linspace(-2, 2, 33)[:, None]
        values = np.where(theta[:, 0] < 0, two_bumps(theta[:, 0]), -70.0)
        assert not looks(one_mode_known(theta, values))

    def test_not_within_reach_of_the_posterior(self):
        state = one_mode_known(LEFT, two_bumps(LEFT[:, 0]))
        wide = Mixture([1.0], [[0.0]], [0.5], [1.0])
        assert not looks(replace(state, mixture=wide))

    def test_apart_from_points_under_evaluation(self):
        state = one_mode_known(LEFT, two_bumps(LEFT[:, 0]))
        everywhere = np.linspace(0.1, 2.0, 12)[:, None]
        assert looks(state)
        assert not looks(state, pending=everywhere)

    def test_not_again_where_the_target_fails(self):
        theta = np.vstack([LEFT, np.linspace(0.1, 2.0, 12)[:, None]])
        values = np.r_[two_bumps(LEFT[:, 0]), np.full(12, np.nan)]
        assert not looks(one_mode_known(theta, values))

    def test_not_where_the_prior_is_zero(self):
        problem = make_problem(1, prior=lambda t: 0.0 if t[0] < 1.0 else -np.inf)
        found = looks(one_mode_known(LEFT, two_bumps(LEFT[:, 0])), problem=problem)
        assert found
        assert all(theta[0] < 1.0 for theta in found)

    def test_at_empty_places_until_enough_are_spread_however_sure_the_surrogate_is(self):
        # One is where a twin of the posterior would be seen.
        few, many = (np.append(np.linspace(-1.3, -1.1, n), 1.2)[:, None] for n in (8, 9))
        for theta, expected in ((few, True), (many, False)):
            state = one_mode_known(theta, np.where(theta < 0, two_bumps(theta), -70.0)[:, 0])
            sure = line_fit(state.training.data, 5.0, 1e-3, mean=(0.0, -0.3, 0.15 / 4))
            searching = replace(state, fit=sure)
            assert not looks(searching)  # in warm-up they would be in the way
            # A search that has taken too long for one dimension.
            there = make_table(PROBLEM, np.full((30, 1), -1.2), np.zeros(30))
            lasting = replace(searching, evaluations=searching.evaluations.extend(there))
            assert bool(looks(lasting)) == expected
            found = looks(replace(searching, warmup=False, overview=Overview.of(searching)))
            assert bool(found) == expected
            assert all(0.0 < place[0] < 2.0 for place in found)


class TestChancesThatDoNotComeTrue:
    """Looks become rarer while none of them finds what they should have found."""

    def state_and_chance(self):
        state = one_mode_known(LEFT, two_bumps(LEFT[:, 0]))
        theta = np.array([[1.0]])
        return state, theta, float(chance_of_height(state.fit.gp, theta / 4)[0])

    def counted(self, state, theta, value, origin=Origin.LOOK):
        new = make_table(PROBLEM, theta, [value], origin=origin)
        return with_looks_counted(rng(), state, state.evaluations.extend(new))

    def test_what_was_due_is_counted(self):
        state, theta, chance = self.state_and_chance()
        assert chance > 0.05
        after = self.counted(self.counted(state, theta, -70.0), theta, -70.0)
        assert after.finds_due == pytest.approx(2 * chance)
        assert trust_in_chances(after) == pytest.approx(1 / (1 + 2 * chance))

    def test_until_one_finds_a_high_place(self):
        state, theta, _ = self.state_and_chance()
        assert self.counted(replace(state, finds_due=3.0), theta, -1.0).finds_due == 0.0

    def test_other_evaluations_are_not_looks(self):
        state, theta, _ = self.state_and_chance()
        assert self.counted(state, theta, -70.0, Origin.SEARCH).finds_due == 0.0

    def test_after_warmup_by_the_overview(self):
        state, theta, _ = self.state_and_chance()
        later = replace(state, warmup=False, overview=Overview.of(state))
        assert self.counted(later, theta, -70.0).finds_due > 0.05
        assert self.counted(replace(later, overview=None), theta, -70.0).finds_due == 0.0

    def test_looks_become_rarer_and_never_end(self):
        state = one_mode_known(LEFT, two_bumps(LEFT[:, 0]))
        often, seldom = (len(looks(replace(state, finds_due=m), n=400)) for m in (0.0, 4.0))
        assert 150 < often < 250  # one in two
        assert 15 < seldom < 75  # one in ten

    def test_a_run_keeps_the_count(self):
        state, theta, chance = self.state_and_chance()
        new = make_table(PROBLEM, theta, [-70.0], origin=Origin.LOOK)
        after = absorb(rng(), state, SETTINGS, state.evaluations.extend(new))
        assert after.finds_due == pytest.approx(chance, rel=1e-6)


def test_chance_is_that_of_the_surrogates_normal():
    state = one_mode_known(LEFT, two_bumps(LEFT[:, 0]))
    x = np.array([[-0.3], [0.45]])
    chance = chance_of_height(state.fit.gp, x)
    draws = rng().normal(*[f(m)[:, None] for f, m in zip(
        (np.asarray, np.sqrt), (state.fit.gp.predict(x)[0][0], state.fit.gp.predict(x)[1][0]),
        strict=True)], (2, 100_000))  # fmt: skip
    level = state.fit.gp.predict_mean(state.fit.gp.data.x).max() - 5.317  # ½ χ²₀.₉₉(1) + 2
    np.testing.assert_allclose(chance, (draws > level).mean(axis=1), atol=0.01)


def test_room_is_even_on_a_grid_and_largest_in_a_hole():
    grid = np.linspace(-0.4, 0.4, 5)[:, None]
    assert room_around(np.array([[0.1], [0.3]]), grid) == pytest.approx([0.01, 0.01])
    holed = np.delete(grid, 3, axis=0)
    places = np.linspace(-0.5, 0.5, 101)[:, None]
    assert places[room_around(places, holed).argmax(), 0] == pytest.approx(0.2)


class TestAfterWarmup:
    def state(self, values):
        """Warm-up is over, and the surrogate has forgotten what is low."""
        theta = np.linspace(-2, 2, 33)[:, None]
        state = one_mode_known(theta, values(theta[:, 0]))
        state = replace(state, trims=(10,))  # no false alarm
        state = leave_warmup(state)
        assert not state.warmup
        fit = line_fit(state.training.data)
        assert fit.gp.data.size < 33
        return replace(state, fit=fit)

    def test_the_overview_remembers_where_it_is_low(self):
        state = self.state(lambda t: np.where(t < 0, two_bumps(t), -70.0))
        assert not looks(state, 60)
        # which the surrogate of the posterior does not
        x = state.space.to_inference(np.linspace(0.5, 2.0, 20)[:, None])
        assert chance_of_height(state.fit.gp, x).max() > 0.05

    def test_low_answers_are_no_matter_for_the_surrogate(self):
        state = self.state(lambda t: np.where(t < 0, two_bumps(t), -70.0))
        n = len(state.evaluations)
        for origin, expected in ((Origin.LOOK, 0), (Origin.SEARCH, 1)):
            more = make_table(PROBLEM, [[1.9]], [-300.0], origin=origin)
            table = state.evaluations.extend(more)
            new = absorb(rng(), state, Settings(frequent_retrain=False), table)
            assert new.training.data.size - state.training.data.size == expected
            assert len(new.evaluations) == n + 1

    def test_high_answers_are(self):
        table = make_table(PROBLEM, [[0.0], [1.0], [2.0]], [0.0, -15.0, -30.0], origin="look")
        assert low_looks(table, 20.0).tolist() == [False, False, True]
        assert not low_looks(make_table(PROBLEM, [[0.0]], [-np.inf], origin="look"), 20.0).any()


class TestWhenTheAnswerIsSettled:
    """One mode at −1.2 is known; the box has been looked at but between 0.5 and 1.5."""

    THETA = np.concatenate([np.linspace(-2, 0.5, 21), np.linspace(1.5, 2, 5)])[:, None]

    def state(self, *more, elbo_sd=0.001, stable=True):
        """After warm-up; ``more`` are further places and values."""
        theta = np.concatenate([self.THETA, np.array([place for place, _ in more]).reshape(-1, 1)])
        values = -0.5 * ((theta[:, 0] + 1.2) / 0.15) ** 2
        values[len(self.THETA) :] = [value for _, value in more]
        mixture = Mixture([1.0], [[-0.3]], [0.0375], [1.0])
        state = replace(one_mode_known(theta, values), trims=(10,), mixture=mixture)
        state = leave_warmup(state)
        last = make_iteration(elbo_sd=elbo_sd, stable=stable)
        # With long scales the surrogate is sure that nothing is high between its points.
        long = line_fit(state.training.data, length=0.5, output=1.0, mean=(0.0, -0.3, 0.0375))
        overview = Overview(state.space, long.gp.theta, long.gp.weights)
        return replace(state, fit=long, history=(last,), overview=overview)

    def test_every_other_evaluation_is_a_look_at_the_emptiest_place(self):
        found = looks(self.state(), 60)
        assert 15 < len(found) < 45
        assert all(abs(theta[0] - 1.0) < 0.25 for theta in found)

    @pytest.mark.parametrize("unsettled", [{"stable": False}, {"elbo_sd": 0.1}])
    def test_not_before(self, unsettled):
        assert not looks(self.state(**unsettled), 60)

    def test_an_evaluation_that_the_posterior_denies_is_looked_around(self):
        state = self.state((1.2, -1.0))
        near = state.space.to_original(around_denied(rng(), state, state.space))
        assert len(near) == 16
        assert np.median(np.abs(near - 1.2)) < 0.3
        assert np.median(np.abs(near - 1.2)) > 0.05
        assert not len(around_denied(rng(), self.state((1.2, -30.0)), state.space))

    def test_but_not_where_nothing_is_left_to_find_out(self):
        """Its neighbourhood is known to be high: that the posterior denies it is another matter."""
        state = self.state((1.2, -1.0))
        wild = line_fit(state.training.data, length=0.02)
        overview = Overview(state.space, wild.gp.theta, wild.gp.weights)
        known, unknown = np.array([[1.2]]), np.array([[1.0]])
        none = np.empty((0, 1))
        assert likely_height(rng(), state, overview, known, none) is None
        assert likely_height(rng(), state, overview, unknown, none) == 0
        assert likely_height(rng(), state, overview, np.concatenate([known, unknown]), none) == 1


class TestProposals:
    def test_a_look_is_marked_as_one_and_the_paper_has_none(self):
        state = one_mode_known(LEFT, two_bumps(LEFT[:, 0]))
        state = replace(state, n_asked=len(state.design))
        ours = {propose(rng(s), PROBLEM, state, SETTINGS, NONE).origin for s in range(10)}
        assert ours == {Origin.LOOK, Origin.SEARCH}
        paper = Settings.variant("paper-viqr")
        theirs = {propose(rng(s), PROBLEM, state, paper, NONE).origin for s in range(10)}
        assert theirs == {Origin.SEARCH}


class TestUnseenShare:
    def test_it_is_the_part_of_the_box_that_is_far_from_all_points(self):
        state = one_mode_known(LEFT, two_bumps(LEFT[:, 0]))  # nothing beyond 0, length 0.4 in θ
        # half of the prior SD is left where the correlation to the last point is √(3/4): θ = 0.3
        assert unseen_share(rng(), state) == pytest.approx((2 - 0.3) / 4, abs=0.03)

    def test_nothing_is_unseen_where_points_are_everywhere(self):
        theta = np.linspace(-2, 2, 33)[:, None]
        state = one_mode_known(theta, two_bumps(theta[:, 0]))
        assert unseen_share(rng(), state) == 0.0

    def test_failures_show_nothing_but_zero_density_does(self):
        theta = np.linspace(-2, 2, 33)[:, None]
        for value, expected in ((np.nan, 0.36), (-np.inf, 0.0)):
            values = np.where(theta[:, 0] > 0, value, two_bumps(theta[:, 0]))
            state = one_mode_known(theta, values)
            assert unseen_share(rng(), state) == pytest.approx(expected, abs=0.05)

    def test_trimmed_evaluations_were_looks_all_the_same(self):
        state = fitted_state(n=40)
        fit = hand_fit(state.training.data)
        full = replace(state, overview=Overview(state.space, fit.gp.theta, fit.gp.weights))
        trimmed = full.with_data(trimmed=np.arange(40) > 5)
        assert unseen_share(rng(), trimmed) == unseen_share(rng(), full)

    def test_before_there_is_a_surrogate(self):
        assert np.isnan(unseen_share(rng(), make_state(PROBLEM, LEFT, two_bumps(LEFT[:, 0]))))
