"""Whole runs on targets that go down very far, or touch a hard bound."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from helpers.problems import same
from scipy import stats

from quell import Problem, Settings, infer
from quell.vbmc.low_values import resolved_depth

#: What only Quell's own rules do, never the paper's.
OWN_ACTIONS = {"softened", "sharpened", "went back"}


def with_noise(log_likelihood, sd):
    """The same function, or noisy estimates of it."""
    if sd == 0:
        return log_likelihood

    def estimate(theta, rng):
        return log_likelihood(theta) + sd * rng.standard_normal(), sd

    return estimate


def actions(result):
    return {str(iteration.action) for iteration in result.iterations if iteration.action}


class Regression:
    """A line through points far from the origin, in raw units, and one more regressor.

    Intercept and slope are correlated at −0.99, and the log-likelihood goes down by more than 5e4
    in the plausible box. Conjugate, so that evidence and posterior are known.
    """

    prior_sds = np.array([10.0, 2.0, 5.0])
    plausible_lower, plausible_upper = np.array([-10.0, -0.4, -5.0]), np.array([10.0, 1.4, 5.0])

    def __init__(self):
        rng = np.random.default_rng(4)
        n = 60
        columns = [np.ones(n), rng.uniform(25.0, 40.0, n), rng.standard_normal(n)]
        self.design = np.column_stack(columns)
        self.y = self.design @ [3.0, 0.7, -1.5] + rng.standard_normal(n)
        marginal = self.design * self.prior_sds**2 @ self.design.T + np.eye(n)
        self.log_evidence = stats.multivariate_normal(np.zeros(n), marginal).logpdf(self.y)
        precision = self.design.T @ self.design + np.diag(self.prior_sds**-2)
        self.covariance = np.linalg.inv(precision)
        self.mean = self.covariance @ self.design.T @ self.y

    def log_likelihood(self, theta):
        residual = self.y - self.design @ theta
        return float(-0.5 * residual @ residual - 0.5 * len(self.y) * np.log(2 * np.pi))

    def problem(self, sd):
        return Problem(
            with_noise(self.log_likelihood, sd), lower=-np.inf, upper=np.inf,
            plausible_lower=self.plausible_lower, plausible_upper=self.plausible_upper,
            prior=[stats.norm(0.0, s) for s in self.prior_sds],
            noise="reported" if sd else "exact",
        )  # fmt: skip


@pytest.fixture(scope="module")
def regression():
    return Regression()


class TestRawUnitsRegression:
    def test_is_what_it_says(self, regression):
        box = np.random.default_rng(0).uniform(
            regression.plausible_lower, regression.plausible_upper, (1000, 3)
        )
        assert min(regression.log_likelihood(theta) for theta in box) < -5e4
        sds = np.sqrt(np.diag(regression.covariance))
        assert regression.covariance[0, 1] / sds[0] / sds[1] < -0.99

    @pytest.mark.parametrize(
        ("sd", "seed", "budget"), [(0.0, 1, 200), (0.0, 3, 200), (1.0, 2, 180)]
    )
    def test_evidence_and_posterior(self, regression, sd, seed, budget):
        """The evidence was off by 1e4 and more when low values counted as they were."""
        result = infer(regression.problem(sd), budget=budget, seed=seed, progress=False)
        assert abs(result.log_evidence - regression.log_evidence) < 1.0
        sds = np.sqrt(np.diag(regression.covariance))
        error = (result.posterior.mean() - regression.mean) / sds
        assert np.abs(error).max() < 0.5
        ratio = np.sqrt(np.diag(result.posterior.covariance())) / sds
        assert np.abs(np.log(ratio)).max() < np.log(1.5)
        assert result.iterations[result.chosen - 1].believable


class Truncated:
    """A correlated normal in two dimensions of which a hard bound cuts off one half."""

    correlation = 0.8
    mean = np.sqrt(2 / np.pi) * np.array([1.0, 0.8])
    sds = np.sqrt([1 - 2 / np.pi, 1 - 0.64 * 2 / np.pi])
    log_evidence = np.log(0.5 * 2 * np.pi * np.sqrt(1 - 0.64)) - np.log(10.0 * 20.0)

    def log_likelihood(self, theta):
        a, b = theta
        r = self.correlation
        return float(-0.5 * (a**2 - 2 * r * a * b + b**2) / (1 - r**2))

    def problem(self, sd=1.0, log_likelihood=None, **changes):
        box = {
            "lower": [0.0, -10.0], "upper": [10.0, 10.0],
            "plausible_lower": [0.2, -2.0], "plausible_upper": [3.0, 2.0],
            "noise": "reported" if sd else "exact", "bounded": "soft",
        }  # fmt: skip
        return Problem(with_noise(log_likelihood or self.log_likelihood, sd), **(box | changes))

    def check(self, result):
        assert abs(result.log_evidence - self.log_evidence) < 0.5
        np.testing.assert_array_less(np.abs(result.posterior.mean() - self.mean) / self.sds, 0.4)
        ratio = np.sqrt(np.diag(result.posterior.covariance())) / self.sds
        np.testing.assert_array_less(np.abs(np.log(ratio)), np.log(1.4))


TRUNCATED = Truncated()
NO_LEAPS = Settings(climb=False)


@pytest.fixture(scope="module")
def softened():
    """Without the search's own leaps, which soften edges on their way."""
    with np.errstate(all="raise"):
        return infer(TRUNCATED.problem(), settings=NO_LEAPS, budget=100, seed=1, progress=False)


