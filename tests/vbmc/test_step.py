"""The two steps: what is proposed, and what the state learns from an answer."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.vbmc import (
    SETTINGS,
    fitted_state,
    hand_fit,
    make_problem,
    make_state,
    make_table,
    quadratic,
    unbounded_problem,
)

from quell import Evaluations, Settings
from quell.acquisition import VIQR, WIQR, SearchBox, Situation
from quell.evaluations import Origin
from quell.gp import GaussianProcess
from quell.vbmc import absorb, initial_state, propose
from quell.vbmc.search_point import acquisition_of, avoided, with_expected_values


def rng(seed=0):
    return np.random.default_rng(seed)


def next_theta(generator, problem, state, settings, pending=()):
    """The point that is proposed while those ``pending`` are under evaluation."""
    pending = np.reshape(pending, (-1, problem.dimension))
    return propose(generator, problem, state, settings, pending).theta


def begin(problem, starts=(), table=None, seed=0):
    starts = np.reshape(starts, (-1, problem.dimension)).astype(float)
    table = Evaluations.empty(problem.names) if table is None else table
    return initial_state(rng(seed), problem, starts, table, noisy=True)


class TestInitialState:
    def test_design_fills_the_plausible_box(self):
        problem = make_problem(2)
        state = begin(problem)
        assert len(state.design) >= 10
        assert (np.abs(state.design) <= 2).all()
        assert np.ptp(state.design, axis=0).min() > 1
        assert (state.warmup, state.full_refit, state.fit, state.history) == (True, True, None, ())

    def test_starts_come_first(self):
        starts = [[1.0, 5.0], [-3.0, 0.0]]
        design = begin(make_problem(2), starts).design
        np.testing.assert_array_equal(design[:2], starts)
        assert len(design) == len(begin(make_problem(2)).design)

    def test_more_starts_than_the_design_are_all_taken(self):
        starts = np.linspace(-3, 3, 40).reshape(20, 2)
        np.testing.assert_array_equal(begin(make_problem(2), starts).design, starts)

    def test_a_head_start_replaces_random_points_but_no_starts(self):
        problem = make_problem(1)
        size = len(begin(problem).design)
        table = make_table(problem, [[0.1], [0.2], [0.3]], [0.0, np.nan, -1.0], origin="given")
        state = begin(problem, [[1.0]], table)
        assert len(state.design) == size - 2  # failed ones do not help
        assert state.design[0, 0] == 1.0
        many = make_table(problem, rng().uniform(-2, 2, (30, 1)), np.zeros(30), origin="given")
        np.testing.assert_array_equal(begin(problem, [[1.0]], many).design, [[1.0]])
        assert len(begin(problem, [], many).design) == 0

    def test_integers_and_fixed_parameters(self):
        problem = make_problem(
            3, lower=[0, 7, -10], upper=[9, 7, 10], plausible_lower=[2, 7, -1],
            plausible_upper=[6, 7, 1], integer=[True, False, False],
        )  # fmt: skip
        design = begin(problem).design
        np.testing.assert_array_equal(design[:, 0], np.rint(design[:, 0]))
        assert (design[:, 1] == 7).all()
        assert begin(problem).box.dimension == 2

    def test_design_is_as_large_as_the_dimension(self):
        assert len(begin(make_problem(12)).design) >= 12


class TestProposeBeforeTheFit:
    def test_the_design_in_order(self):
        problem = make_problem(2)
        state = begin(problem)
        for i in range(3):
            np.testing.assert_array_equal(
                next_theta(rng(i), problem, replace(state, n_asked=i), SETTINGS), state.design[i]
            )
            state = absorb(
                rng(), state, SETTINGS,
                make_table(problem, state.design[: i + 1], np.zeros(i + 1)),
            )  # fmt: skip

    def test_points_are_asked_for_once_also_if_no_answer_came(self):
        problem = make_problem(2)
        state = replace(begin(problem), n_asked=2)
        np.testing.assert_array_equal(next_theta(rng(), problem, state, SETTINGS), state.design[2])

    def test_beyond_the_design_more_of_the_same(self):
        problem = make_problem(2)
        state = begin(problem)
        n = len(state.design)
        state = absorb(
            rng(), state, SETTINGS, make_table(problem, state.design, np.full(n, np.nan))
        )
        assert state.fit is None
        theta = next_theta(rng(1), problem, replace(state, n_asked=n), SETTINGS)
        assert theta.shape == (2,)
        assert (np.abs(theta) <= 2).all()
        assert not (state.design == theta).all(axis=1).any()


class TestOrigins:
    def origins(self, state, problem, counts):
        found = []
        for n_asked in counts:
            now = replace(state, n_asked=n_asked)
            found.append(propose(rng(), problem, now, SETTINGS, np.empty((0, 2))).origin)
        return found

    def test_starts_then_the_design_then_more_of_it(self):
        problem = make_problem(2)
        state = begin(problem, [[1.0, 5.0], [-3.0, 0.0]])
        n = len(state.design)
        assert state.n_starts == 2
        start, design = Origin.START, Origin.DESIGN
        found = self.origins(state, problem, [0, 1, 2, n - 1, n, n + 3])
        assert found == [start, start, design, design, design, design]

    def test_then_the_search(self):
        state = fitted_state(make_problem(2))
        assert self.origins(state, make_problem(2), [len(state.design)]) == [Origin.SEARCH]


class Recorder:
    """An acquisition function that keeps what it was shown and likes the corner."""

    def prepare(self, _rng, situation):
        self.situation = situation
        return self

    def values(self, x):
        return x.sum(axis=1)


class TestPropose:
    @pytest.mark.parametrize("name", ["viqr", "npro", "pro"])
    def test_a_new_point_within_the_bounds(self, name):
        problem = make_problem(2)
        state = fitted_state(problem)
        theta = next_theta(rng(), problem, state, Settings(acquisition=name))
        assert problem.space.clear_of_bounds(theta)
        assert not (state.evaluations.theta == theta).all(axis=1).any()

    def test_reproducible(self):
        problem, state = unbounded_problem(2), fitted_state()
        first, second = (next_theta(rng(3), problem, state, SETTINGS) for _ in range(2))
        np.testing.assert_array_equal(first, second)

    @pytest.mark.parametrize("integer", [None, [True, False]])
    def test_a_posterior_lost_beyond_the_bounds_does_not_end_the_run(self, integer):
        problem = make_problem(2, integer=integer)
        state = fitted_state(problem)
        far = replace(state.mixture, means=state.mixture.means + 1e4)
        box = SearchBox(state.box.lower + 1e4, state.box.upper + 1e4)
        state = replace(state, mixture=far, box=box, design=state.design[:0])
        proposal = propose(rng(), problem, state, Settings(look_around=False), np.empty((0, 2)))
        assert proposal.origin == Origin.DESIGN
        assert (problem.plausible_lower <= proposal.theta).all()
        assert (proposal.theta <= problem.plausible_upper).all()

    def test_maximises_the_users_own_score_within_the_box(self):
        problem, state = unbounded_problem(2), fitted_state()
        theta = next_theta(rng(), problem, state, Settings(acquisition=Recorder()))
        x = state.space.to_inference(theta)
        np.testing.assert_allclose(x, state.box.upper, atol=1e-2)

    def test_keeps_clear_of_the_bounds_even_if_the_score_does_not(self):
        problem = make_problem(2)
        state = fitted_state(problem)
        wide = type(state.box)(np.full(2, -50.0), np.full(2, 50.0))
        theta = next_theta(
            rng(), problem, replace(state, box=wide), Settings(acquisition=Recorder())
        )
        assert problem.space.clear_of_bounds(theta)

    def test_integers(self):
        problem = make_problem(2, integer=[True, False])
        state = fitted_state(problem)
        for seed in range(3):
            theta = next_theta(rng(seed), problem, state, Settings(acquisition="npro"))
            assert theta[0] == np.rint(theta[0])
            assert theta[1] != np.rint(theta[1])

    def test_the_score_sees_surrogate_mixture_and_noise(self):
        problem, state, seen = unbounded_problem(2), fitted_state(), Recorder()
        next_theta(rng(), problem, state, Settings(acquisition=seen))
        assert isinstance(seen.situation, Situation)
        assert seen.situation.mixture is state.mixture
        assert seen.situation.gp.n_pending == 0
        np.testing.assert_allclose(seen.situation.noise.sd_at(np.zeros((1, 2))), 0.1)

    def test_failed_and_pending_points_repel(self):
        problem, seen = unbounded_problem(1), Recorder()
        theta = np.array([[-2.0], [0.0], [1.0], [2.0], [3.0]])
        state = make_state(problem, theta, [-3.0, 0.0, np.nan, -np.inf, -9.0])
        mixture = fitted_state(dimension=1, n=6).mixture
        fit = hand_fit(state.training.data)
        state = replace(state, fit=fit, mixture=mixture, design=state.design[:0])
        # zero density has a value, the exception has none, the pending point the expected one
        np.testing.assert_allclose(avoided(state)[:, 0], [0.25])
        next_theta(rng(), problem, state, Settings(acquisition=seen), pending=[0.5])
        gp = seen.situation.gp
        assert gp.n_pending == 1
        np.testing.assert_allclose(gp.data.x[-1], [0.125])
        x = np.array([[0.125], [0.25]])
        np.testing.assert_allclose(gp.pooled(x)[0], state.fit.gp.pooled(x)[0], atol=0.02)
        assert (gp.pooled(x)[1] < state.fit.gp.pooled(x)[1]).all()

    @pytest.mark.parametrize("name", ["viqr", "imiqr", "eig", "npro", "pro"])
    def test_keeps_apart_from_pending_points(self, name):
        problem, state = unbounded_problem(2), fitted_state()
        asked = []
        for i in range(4):
            asked.append(next_theta(rng(i), problem, state, Settings(acquisition=name), asked))
        sd = 4 * np.sqrt(state.mixture.covariance().diagonal())  # theta = 4 x
        for i in range(4):
            for j in range(i):
                assert np.sqrt(np.mean(((asked[i] - asked[j]) / sd) ** 2)) > 0.1

    def test_pending_points_count_as_if_they_had_given_what_is_expected(self):
        state = fitted_state()
        places = np.array([[0.3, -0.2], [0.1, 0.4]])
        gp = state.fit.gp
        before = gp.predict(places)[0]
        after = with_expected_values(gp, places, 0.0)
        assert after.data.size == gp.data.size + 2
        mean, variance = after.pooled(places)
        np.testing.assert_allclose(mean, gp.pooled(places)[0], atol=0.05)
        assert np.ptp(before, axis=0).max() > 10 * np.ptp(after.predict(places)[0], axis=0).max()
        assert (variance < 0.2 * gp.pooled(places)[1]).all()

    def test_failures_under_unknown_noise(self):
        problem = unbounded_problem(1, noise="unknown")
        theta = np.linspace(-2, 2, 8)[:, None]
        values = quadratic(theta)
        values[3] = np.nan
        state = make_state(problem, theta, values, np.nan)
        settings = Settings(acquisition="npro", hyperparameters="map")
        state = absorb(rng(), state, settings, state.evaluations)
        assert state.fit is not None
        assert np.isfinite(next_theta(rng(), problem, state, settings)).all()


class TestAcquisition:
    def test_by_name_or_as_given(self):
        mine = Recorder()
        assert acquisition_of(Settings(acquisition=mine)) is mine
        assert isinstance(acquisition_of(Settings()), WIQR)
        assert isinstance(acquisition_of(Settings(acquisition="viqr")), VIQR)


def with_new(problem, state, theta, sds=0.1):
    theta = np.atleast_2d(theta)
    return state.evaluations.extend(make_table(problem, theta, quadratic(theta), sds))


class TestAbsorb:
    def test_no_fit_before_the_design_is_done_and_two_values_are_there(self):
        problem = make_problem(1)
        state = begin(problem)
        n = len(state.design)
        values = np.full(n, np.nan)
        for count, expected in ((n - 1, False), (n, False)):
            values[0] = 0.0
            table = make_table(problem, state.design[:count], values[:count])
            assert (absorb(rng(), state, SETTINGS, table).fit is not None) == expected
        values[:2] = [0.0, -1.0]
        done = absorb(rng(), state, SETTINGS, make_table(problem, state.design, values))
        assert done.fit is not None
        assert len(done.history) == 1
        assert done.history[0].n_evaluations == n
        assert done.history[0].n_training == 2

    def test_the_first_iteration(self):
        problem = unbounded_problem(1)
        state = begin(problem)
        table = make_table(problem, state.design, quadratic(state.design), 0.1)
        new = absorb(rng(), state, SETTINGS, table)
        record = new.history[0]
        assert record.index == 1
        assert record.reliability == np.inf
        assert record.warmup
        assert not record.stable
        assert record.n_components == 2
        assert record.solution.mixture is new.mixture
        assert np.isnan(record.cpu_seconds)  # whoever keeps the time fills it in
        assert new.in_iteration == 0
        assert not new.full_refit
        assert abs(record.elbo - 0.5 * np.log(2 * np.pi)) < 0.5
        assert state.fit is None  # the old state has not changed
        again = absorb(rng(), state, SETTINGS, table)
        np.testing.assert_array_equal(new.mixture.to_vector(), again.mixture.to_vector())

    def test_within_an_iteration_the_surrogate_follows(self):
        problem, state = unbounded_problem(2), fitted_state(frequent=False)
        n = len(state.evaluations)
        for i, theta in enumerate(([0.3, 0.2], [1.0, -1.0])):
            state = absorb(rng(), state, SETTINGS, with_new(problem, state, theta))
            assert state.in_iteration == i + 1
            assert len(state.trimmed) == len(state.evaluations) == n + i + 1
        data, gp = state.training.data, state.fit.gp
        assert gp.data.size == n + 2
        fresh = GaussianProcess.condition(data, gp.theta, gp.weights)
        x = rng(1).normal(size=(5, 2))
        for a, b in zip(gp.predict(x), fresh.predict(x), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)
        assert state.history == ()

    def test_a_repeated_point_is_merged_within_an_iteration(self):
        problem, state = unbounded_problem(2), fitted_state(frequent=False)
        theta = state.evaluations.theta[3]
        new = absorb(rng(), state, SETTINGS, with_new(problem, state, theta))
        assert new.fit.gp.data.size == state.fit.gp.data.size
        assert new.fit.gp.data.variance[3] == pytest.approx(0.005)

    def test_frequent_retraining_moves_mixture_and_hyperparameters(self):
        problem, state = unbounded_problem(2), fitted_state(frequent=True)
        new = absorb(rng(), state, SETTINGS, with_new(problem, state, [0.3, 0.2]))
        assert new.mixture is not state.mixture
        assert new.before is state.before
        assert new.fit.gp.data.size == state.fit.gp.data.size + 1
        assert new.mixture.n_components == state.mixture.n_components

    @pytest.mark.parametrize(("share", "refits"), [(0.0, 1111), (0.04, 101), (0.06, 10), (0.2, 0)])
    def test_refits_wait_for_their_share_of_new_evaluations(self, share, refits):
        problem, state = unbounded_problem(2), fitted_state(frequent=True)
        settings, found = Settings(retrain_share=share), ""
        for theta in ([0.3, 0.2], [1.0, -1.0], [0.0, 0.5], [-0.5, 0.1]):
            new = absorb(rng(), state, settings, with_new(problem, state, theta))
            found += str(int(new.mixture is not state.mixture))
            state = new
        assert int(found) == refits

    def test_frequent_retraining_keeps_the_mode_under_map(self):
        problem = unbounded_problem(2)
        state = fitted_state(frequent=True)
        settings = Settings(hyperparameters="map")
        state = replace(state, fit=hand_fit(state.training.data, 1))
        new = absorb(rng(), state, settings, with_new(problem, state, [0.3, 0.2]))
        np.testing.assert_allclose(new.fit.gp.theta[0], new.fit.mode, atol=1e-6)

    @pytest.mark.parametrize("frequent", [True, False])
    def test_a_missing_sd_within_an_iteration(self, frequent):
        problem, state = unbounded_problem(2), fitted_state(frequent=frequent)
        new = absorb(rng(), state, SETTINGS, with_new(problem, state, [0.3, 0.2], np.nan))
        assert new.fit.gp.data.size == state.fit.gp.data.size + 1

    def test_a_full_batch_ends_the_iteration(self):
        problem = unbounded_problem(1)
        state = fitted_state(problem, dimension=1, n=12, frequent=False, warmup=True)
        settings = Settings(batch=2, hyperparameters="map")
        state = absorb(rng(), state, settings, with_new(problem, state, [[0.3]]))
        assert len(state.history) == 0
        state = absorb(rng(), state, settings, with_new(problem, state, [[0.9]]))
        assert len(state.history) == 1
        assert state.in_iteration == 0
        assert state.before is state.mixture

    def test_the_box_grows_with_points_at_its_edge(self):
        problem, state = unbounded_problem(2), fitted_state(frequent=False)
        edge = state.space.to_original(np.array([state.box.upper[0] - 0.01, 0.0]))
        new = absorb(rng(), state, SETTINGS, with_new(problem, state, edge))
        assert new.box.upper[0] > state.box.upper[0]
        assert new.box.upper[1] == state.box.upper[1]

    def test_a_failure_counts_but_teaches_nothing(self):
        problem, state = unbounded_problem(2), fitted_state(frequent=False)
        table = state.evaluations.extend(make_table(problem, [[0.0, 0.0]], [np.nan]))
        new = absorb(rng(), state, SETTINGS, table)
        assert new.in_iteration == 1
        assert new.fit.gp.data.size == state.fit.gp.data.size
