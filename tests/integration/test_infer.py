"""Whole runs: answers, reproducibility, budgets, noise modes, failures, interruptions."""

import dataclasses
import io
import logging
import pickle

import numpy as np
import pytest
from helpers.cases import make_case
from helpers.problems import INF, QUICK, Flaky, make, noisy, normal, run, same, true_log_evidence
from scipy import stats

import quell
from quell import InferenceFailed, Problem, Settings, infer
from quell.evaluations import Evaluations
from quell.run.session import Session
from quell.run.stopping import solution_is_final
from quell.vbmc import Iteration


@pytest.fixture(scope="module")
def noisy_2d():
    state = np.random.get_state()  # noqa: NPY002
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    updates = []
    result = infer(make(noisy, 2), budget=50, seed=1, progress=False, callback=updates.append)
    after = np.random.get_state()  # noqa: NPY002
    untouched = all(np.array_equal(a, b) for a, b in zip(state, after, strict=True))
    logs = (list(root.handlers), root.level) == (handlers, level)
    return result, updates, untouched, logs


@pytest.fixture(scope="module")
def noisy_1d():
    return run(make(noisy))


class TestAnswers:
    def check(self, result, dimension, tolerance):
        assert abs(result.log_evidence - true_log_evidence(dimension)) < tolerance
        np.testing.assert_allclose(result.posterior.mean(), 0, atol=tolerance)
        np.testing.assert_allclose(result.posterior.covariance(), np.eye(dimension), atol=tolerance)

    def test_noisy_two_dimensions(self, noisy_2d):
        self.check(noisy_2d[0], 2, 0.6)
        assert 0 < noisy_2d[0].log_evidence_sd < 1

    def test_exact_two_dimensions(self):
        self.check(run(make(normal, 2, noise="exact"), budget=30), 2, 0.15)

    def test_noisy_one_dimension(self):
        self.check(run(make(noisy), budget=30), 1, 0.6)

    def test_exact_one_dimension(self):
        self.check(run(make(normal, noise="exact"), budget=20), 1, 0.15)

    def test_error_bar_is_honest_about_few_noisy_evaluations(self, noisy_1d):
        assert abs(noisy_1d.elbo - true_log_evidence(1)) < 6 * noisy_1d.elbo_sd + 0.2

    def test_off_centre_and_correlated(self):
        covariance = np.array([[1.0, 0.6], [0.6, 0.5]])
        density = stats.multivariate_normal([2.0, -1.0], covariance)
        problem = make(lambda theta: float(density.logpdf(theta)), 2, noise="exact")
        result = run(problem, budget=40, settings=Settings(final_components=20))
        assert abs(result.log_evidence + 2 * np.log(20.0)) < 0.3
        np.testing.assert_allclose(result.posterior.mean(), [2.0, -1.0], atol=0.2)
        np.testing.assert_allclose(result.posterior.covariance(), covariance, atol=0.4)


class TestReproducibility:
    def test_same_seed_same_run(self, noisy_1d):
        same(noisy_1d, run(make(noisy)))

    def test_also_with_progress_a_callback_and_random_numbers_elsewhere(self, noisy_1d):
        np.random.seed(5)  # noqa: NPY002
        same(noisy_1d, run(make(noisy), progress=True, callback=lambda _: np.random.rand()))  # noqa: NPY002

    def test_another_seed_another_run(self, noisy_1d):
        other = run(make(noisy), seed=2)
        assert not np.array_equal(other.evaluations.theta, noisy_1d.evaluations.theta)
        assert other.elbo != noisy_1d.elbo

    def test_the_targets_noise_is_that_of_the_evaluations_index(self, noisy_1d):
        table = noisy_1d.evaluations
        np.testing.assert_array_equal(table.index, np.arange(15))
        for i in (0, 7, 14):
            value, _ = noisy(table.theta[i], quell.evaluations.rng_for(1, i))
            assert value == table.value[i]

    def test_a_budget_that_ends_earlier_is_the_beginning_of_the_same_run(self, noisy_1d):
        longer = run(make(noisy), budget=20)
        np.testing.assert_array_equal(longer.evaluations.theta[:15], noisy_1d.evaluations.theta)

    def test_without_a_seed_one_is_drawn_and_reported(self):
        first, second = (run(make(noisy), seed=None, budget=10) for _ in range(2))
        assert first.seed != second.seed
        same(first, run(make(noisy), seed=first.seed, budget=10))

    def test_global_random_state_and_logging_are_left_alone(self, noisy_2d):
        assert noisy_2d[2]
        assert noisy_2d[3]


