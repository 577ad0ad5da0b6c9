"""Arguments of problems and runs: shapes that come naturally, boxes left out, names misspelt."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
from helpers.problems import QUICK, box, make, normal
from scipy import stats

import quell
from quell import Posterior, Problem, Settings, infer
from quell.interface.keywords import ELSEWHERE
from quell.mixture import Mixture
from quell.space import InferenceSpace

INF = np.inf


class TestUnknownKeywords:
    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: Problem(sum, lower_bounds=0), r"here that is lower="),
            (lambda: Problem(sum, PLB=0), r"here that is plausible_lower="),
            (lambda: Problem(sum, x0=0), r"that is start= of quell\.infer"),
            (lambda: Problem(log_density=sum), r"here that is log_likelihood="),
            (lambda: Problem(sum, specify_target_noise=True), r'here that is noise="reported"'),
            (lambda: Problem(sum, plausible_lowr=0), r"did you mean 'plausible_lower'\?"),
            (lambda: Problem(sum, budget=0), r"argument of quell\.infer"),
            (lambda: Problem(sum, buget=0), r"did you mean 'budget' of quell\.infer\?"),
            (lambda: Problem(sum, qqq=0), r"no argument 'qqq' \(it has log_likelihood, lower,"),
            (lambda: infer(make(normal), max_fun_evals=9), r"here that is budget="),
            (lambda: infer(make(normal), fun_evals_start=9), r"the first design has"),
            (lambda: infer(make(normal), options={}), r"here that is settings="),
            (lambda: infer(make(normal), f_vals=[]), r"evaluations=\(points, values\)"),
            (lambda: infer(make(normal), prior=None), r"argument of quell\.Problem"),
            (lambda: Settings(whitenning=True), r"did you mean 'whitening'\?"),
            (lambda: Settings(fun_evals_per_iter=3), r"here that is batch="),
            (lambda: replace(Settings(), max_fun_evals=3), r"budget= of quell\.infer"),
            (lambda: Settings.variant("paper-viqr", bach=3), r"did you mean 'batch'\?"),
            (lambda: quell.fit(make(normal), None, sed=3), r"did you mean 'seed'\?"),
            (lambda: quell.Sampler(make(normal), sed=3), r"did you mean 'seed'\?"),
            (lambda: quell.study({}, foldr=3), r"did you mean 'folder'\?"),
            (lambda: Problem(sum, 0, 1, 2, 3), r"only log_likelihood may be \(name"),
            (lambda: infer(make(normal), 100), r"only problem may be"),
        ],
    )  # fmt: skip
    def test_the_sentence_says_what_was_meant(self, call, message):
        with pytest.raises(TypeError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)

    def test_what_is_suggested_exists(self):
        known = {
            name: inspect.signature(thing).parameters
            for name, thing in (
                ("quell.Problem", Problem), ("quell.infer", infer), ("quell.Settings", Settings),
            )
        }  # fmt: skip
        for word, (here, where) in ELSEWHERE.items():
            named = here.replace("(", "=").split("=")[0]
            assert named in known[where], word
            assert word not in known[where]

    def test_signatures_stay_visible(self):
        assert list(inspect.signature(infer).parameters)[:3] == ["problem", "budget", "seed"]
        parameters = inspect.signature(Problem).parameters
        assert parameters["lower"].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters["lower"].default is inspect.Parameter.empty
        assert inspect.signature(Settings).parameters["batch"].default == 5
        assert infer.__doc__.startswith("Infer the posterior")


def test_bounds_with_a_leading_axis():
    problem = Problem(
        None, lower=[[-9, -9]], upper=np.array([[9, 9]]), plausible_lower=[[-1, -2]],
        plausible_upper=[[1, 2]],
    )  # fmt: skip
    assert problem.lower.tolist() == [-9, -9]
    assert problem.plausible_upper.tolist() == [1, 2]
    with pytest.raises(ValueError, match=r"lower must be a number .* shape \(2, 1\)"):
        make(normal, 2, lower=[[-9], [-9]])


class TestBudget:
    @pytest.mark.parametrize("budget", [12.0, np.float32(12), np.int64(12)])
    def test_whole_numbers(self, budget):
        result = infer(make(normal, noise="exact"), budget=budget, settings=QUICK, seed=1,
                       progress=False)  # fmt: skip
        assert result.evaluations.n_counted == 12

    def test_the_check_of_a_journal_is_on_or_off(self, tmp_path):
        with pytest.raises(TypeError, match="journal_check must be True or False, got None"):
            infer(make(normal), journal_check=None)
        with pytest.raises(TypeError, match="journal_check must be True or False, got 0"):
            quell.study({"a": make(normal)}, folder=tmp_path, journal_check=0)

    @pytest.mark.parametrize("budget", [100.5, np.nan, INF, "100", True, -1.0])
    def test_what_is_none(self, budget):
        with pytest.raises(ValueError, match="budget must be"):
            infer(make(normal), budget=budget)


class TestPlausibleBox:
    """Left out, it is the central 68 % of the prior."""

    def test_of_distributions(self):
        priors = [stats.norm(1, 2), stats.gamma(3), stats.uniform(0, 10)]
        problem = Problem(None, lower=-INF, upper=INF, prior=priors)
        low = [prior.ppf(0.16) for prior in priors]
        high = [prior.ppf(0.84) for prior in priors]
        np.testing.assert_allclose(problem.plausible_lower, low)
        np.testing.assert_allclose(problem.plausible_upper, high)
        assert problem.lower.tolist() == [-INF, 0, 0]

    def test_within_the_hard_bounds(self):
        with pytest.warns(UserWarning, match="mass outside"):
            problem = Problem(None, lower=1.0, upper=1.5, prior=[stats.norm(0, 1)])
        cut = stats.truncnorm(1.0, 1.5)
        assert problem.plausible_lower[0] == pytest.approx(cut.ppf(0.16))
        assert problem.plausible_upper[0] == pytest.approx(cut.ppf(0.84))

    def test_of_a_multivariate_normal(self):
        prior = stats.multivariate_normal([1, 2], [[4, 1], [1, 9]])
        problem = Problem(None, lower=-INF, upper=INF, prior=prior)
        z = stats.norm.ppf(0.84)
        np.testing.assert_allclose(problem.plausible_lower, [1 - 2 * z, 2 - 3 * z])
        np.testing.assert_allclose(problem.plausible_upper, [1 + 2 * z, 2 + 3 * z])

    def test_of_an_earlier_posterior(self):
        space = InferenceSpace.from_bounds([0, 5], [1, 5], [0.2, 5], [0.8, 5], names=["a", "b"])
        posterior = Posterior(Mixture([1.0], [[0.0]], [0.3], [1.0]), space)
        for prior in (posterior, posterior.as_prior()):
            problem = Problem(None, lower=[5, 0], upper=[5, 1], prior=prior, names=["b", "a"])
            low, high = posterior.interval(0.68, "a")
            np.testing.assert_allclose(problem.plausible_lower, [5, low])
            np.testing.assert_allclose(problem.plausible_upper, [5, high])

    def test_of_an_earlier_posterior_through_the_bounds_of_a_circle(self):
        box = {"lower": 0, "upper": 360, "names": ["a"], "periodic": ["a"]}
        space = InferenceSpace.from_bounds(0, 360, 330, 390, names=["a"], periodic=[True])
        posterior = Posterior(Mixture([1.0], [[0.0]], [0.3], [1.0]), space)
        problem = Problem(None, **box, prior=posterior)
        low, high = posterior.interval(0.68, "a")
        assert high < 100 < 300 < low
        np.testing.assert_allclose(problem.plausible_lower, low)
        np.testing.assert_allclose(problem.plausible_upper, high + 360)

    def test_of_a_uniform_prior(self):
        problem = Problem(None, lower=[0, 3, -1], upper=[10, 3, 1])
        np.testing.assert_allclose(problem.plausible_lower, [1.6, 3, -0.68])
        np.testing.assert_allclose(problem.plausible_upper, [8.4, 3, 0.68])

    def test_of_new_distributions(self):
        problem = Problem(None, lower=-INF, upper=INF, prior=[stats.Normal(mu=0.0, sigma=2.0)])
        assert problem.plausible_upper[0] == pytest.approx(stats.norm(0, 2).ppf(0.84))

    @pytest.mark.parametrize("integer", [["k"], [True]])
    def test_of_integers(self, integer):
        problem = Problem(None, lower=0, upper=9, names=["k"], integer=integer,
                          prior=[stats.norm(4, 0.1)])  # fmt: skip
        width = problem.plausible_upper - problem.plausible_lower
        assert width == pytest.approx(1.0)

    @pytest.mark.parametrize(
        ("prior", "why"),
        [
            (None, "uniform prior of an infinite box"),
            (lambda _: 0.0, "a prior of type function"),
            ("included", "prior='included'"),
            (stats.multivariate_t([0, 0]), "multivariate_t"),
        ],
    )
    def test_where_the_prior_does_not_tell(self, prior, why):
        with pytest.raises(ValueError, match=f"plausible_lower and plausible_upper must.*{why}"):
            Problem(None, lower=[-INF, 0], upper=[INF, 1], prior=prior)

    def test_one_end_alone(self):
        with pytest.raises(TypeError, match="plausible_lower is given without the other end"):
            Problem(None, lower=0, upper=1, plausible_lower=0.2)

    def test_mistakes_of_the_prior_are_still_named(self):
        for prior, message in (
            ([stats.gamma], "needs parameters"),
            ([stats.poisson(3)], "discrete"),
            ([stats.norm(0, 1)] * 2, "2 entries"),
        ):
            with pytest.raises((TypeError, ValueError), match=message):
                Problem(None, lower=[0], upper=[5], prior=prior)

    def test_a_run_with_it(self):
        problem = Problem(normal, lower=-INF, upper=INF, prior=[stats.norm(0, 2)], noise="exact")
        result = infer(problem, budget=20, seed=5001, progress=False)
        exact = stats.norm(0, np.hypot(1, 2)).logpdf(0) + 0.5 * np.log(2 * np.pi)
        assert result.log_evidence == pytest.approx(exact, abs=0.05)


def test_evaluations_as_three_arrays():
    """Points, values and SDs as another program holds them."""
    rng = np.random.default_rng(1)
    points = rng.uniform(-4, 4, (40, 1))
    sds = np.full(40, 0.1)
    values = -0.5 * points[:, 0] ** 2 + 0.1 * rng.standard_normal(40)
    result = infer(Problem(None, **box()), evaluations=(points, values, sds), budget=0, seed=1,
                   progress=False, settings=QUICK)  # fmt: skip
    assert result.evaluations.n_counted == 0
    assert result.posterior.sd()[0] == pytest.approx(1.0, rel=0.2)
