import json

import numpy as np
import pytest
from scipy.special import logsumexp

from quell.bench import BenchError, data, load
from quell.bench.density import density_on_box, total_variation, trapezoid
from quell.bench.metrics import gskl, lml_loss, mmtv
from quell.bench.problems.real import NOTES, REAL, data_of, module_of
from quell.bench.problems.stress import STRESS
from quell.bench.problems.synthetic import SYNTHETIC
from quell.bench.problems.together import TOGETHER
from quell.bench.single import Spec

KEYS = list(REAL)
EXACT = [key for key in KEYS if key not in ("ricker", "gandk")]
IBS = [key for key in EXACT if not key.startswith("neuronal")]
PAPER_SD = {"addm": 2.8, "timing": 2.2, "multisensory": 1.3, "neuronal": 2.0, "rodent": 3.18}


@pytest.fixture
def no_data(monkeypatch):
    monkeypatch.delenv("QUELL_DATA", raising=False)


class TestWithData:
    @pytest.mark.parametrize("key", KEYS)
    def test_problem_is_that_of_the_stored_truth(self, data_folder, key):
        problem = load(key)
        stored = json.loads((data_folder / "truth.json").read_text())[key]
        assert problem.data == "real"
        assert problem.names == tuple(stored["param_names"])
        assert problem.default_budget == stored["max_fun_evals"]
        for ours, theirs in (("lower", "LB"), ("upper", "UB"), ("plausible_lower", "PLB"),
                             ("plausible_upper", "PUB")):  # fmt: skip
            np.testing.assert_allclose(getattr(problem, ours), stored[theirs], rtol=1e-12)
        assert problem.truth.log_evidence == stored["lnZ"]
        assert problem.truth.log_evidence_checked == stored["lnZ_check"]["lnZ"]
        if problem.exact is not None:
            value = problem.exact(stored["mode"])
            assert value == pytest.approx(stored["loglik_at_mode"], abs=1e-6)

    @pytest.mark.usefixtures("data_folder")
    def test_metrics_of_exact_draws_are_at_their_floor(self):
        # Draws of the posterior by importance sampling around the stored moments.
        problem, rng = load("multisensory_s2"), np.random.default_rng(1)
        truth = problem.truth
        factor = np.linalg.cholesky(1.3 * truth.covariance)
        radius = np.sqrt(8 / rng.chisquare(8, 60_000))
        z = rng.standard_normal((60_000, 6))
        points = truth.mean + radius[:, None] * (z @ factor.T)
        log_t = -7 * np.log1p(radius**2 * (z**2).sum(1) / 8)
        inside = ((points > problem.lower) & (points < problem.upper)).all(1)
        points, log_t = points[inside], log_t[inside]
        log_w = problem.exact(points) - log_t
        draws = points[rng.choice(len(points), 20_000, p=np.exp(log_w - logsumexp(log_w)))]
        bounds = {"lower": problem.lower, "upper": problem.upper}
        floor = mmtv(draws, truth.reference, **bounds, estimator=truth.estimator)
        assert floor < 0.015
        assert gskl(draws.mean(0), np.cov(draws.T), truth) < 0.01
        for i, marginal in enumerate(truth.reference):
            low, high = problem.lower[i], problem.upper[i]
            estimate = density_on_box(draws[:, i], lower=low, upper=high)
            assert total_variation(estimate, marginal) < 0.022

    @pytest.mark.usefixtures("data_folder")
    def test_rodent_has_two_truths(self):
        truth = load("rodent").truth
        both = (truth.log_evidence, truth.log_evidence_checked)
        assert lml_loss(*both) == pytest.approx(0.52, abs=0.01)
        assert "0.52" in NOTES["rodent", "real"]
        assert ("ricker", "real") in NOTES

    @pytest.mark.parametrize("key", IBS)
    def test_noise_has_about_the_papers_sd(self, data_folder, key):
        stored = json.loads((data_folder / "truth.json").read_text())[key]
        problem = load(key)
        value, sd = problem.noisy(stored["mode"], np.random.default_rng(2), fast=True)
        assert sd == pytest.approx(problem.emulated_sd, rel=0.2)
        assert abs(value - stored["loglik_at_mode"]) < 4.5 * sd

    def test_data_are_also_found_in_the_original_repository(
        self, data_folder, tmp_path, monkeypatch
    ):
        # Its folder matlab/problems is like the subfolder data, and has no stored truth.
        monkeypatch.setenv("QUELL_DATA", str(data_folder / "data"))
        problem = load("rodent")
        assert problem.data == "real"
        with pytest.raises(BenchError, match=r"there is no truth\.json"):
            _ = problem.truth
        monkeypatch.setenv("QUELL_DATA", str(tmp_path))
        with pytest.raises(BenchError, match=r"there is no data/akrami2018_data\.csv"):
            load("rodent")


