"""Whole runs at the edges: odd beginnings, odd answers, many points in one call."""

import numpy as np
import pytest
from helpers.problems import INF, Flaky, make, noisy, normal, run, same, true_log_evidence
from scipy import stats

import quell


class TestBeginnings:
    """First points of all kinds."""

    def test_the_search_goes_where_the_head_start_is(self):
        """Though that is far outside the plausible box."""
        density = stats.logistic(20, 0.6)  # a normal would be known exactly from the head start
        points = np.linspace(18, 22, 9)[:, None]
        values = density.logpdf(points[:, 0])
        changes = {"lower": -INF, "upper": INF, "plausible_lower": -0.5, "plausible_upper": 0.5}
        problem = make(
            lambda theta: density.logpdf(theta[0]), noise="exact",
            prior=[stats.norm(0, 100)], **changes,
        )  # fmt: skip
        for seed in (1, 2, 3):
            result = run(problem, evaluations=(points, values), budget=12, seed=seed)
            # Exact values leave little to learn at the head start itself: the points go to its two
            # sides, and none back into the plausible box.
            distances = np.abs(result.evaluations.theta[10:, 0] - 20)
            assert np.mean(distances < 7.5) > 0.8
            assert (distances < 15).all()
            assert abs(result.posterior.mean()[0] - 20) < 0.05
            assert abs(result.posterior.sd()[0] / density.std() - 1) < 0.1
            assert abs(result.log_evidence - stats.norm(0, 100).logpdf(20)) < 0.05

    def test_starts_far_outside_the_plausible_box(self):
        problem = make(
            lambda theta: stats.norm(9, 0.1).logpdf(theta[0]), noise="exact",
            plausible_lower=-0.1, plausible_upper=0.1,
        )  # fmt: skip
        result = run(problem, start=[[8.9], [9.1], [9.0]], budget=25)
        searched = result.evaluations.theta[np.array(result.evaluations.origin) == "search", 0]
        assert np.mean(np.abs(searched - 9) < 1) > 0.5
        assert abs(result.posterior.mean()[0] - 9) < 0.1

    def test_a_prior_without_density_in_half_of_the_box_costs_no_design_points(self):
        problem = make(noisy, 2, prior=lambda t: 0.0 if t[0] > t[1] else -INF)
        result = run(problem, budget=12)
        assert result.evaluations.ok[:10].all()
        assert np.all(result.evaluations.theta[:10, 0] > result.evaluations.theta[:10, 1])

    def test_repeats_of_one_point_are_no_design(self):
        result = run(make(noisy), evaluations=(np.zeros((12, 1)), np.zeros(12), 0.5), budget=14)
        assert result.evaluations.n_distinct >= 10

    def test_starts_at_one_point_only(self):
        result = run(make(noisy, noise="reported"), start=np.ones((11, 1)), budget=15)
        assert result.evaluations.n_distinct > 2

    def test_columns_of_a_head_start_go_by_name(self):
        def target(theta):
            return -2 * ((theta[0] - 2) ** 2 + (theta[1] + 2) ** 2)

        first = run(make(target, 2, names=["a", "b"], noise="exact"), budget=25)
        swapped = make(lambda t: target(t[::-1]), 2, names=["b", "a"], noise="exact")
        result = run(swapped, evaluations=first.evaluations, budget=5)
        np.testing.assert_allclose(result.posterior.mean(), [-2, 2], atol=0.3)
        with pytest.raises(ValueError, match=r"of the parameters \['a', 'b'\]"):
            run(make(target, 2, names=["a", "c"]), evaluations=first.evaluations)

    def test_an_earlier_result_for_narrower_bounds_and_a_fixed_parameter(self):
        first = run(make(normal, 2, noise="exact"), budget=20)
        narrow = make(
            normal, 2, noise="exact", lower=[0.0, 0.5], upper=[10.0, 0.5],
            plausible_lower=[0.1, 0.5], plausible_upper=[2.0, 0.5],
        )  # fmt: skip
        result = run(narrow, start=first, budget=15)
        assert np.all(result.evaluations.theta[:, 1] == 0.5)
        assert np.all(result.evaluations.theta[:, 0] > 0)
        away = make(normal, 2, lower=8.0, plausible_lower=8.5, plausible_upper=9.5)
        with pytest.raises(ValueError, match="outside the problem's bounds"):
            run(away, start=first)

    @pytest.mark.parametrize(
        ("changes", "needed"),
        [({}, 10), ({"noise": "exact"}, 10), ({"start": np.ones((25, 1))}, 25)],
    )
    def test_a_budget_smaller_than_the_design(self, changes, needed):
        start = {"start": changes.pop("start")} if "start" in changes else {}
        with pytest.raises(ValueError, match=f"at least {needed}, got 9"):
            run(make(normal, **changes), budget=9, **start)