class Counted:
    """A target that keeps the points it was called with."""

    def __init__(self, target):
        self.target, self.points = target, []

    def __call__(self, theta):
        self.points.append(theta.copy())
        return self.target(theta)


class TestBudget:
    @pytest.mark.parametrize("budget", [10, 13, 15])
    def test_is_exact(self, budget):
        target = Counted(normal)
        result = run(make(target, noise="exact"), budget=budget)
        assert len(target.points) == result.evaluations.n_counted == budget
        assert any(str(budget) in reason for reason in result.reasons)

    def test_counts_the_second_look_of_auto(self):
        target = Counted(normal)
        result = run(make(target), budget=12)
        assert len(target.points) == result.evaluations.n_counted == 12
        np.testing.assert_array_equal(target.points[0], target.points[1])

    def test_of_one_evaluation_under_auto(self):
        target = Counted(normal)
        with pytest.raises(ValueError, match="budget must be at least 2"):
            run(make(target), budget=1)
        assert len(target.points) == 0

    @pytest.mark.parametrize("budget", [1, 9])
    def test_smaller_than_the_design(self, budget):
        target = Counted(normal)
        with pytest.raises(ValueError, match="at least 10"):
            run(make(target, noise="exact"), budget=budget)
        assert len(target.points) == 0

    def test_the_last_evaluations_are_used_too(self):
        result = run(make(noisy), budget=13)
        assert result.iterations[-1].n_evaluations == 13

    def test_by_default_goes_with_dimension_and_noise(self):
        def budgets(target, dimension):
            seen = []

            def stop(update):
                seen.append(update.budget)
                return True

            run(make(target, dimension), budget=None, callback=stop)
            return seen

        assert budgets(normal, 1) == [150]
        assert budgets(noisy, 2) == [300]

    def test_by_default_for_an_exact_target_whose_first_evaluation_fails(self):
        seen = []

        def stop(update):
            seen.append(update.budget)
            return True

        target = Flaky(normal, {1: ValueError("not now")})
        run(make(target), budget=None, callback=stop)
        assert seen == [150]


class TestNoise:
    def test_auto_takes_a_pair_as_reported(self, noisy_1d):
        assert (noisy_1d.evaluations.sd == 0.5).all()
        assert "check" not in noisy_1d.evaluations.origin

    def test_auto_finds_out_that_a_target_is_exact(self):
        result = run(make(normal), budget=15)
        assert (result.evaluations.sd == 0).all()
        assert result.evaluations.origin.count("check") == 1
        assert abs(result.log_evidence - true_log_evidence(1)) < 0.3

    def test_auto_refuses_a_noisy_number(self):
        problem = make(lambda theta, rng: normal(theta) + rng.standard_normal())
        with pytest.raises(InferenceFailed, match='noise="unknown"') as caught:
            run(problem)
        values = caught.value.evaluations.value
        assert len(values) == 2
        assert all(repr(float(value)) in str(caught.value) for value in values)
        np.testing.assert_array_equal(*caught.value.evaluations.theta)

    def test_auto_after_a_failed_first_evaluation(self):
        result = run(make(Flaky(normal, {1: ValueError("not now")})))
        assert result.evaluations.n_failed == 1
        assert (result.evaluations.sd[result.evaluations.ok] == 0).all()

    def test_auto_evaluates_every_point_of_the_design(self):
        starts = [[0.1], [0.2], [0.3]]
        result = run(make(normal), start=starts, budget=12)
        for point in starts:
            assert point[0] in result.evaluations.theta[:, 0]

    def test_unknown(self):
        problem = make(lambda theta, rng: normal(theta) + 0.3 * rng.standard_normal(),
                       noise="unknown", noise_guess=0.5)  # fmt: skip
        result = run(problem, budget=25)
        assert np.isnan(result.evaluations.sd).all()
        assert abs(result.log_evidence - true_log_evidence(1)) < 1
        assert 0.03 < result.iterations[-1].noise_sd < 3

    @pytest.mark.parametrize(
        "missing",
        [3, 12],
    )
    def test_sds_missing_for_some_evaluations(self, missing):
        target = Flaky(noisy, {missing: (-1.0, np.nan)})
        result = run(make(target, noise="reported"))
        assert np.isnan(result.evaluations.sd).sum() == 1
        assert np.isfinite(result.elbo)

    def test_exact_targets_may_be_very_low_far_out(self):
        result = run(make(lambda theta: -1e4 * float(theta[0] ** 2), noise="exact"), budget=20)
        assert np.isfinite(result.elbo)
        assert abs(result.posterior.mean()[0]) < 0.3