@pytest.mark.usefixtures("no_data")
class TestWithoutData:
    @pytest.mark.parametrize("key", KEYS)
    def test_problem_has_simulated_data_and_a_shipped_truth(self, key):
        problem = load(key)
        truth, width = problem.truth, problem.upper - problem.lower
        assert problem.data == "simulated"
        assert truth.on_box
        assert truth.log_evidence_error < 0.05
        assert truth.mean.shape == (problem.dimension,)
        assert ((truth.mean > problem.lower) & (truth.mean < problem.upper)).all()
        np.linalg.cholesky(truth.covariance)
        for i, marginal in enumerate(truth.marginals):
            x, p = marginal.grid, marginal(marginal.grid)
            assert marginal.lower >= problem.lower[i] - 1e-9 * width[i]
            assert marginal.upper <= problem.upper[i] + 1e-9 * width[i]
            assert trapezoid(p, x) == pytest.approx(1, abs=1e-3)
            # The estimate on the box is half a step of its grid to the left, and a little wider.
            mean, sd = trapezoid(x * p, x), np.sqrt(truth.covariance[i, i])
            assert abs(mean - truth.mean[i]) < 0.02 * sd + 0.6 * width[i] / 8191
        # The data come from parameters that the posterior does not exclude.
        generating = np.array(module_of(key).GENERATING[key])
        distance = generating - truth.mean
        square = distance @ np.linalg.solve(truth.covariance, distance)
        assert square < problem.dimension + 5 * np.sqrt(2 * problem.dimension)

    @pytest.mark.parametrize("key", EXACT)
    def test_evidence_agrees_with_a_rough_estimate(self, key):
        # Few points around the stored moments: enough to see a wrong box volume or data set.
        problem, rng, n = load(key), np.random.default_rng(3), 120
        truth, d = problem.truth, problem.dimension
        factor = np.linalg.cholesky(1.5 * truth.covariance)
        radius, z = np.sqrt(6 / rng.chisquare(6, n)), rng.standard_normal((n, d))
        points = truth.mean + radius[:, None] * (z @ factor.T)
        inside = ((points > problem.lower) & (points < problem.upper)).all(1)
        from scipy.stats import multivariate_t

        log_q = multivariate_t(truth.mean, factor @ factor.T, df=6).logpdf(points[inside])
        volume = np.log(problem.upper - problem.lower).sum()
        log_w = problem.exact(points[inside]) - volume - log_q
        estimate = logsumexp(log_w) - np.log(n)
        assert estimate == pytest.approx(truth.log_evidence, abs=0.6)

    def test_data_are_the_same_every_time(self):
        first, second = data_of("rodent"), data_of("rodent")
        np.testing.assert_array_equal(first.y, second.y)
        one, other = data_of("multisensory_s1"), data_of("multisensory_s2")
        assert type(one) is type(other)
        assert load("rodent") is load("rodent")

    @pytest.mark.parametrize("key", KEYS)
    def test_modes(self, key):
        problem, theta = load(key), np.array(module_of(key).GENERATING[key])
        assert problem.prior is None
        assert (problem.exact is None) == (key not in EXACT)
        assert (problem.fast is None) == (key not in IBS)
        assert problem.emulated_sd == PAPER_SD.get(key.split("_")[0])
        if key in EXACT:
            value = float(problem.exact(theta))
            target = problem.as_problem("exact", "paper", rng=problem.noise_stream(3))
            outcome = target.evaluate(theta)
            assert outcome.sd == problem.emulated_sd
            noise = problem.noise_stream(3).standard_normal()
            assert outcome.value == pytest.approx(value + noise * outcome.sd)
            # The uniform prior on the box.
            volume = np.log(problem.upper - problem.lower).sum()
            assert target.log_prior(theta) == pytest.approx(-volume)
        else:
            with pytest.raises(BenchError, match="no exact target"):
                problem.as_problem("exact", "paper")
        if key in IBS:
            target = problem.as_problem("noisy", fast=True, rng=problem.noise_stream(4))
            outcome = target.evaluate(theta)
            assert abs(outcome.value - value) < 4.5 * outcome.sd
            assert outcome.value == problem.fast(theta, problem.noise_stream(4))[0]
        else:
            with pytest.raises(BenchError, match="no fast path"):
                problem.as_problem("noisy", fast=True)

    def test_a_run_knows_its_data(self, tmp_path, monkeypatch):
        spec = Spec.make("multisensory_s1", "quell", 0, mode="exact", noise="paper")
        assert (spec.data, spec.noise, spec.fast) == ("simulated", 1.3, False)
        assert spec.benchmark().data == "simulated"
        real = Spec(**{**spec.__dict__, "data": "real"})
        with pytest.raises(BenchError, match="simulated data here, the run has real data"):
            real.benchmark()
        monkeypatch.setenv("QUELL_DATA", str(tmp_path))
        with pytest.raises(BenchError, match="there is no"):
            spec.benchmark()


def test_kind_of_data_follows_the_variable(monkeypatch):
    monkeypatch.setenv("QUELL_DATA", "somewhere")
    assert (data.folder(), data.kind()) == ("somewhere", "real")
    monkeypatch.setenv("QUELL_DATA", "")
    assert (data.folder(), data.kind()) == (None, "simulated")


def test_real_problems_come_first_in_the_list():
    from quell.bench.problems import PROBLEMS

    assert list(PROBLEMS) == [*REAL, *TOGETHER, *SYNTHETIC, *STRESS]
    assert all(PROBLEMS[key].dimension == load(key).dimension for key in ("rodent", "timing"))
