"""Calibration: right posteriors pass, wrong ones do not, bad input is refused."""

import numpy as np
import pytest

from quell import Problem, Settings, calibrate, infer, predictive_check
from quell.calibration.calibrate import Calibration
from quell.calibration.ranks import RANK_DRAWS
from quell.calibration.tarp import tarp_shares, uniform_p_value

QUICK = Settings(final_components=0)


def simulate(theta, rng):
    return rng.normal(theta[0], 1.0, size=4)


def normal_mean(data, scale=1.0, **changes):
    """A mean between −3 and 3 of normal data; ``scale`` ≠ 1 makes the likelihood wrong."""
    options = {"lower": [-3, 7], "upper": [3, 7], "plausible_lower": [-2, 7],
               "plausible_upper": [2, 7], "noise": "exact"} | changes  # fmt: skip
    return Problem(lambda theta: -0.5 * scale * float(np.sum((data - theta[0]) ** 2)), **options)


def calibration_of(problem, runs=16, **changes):
    options = {"observed": np.zeros(4), "budget": 13, "settings": QUICK, "progress": False}
    return calibrate(problem, simulate, runs=runs, **(options | changes))


@pytest.fixture(scope="module")
def right():
    return calibration_of(normal_mean)


def test_right_posteriors_pass(right):
    assert right.is_calibrated
    assert right.names == ("x1",)  # the other one is fixed
    assert right.truth.shape == right.ranks.shape == right.z_scores.shape == (16, 1)
    assert right.evaluations == 16 * 13
    assert right.failed == ()
    assert set(right.p_values) == {"x1", "jointly"}
    assert 0.3 < right.coverage(0.5)[0] < 0.7
    assert right.coverage(0.9)[0] > 0.7
    assert "calibrated" in str(right)


def test_posteriors_that_are_too_narrow_do_not():
    wrong = calibration_of(lambda data: normal_mean(data, scale=25.0))
    assert not wrong.is_calibrated
    assert wrong.coverage(0.9)[0] < 0.7
    assert "NOT CALIBRATED" in str(wrong)


def test_a_calibration_goes_on_in_its_folder(right, tmp_path):
    """The same seed gives the same, and what is finished is not made again."""
    calibration_of(normal_mean, runs=2, folder=tmp_path)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.quelljournal")}
    again = calibration_of(normal_mean, runs=3, folder=tmp_path)
    np.testing.assert_array_equal(right.ranks[:3], again.ranks)
    assert len(kept) == 2
    assert all(path.stat().st_mtime_ns == time for path, time in kept.items())


def test_where_the_data_are():
    observed = np.full(4, 1.5)
    result = infer(normal_mean(observed), budget=20, seed=1, progress=False, settings=QUICK)
    found = calibration_of(normal_mean, runs=12, observed=observed, result=result)
    assert abs(found.truth.mean() - 1.5) < 0.5  # drawn from the posterior, not from the prior
    assert found.truth.std() < 0.8
    assert 0.5 < found.z_scores.std() < 2


def test_the_cost_is_said_first(capsys):
    calibration_of(normal_mean, runs=1, progress=True)
    assert "1 runs of up to 13 evaluations each, 13 in all" in capsys.readouterr().out


def test_runs_that_fail_are_named():
    def sometimes(data):
        if data.mean() > 0:
            return normal_mean(data)
        return Problem(
            lambda _: 1 / 0, lower=-3, upper=3, plausible_lower=-2, plausible_upper=2,
            noise="exact",
        )  # fmt: skip

    def one(data):
        return sometimes(data) if not np.all(data == 1) else normal_mean(data)

    found = calibration_of(lambda data: _only_first(one(data)), runs=6, observed=np.ones(4))
    assert found.n_runs + len(found.failed) == 6
    assert found.failed
    assert "FAILED simulation" in str(found)