class TestTargets:
    def test_vectorised(self):
        shapes = []

        def target(thetas):
            shapes.append(thetas.shape)
            return -0.5 * (thetas**2).sum(axis=1)

        result = run(make(target, 2, noise="exact", vectorised=True))
        assert {shape[1] for shape in shapes} == {2}
        assert sum(shape[0] for shape in shapes) == 15
        same(result, run(make(normal, 2, noise="exact")))

    def test_vectorised_with_generators(self):
        def target(thetas, rng):
            noise = np.array([r.standard_normal() for r in rng])
            return -0.5 * (thetas**2).sum(axis=1) + 0.5 * noise, np.full(len(thetas), 0.5)

        np.testing.assert_array_equal(
            run(make(target, vectorised=True), budget=10).evaluations.value,
            run(make(noisy), budget=10).evaluations.value,
        )

    def test_integers_are_proposed_as_integers(self):
        target = Counted(normal)
        problem = make(
            target, 2, noise="exact", integer=[True, False], lower=[-6, -10], upper=[6, 10],
            names=["k", "x"],
        )  # fmt: skip
        result = run(problem, budget=20)
        points = np.array(target.points)
        np.testing.assert_array_equal(points[:, 0], np.rint(points[:, 0]))
        assert (points[:, 1] != np.rint(points[:, 1])).mean() > 0.5
        assert (np.abs(points[:, 0]) <= 6).all()
        assert np.isfinite(result.elbo)

    def test_an_integer_alone_meets_the_same_points_again(self):
        problem = make(normal, noise="exact", integer=[True], lower=-3, upper=3)
        result = run(problem, budget=20)
        assert result.evaluations.n_counted == 20
        assert len(np.unique(result.evaluations.theta)) <= 7
        assert np.isfinite(result.elbo)

    def test_all_kinds_of_parameters_together(self):
        target = Counted(
            lambda t: normal([t[0] - 1, np.log(t[2]), (1 - np.cos(np.deg2rad(t[3]))) * 5])
        )
        problem = Problem(
            target, lower=[-10, 2, 0, 0], upper=[10, 2, INF, 360],
            plausible_lower=[-2, 2, 0.3, 330], plausible_upper=[3, 2, 3, 390],
            periodic=[False, False, False, True], prior="included", noise="exact",
            names=["a", "fixed", "positive", "angle"],
        )  # fmt: skip
        result = run(problem, budget=25)
        points = np.array(target.points)
        assert (points[:, 1] == 2).all()
        assert (points[:, 2] > 0).all()
        assert ((points[:, 3] >= 0) & (points[:, 3] < 360)).all()
        draws = result.posterior.sample(500, np.random.default_rng(0))
        assert problem.space.contains(draws).all()
        assert ((draws[:, 3] >= 0) & (draws[:, 3] < 360)).all()
        assert np.isfinite(result.log_evidence)
        assert "fixed" in result.summary()

    def test_a_posterior_at_the_bound_stays_inside(self):
        problem = make(lambda theta: 3.0 * float(theta[0]), noise="exact", lower=0, upper=2,
                       plausible_lower=0.5, plausible_upper=1.5)  # fmt: skip
        result = run(problem, budget=25)
        draws = result.posterior.sample(2000, np.random.default_rng(0))
        assert ((draws > 0) & (draws < 2)).all()
        truth = np.log((np.exp(6.0) - 1) / 3 / 2)
        assert abs(result.log_evidence - truth) < 0.3
        assert result.posterior.mean()[0] > 1.4