class TestHardBound:
    def test_edges_become_soft_and_the_answer_is_accurate(self, softened):
        assert "softened" in actions(softened)
        assert np.isfinite(softened.posterior.space.softness).all()
        TRUNCATED.check(softened)

    def test_its_draws_stay_inside(self, softened):
        with np.errstate(all="raise"):
            draws = softened.posterior.sample(5000, np.random.default_rng(0))
            assert np.isfinite(softened.posterior.log_density(draws)).all()
            assert softened.summary()
        assert (draws[:, 0] > 0).all()
        assert (draws[:, 0] < 0.05).mean() > 0.01  # and reach the bound

    def test_with_another_seed(self):
        result = infer(TRUNCATED.problem(), budget=100, seed=3, progress=False)
        assert "softened" in actions(result)
        TRUNCATED.check(result)

    def test_a_leap_softens_edges_too(self):
        result = infer(TRUNCATED.problem(), budget=100, seed=2, progress=False)
        assert actions(result) & {"leapt", "softened"}
        assert np.isfinite(result.posterior.space.softness).all()
        TRUNCATED.check(result)

    def test_a_map_by_name_stays_as_it_is(self):
        result = infer(TRUNCATED.problem(bounded="probit"), budget=60, seed=1, progress=False)
        assert not actions(result) & OWN_ACTIONS
        assert np.isnan(result.posterior.space.softness).all()

    def test_continued_from_its_journal_bit_for_bit(self, softened, tmp_path):
        path = tmp_path / "journal"
        first = min(it.n_evaluations for it in softened.iterations if it.action == "softened")
        assert first < 95
        calls = []

        def interrupt(theta):
            calls.append(theta)
            if len(calls) == first + 3:
                raise KeyboardInterrupt
            return TRUNCATED.log_likelihood(theta)

        how = {"budget": 100, "seed": 1, "settings": NO_LEAPS, "progress": False, "journal": path}
        stopped = infer(TRUNCATED.problem(log_likelihood=interrupt), **how)
        assert stopped.evaluations.n_counted < 100
        assert "softened" in actions(stopped)
        again = infer(TRUNCATED.problem(), **how)
        same(softened, again)
        np.testing.assert_array_equal(again.posterior.space.softness,
                                      softened.posterior.space.softness)  # fmt: skip


class TestPaperVariants:
    def test_neither_soften_nor_compress_nor_go_back(self):
        settings = Settings.variant("paper-viqr", frequent_retrain=False, final_components=0)
        problem = TRUNCATED.problem(
            0.0, lambda theta: 5 * TRUNCATED.log_likelihood(theta),
            plausible_lower=[0.2, -5.0], plausible_upper=[5.0, 5.0],
        )  # fmt: skip
        result = infer(problem, budget=60, seed=1, progress=False, settings=settings)
        assert not actions(result) & OWN_ACTIONS
        for iteration in result.iterations:
            assert np.isnan(iteration.solution.space.softness).all()
        first = result.iterations[0].solution
        table = result.evaluations
        expected = table.log_joint[: len(first.data.y)] + first.space.log_jacobian(first.data.x)
        np.testing.assert_allclose(first.data.y, expected)
        assert np.ptp(first.data.y) > 2 * resolved_depth(2)


class TestStrictUsers:
    """Someone whose NumPy raises, and whose warnings are errors, sees none of Quell's own."""

    @pytest.mark.parametrize("sd", [0.0, 1.0])
    def test_with_floating_point_errors_raised(self, regression, sd):
        with np.errstate(all="raise"):
            result = infer(regression.problem(sd), budget=40, seed=3, progress=False)
            draws = result.posterior.sample(100, np.random.default_rng(0))
            assert np.isfinite(result.posterior.log_density(draws)).all()
            assert result.summary()

    def test_at_a_bound_and_next_to_zero_density(self):
        def log_likelihood(theta):
            if theta[1] > 3.0:
                return -np.inf
            return TRUNCATED.log_likelihood(theta) if theta[1] > -5.0 else -1e300

        problem = TRUNCATED.problem(
            0.0, log_likelihood, plausible_lower=[0.1, -8.0], plausible_upper=[8.0, 8.0]
        )
        with np.errstate(all="raise"):
            result = infer(problem, budget=60, seed=1, progress=False)
            assert np.isfinite(result.log_evidence)
            assert result.summary()

    def test_in_a_process_of_its_own(self):
        """From the import on, as a script would be run."""
        script = """
            import numpy as np
            np.seterr(all="raise")
            from quell import Problem, infer
            problem = Problem(
                lambda theta: -1e4 * float((theta[0] - 0.2) ** 2) - float(theta[1]),
                lower=[0, 0], upper=[10, 10], plausible_lower=[0.1, 0.1], plausible_upper=[9, 9],
                noise="exact",
            )
            result = infer(problem, budget=35, seed=1, progress=False)
            result.summary()
            result.posterior.sample(100, np.random.default_rng(0))
            print(np.isfinite(result.log_evidence))
        """
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
            capture_output=True, text=True, timeout=200, check=False,
        )  # fmt: skip
        assert done.stderr == ""
        assert done.stdout.split() == ["True"]