class TestSmallThings:
    def test_a_numpy_truth_value_stops_too(self):
        result = run(make(noisy), budget=40, callback=lambda _: np.True_)
        assert result.evaluations.n_counted == 10

    def test_an_interrupt_before_any_result_keeps_the_evaluations(self):
        target = Flaky(noisy, {7: KeyboardInterrupt()})
        with pytest.raises(quell.InferenceInterrupted, match="after 6 evaluations") as caught:
            run(make(target))
        assert len(caught.value.evaluations) == 6
        again = run(make(noisy), evaluations=caught.value.evaluations)
        assert len(again.evaluations) == 6 + 15

    def test_a_repeat_for_the_noise_that_fails_is_made_again(self):
        target = Flaky(normal, {2: OSError("disk full")})
        result = run(make(target))
        assert result.evaluations.origin[:3] == ("design", "check", "check")
        assert result.evaluations.ok[:3].tolist() == [True, False, True]

    def test_given_failures_are_not_counted(self):
        given = ([[0.0], [1.0], [2.0], [3.0]], [0.0, -1.0, -INF, -INF])
        result = run(make(normal, noise="exact"), evaluations=given)
        assert result.diagnostics["failed_evaluations"] == 0
        assert "failed" not in result.summary()

    def test_times_add_up(self):
        result = run(make(noisy, 2), budget=40)
        spent = sum(iteration.cpu_seconds for iteration in result.iterations)
        assert 0.3 * result.cpu_seconds < spent < 1.01 * result.cpu_seconds

    def test_integers_are_explained(self):
        problem = make(normal, integer=[True])
        assert "the probability of k is spread" in run(problem).summary()
        assert "is spread" not in run(make(normal)).summary()


class TestVectorised:
    def target(self, sizes):
        def log_likelihood(thetas, rng):
            sizes.append(len(thetas))
            noise = np.array([stream.standard_normal() for stream in rng])
            return -0.5 * np.sum(thetas**2, axis=1) + noise, np.ones(len(thetas))

        return log_likelihood

    def test_many_points_in_one_call(self):
        sizes = []
        problem = make(self.target(sizes), 2, vectorised=True)
        result = run(problem, budget=43, workers=8)
        assert sizes == [8, 8, 8, 8, 8, 3]
        assert result.evaluations.n_counted == 43
        assert abs(result.log_evidence - true_log_evidence(2)) < 1.5
        same(result, run(problem, budget=43, workers=8))

    def test_a_call_that_raises_is_no_loss(self):
        def log_likelihood(thetas):
            if len(thetas) > 1 and np.any(thetas > 1):
                raise RuntimeError("cannot do this batch")
            return -0.5 * np.sum(thetas**2, axis=1)

        problem = make(log_likelihood, 1, vectorised=True, noise="exact")
        assert run(problem, budget=16, workers=4).evaluations.ok.all()

    def test_workers_need_someone_to_work(self):
        with pytest.raises(ValueError, match="vectorised"):
            run(make(noisy), workers=3)