class TestHeadStart:
    points = np.linspace(-3, 3, 12)[:, None]
    values = np.array([normal(p) for p in points])

    def test_does_not_count_and_is_used(self):
        target = Counted(normal)
        result = run(make(target, noise="exact"), evaluations=(self.points, self.values), budget=5)
        assert len(target.points) == 5
        table = result.evaluations
        assert (len(table), table.n_counted) == (17, 5)
        np.testing.assert_array_equal(table.theta[:12], self.points)
        assert table.origin[:12] == ("given",) * 12
        assert result.iterations[0].n_training >= 12
        assert abs(result.log_evidence - true_log_evidence(1)) < 0.3

    def test_with_sds(self):
        rng = np.random.default_rng(0)
        values = self.values + 0.3 * rng.standard_normal(12)
        result = run(make(noisy), evaluations=(self.points, values, np.full(12, 0.3)), budget=5)
        np.testing.assert_array_equal(result.evaluations.sd, [0.3] * 12 + [0.5] * 5)

    def test_a_short_one_shortens_the_design(self):
        short = (self.points[:4], self.values[:4])
        result = run(make(normal, noise="exact"), evaluations=short, budget=6)
        assert result.evaluations.origin.count("design") == 6
        assert result.iterations[0].n_training == 10

    def test_of_an_earlier_run(self, noisy_1d):
        result = run(make(noisy), evaluations=noisy_1d.evaluations, seed=9, budget=5)
        assert len(result.evaluations) == 20
        assert result.evaluations.n_counted == 5

    def test_under_auto_for_an_exact_target(self):
        result = run(make(normal), evaluations=(self.points, self.values), budget=7)
        assert result.evaluations.n_counted == 7
        assert (result.evaluations.sd == 0).all()

    def test_under_auto_noise_that_was_given_is_not_forgotten(self):
        values = self.values + np.random.default_rng(0).standard_normal(12)
        try:
            result = run(make(normal), evaluations=(self.points, values, np.ones(12)), budget=5)
        except (ValueError, InferenceFailed):
            return  # refusing is as good
        assert (result.evaluations.sd[:12] == 1).all()

    def test_failures_in_it_are_not_held_against_the_target(self):
        points = np.vstack([self.points, np.linspace(4, 9, 30)[:, None]])
        values = np.append(self.values, np.full(30, -INF))
        result = run(make(noisy, noise="reported"), evaluations=(points, values, 0.5), budget=12)
        assert result.evaluations.n_counted == 12

    @pytest.mark.parametrize(
        "bad",
        [(points,), (points, values, values, values), (points, values[:3]), ([[99.0]], [0.0]),
         (points, np.full(12, np.nan)),
         3],
    )  # fmt: skip
    def test_bad_ones_are_refused(self, bad):
        target = Counted(normal)
        with pytest.raises((ValueError, TypeError), match=r"evaluations|points|values"):
            run(make(target), evaluations=bad)
        assert target.points == []


class TestStart:
    @pytest.mark.parametrize("start", [[0.5, -0.25], [[0.5, -0.25], [1.0, 2.0], [-1.0, 0.0]]])
    def test_points_are_evaluated_first(self, start):
        target = Counted(normal)
        run(make(target, 2, noise="exact"), start=start, budget=10)
        rows = np.atleast_2d(start)
        np.testing.assert_array_equal(target.points[: len(rows)], rows)

    def test_origin_says_so(self):
        result = run(make(normal, noise="exact"), start=[0.5], budget=10)
        assert result.evaluations.origin[:2] == ("start", "design")

    def test_an_earlier_result(self, noisy_1d):
        target = Counted(normal)
        run(make(target, noise="exact"), start=noisy_1d, budget=10)
        np.testing.assert_allclose(target.points[0], noisy_1d.posterior.mode())
        points = np.array(target.points)
        assert points.std() < 2.5 * noisy_1d.posterior.sd()[0]
        assert len(np.unique(points)) == 10

    def test_a_result_of_another_problem_is_refused(self, noisy_1d):
        with pytest.raises(ValueError, match=r"start.*x1.*other"):
            run(make(normal, names=["other"]), start=noisy_1d)

    @pytest.mark.parametrize("start", [[0.0, 0.0], [[[0.0]]], [99.0], [np.nan], ["a"], []])
    def test_bad_ones_are_refused(self, start):
        with pytest.raises(ValueError, match="start"):
            run(make(normal), start=start)

    def test_on_a_hard_bound(self):
        result = run(make(normal, noise="exact"), start=[10.0], budget=20)
        assert abs(result.log_evidence - true_log_evidence(1)) < 1