def _only_first(problem):
    """With the one parameter that all of them have."""
    return Problem(
        lambda theta: problem.log_likelihood(np.append(theta, 7.0)), lower=-3, upper=3,
        plausible_lower=-2, plausible_upper=2, noise="exact",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"runs": 0}, ValueError, "runs must be a positive integer"),
        ({"problem": normal_mean(np.zeros(4))}, TypeError, "problem must be a function from data"),
        ({"problem": lambda _: 3}, TypeError, "must be a quell.Problem, got int"),
        (
            {"problem": lambda data: normal_mean(data, prior=lambda _: 0.0)},
            ValueError,
            "nothing can be drawn from this prior",
        ),
    ],
)
def test_bad_input(changes, error, words):
    options = {"problem": normal_mean} | changes
    with pytest.raises(error, match=words):
        calibration_of(options.pop("problem"), **options)


def test_few_runs_cannot_be_tested():
    found = Calibration(("a",), np.zeros((3, 1)), np.full((3, 1), 500.0), np.full(3, 0.5),
                        np.zeros((3, 1)), ("stable",) * 3, (), 30)  # fmt: skip
    assert np.isnan(found.p_values["a"])
    assert not found.is_calibrated
    assert "cannot be tested" in str(found)
    assert found.coverage(0.5) == [1.0]


class TestRandomPoints:
    def shares(self, width, shift=0.0, correlation=0.0):
        rng = np.random.default_rng(6)
        truth = rng.multivariate_normal([0, 0], [[1, 0.95], [0.95, 1]], size=300)
        cov = width**2 * np.array([[1, correlation], [correlation, 1]])
        draws = rng.multivariate_normal([shift, shift], cov, size=(300, RANK_DRAWS))
        return tarp_shares(rng, truth, draws)

    def test_uniform_where_posteriors_are_right(self):
        assert uniform_p_value(self.shares(1.0, correlation=0.95)) > 0.01

    @pytest.mark.parametrize("how", [{"width": 0.4}, {"width": 1.0, "shift": 1.0}])
    def test_not_where_they_are_wrong(self, how):
        assert uniform_p_value(self.shares(correlation=0.95, **how)) < 1e-3

    def test_sees_dependence_that_ranks_of_single_parameters_do_not(self):
        assert uniform_p_value(self.shares(1.0, correlation=-0.95)) < 1e-3


@pytest.fixture(scope="module")
def result():
    problem = normal_mean(np.full(4, 1.0))
    return infer(problem, budget=20, seed=1, progress=False, settings=QUICK)


class TestPredictions:
    def test_what_the_model_makes_and_what_not(self, result):
        def statistic(data):
            return [np.mean(data), np.max(data)]

        odd = np.array([1.0, 1.0, 1.0, 30.0])
        check = predictive_check(result, simulate, odd, statistic, n=100)
        assert check.replicated.shape == (100, 2)
        assert check.p_values[1] < 0.05
        fine = predictive_check(result, simulate, np.full(4, 1.0), np.mean, n=100)
        assert 0.1 < fine.p_values[0] < 0.9
        assert repr(fine).startswith("PredictiveCheck of 100 data sets: p = 0.")

    def test_ties_count_half(self, result):
        check = predictive_check(result, simulate, np.zeros(4), lambda data: len(data), n=10)
        assert check.p_values == [0.5]

    def test_a_statistic_must_not_change_its_length(self, result):
        with pytest.raises(ValueError, match="gives 1 numbers for the observed data, 4 for"):
            predictive_check(result, simulate, np.zeros(1), lambda data: data, n=5)
        with pytest.raises(TypeError, match=r"statistic must be a function, got .* float"):
            predictive_check(result, simulate, np.zeros(4), 0.5)

    @pytest.mark.parametrize("where", ["20 of 20 simulated", "the observed data"])
    def test_what_is_not_defined_is_no_evidence(self, result, where):
        observed = np.full(4, 99.0)

        def statistic(data):
            is_observed = data is observed
            return np.nan if is_observed == (where == "the observed data") else 0.0

        with pytest.raises(ValueError, match=f"statistic is nan for .*{where}"):
            predictive_check(result, simulate, observed, statistic, n=20)

    def test_a_simulator_that_is_none(self):
        with pytest.raises(TypeError, match=r"simulate must be a function, got .* int"):
            calibrate(normal_mean, 3, observed=np.zeros(4))