class TestFailures:
    def test_some_of_every_kind_are_recorded_and_the_run_goes_on(self):
        special = {
            2: np.nan, 4: ValueError("boom"), 5: (-1.0, 0.0), 7: (-1.0,), 8: "text",
            12: RuntimeError("late"), 13: -INF,
        }  # fmt: skip
        target = Flaky(noisy, special)
        result = run(make(target, noise="reported"), budget=20)
        table = result.evaluations
        assert np.flatnonzero(~table.ok).tolist() == [i - 1 for i in special]
        assert "boom" in table.error[3]
        assert "late" in table.error[11]
        assert table.zero_density.sum() == 1
        assert result.diagnostics["failed_evaluations"] == 7
        assert np.isfinite(result.elbo)
        assert target.n == 20

    def test_a_region_of_zero_density(self):
        def target(theta):
            return normal(theta) if theta[0] < 0.5 else -INF

        result = run(make(target, noise="exact"), budget=40)
        assert result.evaluations.zero_density.any()
        assert result.posterior.marginal(0).cdf(0.8) > 0.6
        assert abs(result.log_evidence - true_log_evidence(1) - np.log(0.69)) < 1

    def test_a_prior_that_is_zero_somewhere(self):
        target = Counted(normal)
        problem = make(target, noise="exact",
                       prior=lambda theta: -np.log(10.0) if theta[0] > 0 else -INF)  # fmt: skip
        result = run(problem, budget=25)
        assert (np.array(target.points) > 0).all()  # not worth an evaluation
        assert result.posterior.mean()[0] > 0.2

    def test_a_target_that_always_raises(self):
        def target(_theta):
            raise RuntimeError("no licence")

        with pytest.raises(InferenceFailed, match="no licence") as caught:
            run(make(target), budget=100)
        table = caught.value.evaluations
        assert isinstance(table, Evaluations)
        assert 1 < len(table) < 100
        assert table.n_failed == len(table)
        assert caught.value.result is None

    def test_too_few_usable_evaluations_say_what_failed(self):
        target = Flaky(normal, {n: OSError("disk full") for n in range(2, 11)})
        settings = dataclasses.replace(QUICK, max_failed=1.0)
        with pytest.raises(InferenceFailed, match=r"9 of 10 failed.*disk full") as caught:
            run(make(target, noise="exact"), budget=10, settings=settings)
        assert len(caught.value.evaluations) == 10

    def test_a_target_that_breaks_down_makes_no_answer_stable(self):
        def breaks_down(after):
            calls = iter(range(10**6))

            def target(theta):
                if next(calls) >= after:
                    raise OSError("no licence")
                return normal(theta)

            return make(target, noise="exact")

        result = run(breaks_down(after=20), budget=60)
        assert result.status == "too short to tell"
        assert "the last 40 evaluations failed" in result.reasons[-1]
        assert "OSError: no licence" in result.reasons[-1]
        with pytest.raises(InferenceFailed, match="a new run goes on from there") as caught:
            run(breaks_down(after=12), budget=100)
        again = run(make(normal, noise="exact"), budget=10, evaluations=caught.value.evaluations)
        assert again.evaluations.n_failed == 49

    def test_zero_density_in_most_of_the_box_is_no_reason_to_give_up(self):
        def target(theta):
            return normal(theta) if theta[0] > 2.4 else -INF

        result = run(make(target, noise="exact"), budget=40, seed=3)
        assert result.evaluations.zero_density[:10].sum() >= 9
        assert result.posterior.mean()[0] > 1

    def test_zero_density_nearly_everywhere_is_one(self):
        with pytest.raises(InferenceFailed, match="50 of 50 evaluations failed"):
            run(make(lambda _theta: -INF, noise="exact"), budget=100)

    def test_the_edge_of_the_density_is_respected(self):
        """Even by a surrogate that would fit the values on one side to perfection."""

        def target(theta):
            return normal(theta) if theta[0] > -1 else -INF

        truth = true_log_evidence(2) + stats.norm.logcdf(1)
        errors = []
        for seed in (1, 2, 3, 4, 5):
            result = run(make(target, 2, noise="exact"), budget=60, seed=seed)
            draws = result.posterior.sample(2000, np.random.default_rng(0))
            assert np.mean(draws[:, 0] < -1) < 0.05
            errors.append(abs(result.log_evidence - truth))
        assert np.median(errors) < 0.1
        assert max(errors) < 1.0

    def test_a_target_that_breaks_later_leaves_a_result(self):
        target = Flaky(noisy, {n: OSError("disk full") for n in range(13, 200)})
        with pytest.raises(InferenceFailed, match="disk full") as caught:
            run(make(target), budget=100, settings=dataclasses.replace(QUICK, max_failed=0.3))
        assert caught.value.result is not None
        assert np.isfinite(caught.value.result.elbo)

    def test_the_exception_survives_pickling(self):
        """As when a run fails in another process."""
        error = InferenceFailed("message", Evaluations.empty(["a"]))
        again = pickle.loads(pickle.dumps(error))
        assert str(again) == "message"
        assert again.evaluations.names == ("a",)

    def test_a_broken_callback_does_not_lose_the_evaluations(self):
        def callback(_update):
            raise RuntimeError("mine")

        with pytest.raises(Exception, match="mine") as caught:
            run(make(noisy), callback=callback)
        assert len(caught.value.evaluations) == 10

    def test_a_broken_acquisition_function_does_not_lose_the_evaluations(self):
        class Broken:
            def prepare(self, _rng, _situation):
                raise ZeroDivisionError("mine")

        with pytest.raises(Exception, match="mine") as caught:
            run(make(noisy), settings=dataclasses.replace(QUICK, acquisition=Broken()))
        assert len(caught.value.evaluations) == 10


class TestInterruption:
    def test_returns_the_best_so_far(self):
        target = Flaky(noisy, {22: KeyboardInterrupt()})
        result = run(make(target), budget=100)
        assert any("interrupted" in reason for reason in result.reasons)
        assert result.evaluations.n_counted == 21
        assert np.isfinite(result.elbo)
        assert not result.converged

    def test_before_there_is_a_posterior_it_passes_through(self):
        with pytest.raises(KeyboardInterrupt):
            run(make(Flaky(noisy, {4: KeyboardInterrupt()})))

    def test_in_a_callback(self):
        def callback(_update):
            raise KeyboardInterrupt

        result = run(make(noisy), callback=callback)
        assert result.evaluations.n_counted == 10


class TestCallback:
    def test_gets_an_update_after_every_iteration(self, noisy_2d):
        result, updates, *_ = noisy_2d
        assert [u.iteration for u in updates] == [
            it.index for it in result.iterations if it.action != "whitening"
        ]
        assert [u.n_evaluations for u in updates] == list(range(10, 51, 5))
        last = updates[-1]
        assert (last.budget, last.n_failed) == (50, 0)
        assert last.elbo == result.iterations[-1].elbo
        assert last.wall_seconds >= updates[0].wall_seconds
        assert last.state.history == result.iterations

    def test_can_stop_the_run(self):
        result = run(make(noisy), budget=100, callback=lambda update: update.n_evaluations >= 15)
        assert result.evaluations.n_counted == 15
        assert any("callback" in reason for reason in result.reasons)

    def test_only_true_stops(self):
        result = run(make(noisy), callback=lambda _: "yes")
        assert result.evaluations.n_counted == 15


class TestEvidence:
    def test_improper_prior(self):
        with pytest.warns(UserWarning, match="improper"):
            problem = make(normal, lower=-INF, upper=INF, noise="exact")
        result = run(problem, budget=20)
        assert np.isnan(result.log_evidence)
        assert np.isnan(result.log_evidence_sd)
        assert abs(result.elbo - 0.5 * np.log(2 * np.pi)) < 0.3
        assert any("improper" in reason for reason in result.reasons)
        assert "undefined" in result.summary()

    def test_prior_included(self):
        result = run(make(normal, lower=-INF, upper=INF, prior="included", noise="exact"),
                     budget=20)  # fmt: skip
        assert abs(result.log_evidence - 0.5 * np.log(2 * np.pi)) < 0.3

    @pytest.mark.parametrize("kind", ["list", "joint", "function"])
    def test_prior_as_distributions_or_as_a_function(self, kind):
        # a normal likelihood and a normal prior: evidence N(0; 0, 2) √(2π)
        prior = {
            "list": [stats.norm(0, 1)],
            "joint": stats.multivariate_normal([0.0], [[1.0]]),
            "function": lambda theta: -0.5 * float(theta[0]) ** 2 - 0.5 * np.log(2 * np.pi),
        }[kind]
        problem = make(lambda theta: normal(theta - 1), noise="exact", prior=prior)
        result = run(problem, budget=20)
        expected = stats.norm(0, np.sqrt(2)).logpdf(1.0) + 0.5 * np.log(2 * np.pi)
        assert abs(result.log_evidence - expected) < 0.3
        assert abs(result.posterior.mean()[0] - 0.5) < 0.2
        assert abs(result.posterior.sd()[0] - np.sqrt(0.5)) < 0.2


class TestSettings:
    @pytest.mark.parametrize("name", ["viqr", "imiqr", "eig", "npro", "nowv", "map", "old"])
    def test_variants_run(self, name):
        settings = Settings.variant(f"paper-{name}", final_components=0)
        result = run(make(noisy), budget=20, settings=settings)
        assert len(result.iterations) == 3
        assert np.isfinite(result.elbo)
        assert result.settings == settings

    def test_an_acquisition_function_of_the_users_own(self):
        class Widest:
            """Where the surrogate knows least."""

            calls = 0

            def prepare(self, _rng, situation):
                type(self).calls += 1
                self.gp = situation.gp
                return self

            def values(self, x):
                return self.gp.pooled(x)[1]

        result = run(make(noisy), settings=dataclasses.replace(QUICK, acquisition=Widest()))
        assert Widest.calls == 5
        assert np.abs(result.evaluations.theta[10:]).max() > 3

    def test_batch(self):
        result = run(make(noisy), settings=dataclasses.replace(QUICK, batch=2), budget=14)
        assert [it.n_evaluations for it in result.iterations] == [10, 12, 14]

    def test_final_components(self):
        result = run(make(noisy), settings=Settings(final_components=12))
        assert result.posterior.mixture.n_components in (2, 8, 12)  # it grows in steps
        assert result.boosted == (result.posterior.mixture is not result.iterations[
            result.chosen - 1].solution.mixture)  # fmt: skip

    def test_stops_early_only_if_allowed(self, monkeypatch):
        monkeypatch.setattr("quell.run.loop.solution_is_final", lambda *_: True)
        early = run(make(noisy), budget=20)
        assert early.evaluations.n_counted == 10
        assert any("stable" in reason for reason in early.reasons)
        late = run(make(noisy), budget=20, settings=dataclasses.replace(QUICK, stop_early=False))
        assert late.evaluations.n_counted == 20


def ready(**changes):
    """A state whose last iteration is stable, long after the end of warm-up."""
    state = Session.begin(make(noisy), seed=1, settings=QUICK).engine.absorb()
    figures = {
        "index": 60, "action": "", "n_evaluations": 300, "n_training": 300, "elbo": 0.0,
        "elbo_sd": 0.1, "gskl": 0.0, "reliability": 0.1, "stable": True, "n_components": 9,
        "n_pruned": 0, "n_samples": 4, "noise_sd": 1.0, "warmup": False,
        "cpu_seconds": 0.0, "solution": make_case().solution,
    }  # fmt: skip
    last = Iteration(**(figures | {k: v for k, v in changes.items() if k in figures}))
    before = dataclasses.replace(
        last, index=changes.get("whitened", 10), action="whitening", n_evaluations=100,
        elbo=changes.get("elbo_before", 0.0),
    )  # fmt: skip
    return dataclasses.replace(state, history=(before, last))


class TestEnd:
    @pytest.mark.parametrize(
        ("changes", "finished"),
        [({}, True), ({"stable": False}, False), ({"whitened": 59}, False),
         ({"n_evaluations": 4}, False), ({"elbo_before": -2.0}, False)],
    )  # fmt: skip
    def test_a_stable_solution_some_time_after_the_last_whitening(self, changes, finished):
        assert solution_is_final(ready(**changes), QUICK) == finished

    @pytest.mark.parametrize(("sd", "finished"), [(0.25, True), (1e-6, False), (None, True)])
    def test_a_stable_solution_of_which_enough_is_known(self, sd, finished):
        settings = dataclasses.replace(QUICK, stop_sd=sd)
        assert solution_is_final(ready(), settings) == finished

    def test_a_run_with_a_whitening(self, monkeypatch):
        def due(state, *_, **__):
            return len(state.history) == 2

        def over(state, *, at_once):  # noqa: ARG001
            return dataclasses.replace(state, warmup=False, last_warmup=2)

        monkeypatch.setattr("quell.vbmc.update.warmup_is_over", due)
        monkeypatch.setattr("quell.vbmc.update.leave_warmup", over)
        monkeypatch.setattr("quell.vbmc.update.whitening_is_due", due)
        covariance = np.array([[1.0, 0.8], [0.8, 1.0]])
        density = stats.multivariate_normal([0.5, 0.0], covariance)
        problem = make(lambda theta: float(density.logpdf(theta)), 2, noise="exact")
        result = run(problem, budget=25, settings=Settings(final_components=12))
        assert result.diagnostics["whitenings"] == 1
        assert [it.n_evaluations for it in result.iterations] == [10, 15, 15, 20, 25]
        assert not result.posterior.space.is_standard
        assert abs(result.iterations[2].elbo - result.iterations[1].elbo) < 1
        assert abs(result.log_evidence + 2 * np.log(20.0)) < 0.3
        np.testing.assert_allclose(result.posterior.mean(), [0.5, 0.0], atol=0.3)
        np.testing.assert_allclose(result.posterior.covariance(), covariance, atol=0.4)


class TestProgress:
    def test_off_is_silent(self, capsys):
        run(make(noisy), budget=10, progress=False)
        assert capsys.readouterr() == ("", "")

    def test_on_writes_lines_without_a_terminal(self, capsys):
        run(make(noisy), budget=10, progress=True)
        output, lines = capsys.readouterr()
        assert output == ""
        assert "10/10 evaluations" in lines
        assert "\x1b" not in lines
        assert "\r" not in lines

    def test_on_shows_in_a_terminal(self, monkeypatch):
        class Terminal(io.StringIO):
            def isatty(self):
                return True

        screen = Terminal()
        monkeypatch.setattr("sys.stderr", screen)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "140")
        run(make(noisy), progress=True)
        assert "15/15 evaluations" in screen.getvalue()
        assert "ELBO" in screen.getvalue()


class TestBadArguments:
    @pytest.mark.parametrize(
        ("argument", "value"),
        [
            ("budget", 0), ("budget", -3), ("budget", 2.5), ("budget", "many"),
            ("seed", -1), ("seed", 1.5), ("seed", "x"),
            pytest.param("settings", {"batch": 5}),
            pytest.param("settings", "viqr"),
            pytest.param("callback", 3),
        ],
    )  # fmt: skip
    def test_name_themselves_before_anything_is_evaluated(self, argument, value):
        target = Counted(normal)
        with pytest.raises((TypeError, ValueError), match=argument):
            run(make(target), **{argument: value})
        assert target.points == []

    def test_problem(self):
        with pytest.raises(TypeError, match="problem"):
            infer(normal)

    def test_numpy_integers_are_fine(self):
        result = run(make(noisy), budget=np.int64(10), seed=np.uint32(3))
        assert type(result.seed) is int
