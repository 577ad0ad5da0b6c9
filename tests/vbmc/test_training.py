"""From evaluations to the training set, and how many hyperparameter samples are held."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.vbmc import (
    fitted_state,
    make_history,
    make_iteration,
    make_problem,
    make_state,
    quadratic,
    solution_of,
    unbounded_problem,
)

from quell import Evaluations, Settings
from quell.gp import (
    GaussianProcess,
    HyperparameterPrior,
    TrainingData,
    refresh,
    retrain,
    train,
)
from quell.quadrature import ExpectedLogJoint
from quell.variational import Elbo
from quell.vbmc import Solution
from quell.vbmc.low_values import resolved_depth
from quell.vbmc.training import (
    _conditioned,
    difference_between_samples,
    fit_after_surprise,
    fit_surrogate,
    hyperprior,
    quick_fit,
    sample_count,
)
from quell.vbmc.training_set import sd_without_density


def parts(training):
    return training.data, training.rows, training.single_sd


class TestTrainingSet:
    def test_values_carry_prior_and_jacobian(self):
        problem = make_problem(2)
        theta = np.array([[1.0, -2.0], [0.0, 4.0]])
        state = make_state(problem, theta, [-3.0, -4.0], [0.5, 0.25])
        data, rows, single = parts(state.training)
        x = problem.space.to_inference(theta)
        np.testing.assert_allclose(data.x, x)
        expected = np.array([-3.0, -4.0]) + problem.log_prior(theta) + problem.space.log_jacobian(x)
        np.testing.assert_allclose(data.y, expected)
        np.testing.assert_allclose(data.variance, [0.25, 0.0625])
        np.testing.assert_array_equal(rows, [0, 1])
        np.testing.assert_allclose(single, [0.5, 0.25])

    def test_duplicates_are_one_observation(self):
        theta = [[1.0], [2.0], [1.0], [1.0]]
        state = make_state(unbounded_problem(1), theta, [0.0, 5.0, 3.0, 1.5], [1.0, 0.3, 2.0, 1.0])
        data, rows, single = parts(state.training)
        jacobian = np.log(4.0)
        precision = np.array([1.0, 0.25, 1.0])
        merged = precision @ [0.0, 3.0, 1.5] / precision.sum()
        np.testing.assert_allclose(data.y - jacobian, [merged, 5.0])
        np.testing.assert_allclose(data.variance, [1 / precision.sum(), 0.09])
        np.testing.assert_array_equal(rows, [0, 1])
        assert single[0] == pytest.approx(np.sqrt(3 / precision.sum()))  # of one evaluation

    def test_exact_duplicates_stay_exact(self):
        state = make_state(unbounded_problem(1), [[1.0], [1.0]], [2.0, 2.0], 0.0)
        data, _, single = parts(state.training)
        assert data.size == 1
        assert data.variance[0] == single[0] == 0

    def test_failed_and_trimmed_ones_are_left_out(self):
        state = make_state(
            unbounded_problem(1), [[0.0], [1.0], [2.0], [3.0]], [-1.0, np.nan, -2.0, -3.0],
            trimmed=np.array([False, False, True, False]),
        )  # fmt: skip
        data, rows, _ = parts(state.training)
        np.testing.assert_array_equal(rows, [0, 3])
        np.testing.assert_allclose(data.x[:, 0], [0.0, 0.75])

    def test_zero_density_enters_low_and_in_order(self):
        theta = [[0.0], [1.0], [2.0], [3.0], [4.0]]
        values = [0.0, -np.inf, -2.0, -np.inf, -40.0]
        state = make_state(unbounded_problem(1), theta, values, 0.1, noisy=False, power=0.0)
        data, rows, single = parts(state.training)
        np.testing.assert_array_equal(rows, np.arange(5))
        np.testing.assert_allclose(data.x[:, 0], np.arange(5) / 4)
        y = data.y - np.log(4.0)
        assert y[1] == pytest.approx(-resolved_depth(1))  # lower than what is around it
        assert y[3] == pytest.approx(y[4])  # a neighbour is lower than that
        assert y[4] == pytest.approx(-resolved_depth(1) * (1 + np.log(40 / resolved_depth(1))))
        assert data.variance[1] == pytest.approx(0.01)  # of the others too
        np.testing.assert_allclose(single[[0, 2, 4]], 0.1)

    def test_zero_density_can_be_trimmed(self):
        state = make_state(
            unbounded_problem(1), [[0.0], [1.0]], [0.0, -np.inf], trimmed=np.array([False, True])
        )
        assert state.training.data.size == 1

    def test_zero_prior_density_need_not_be_learnt(self):
        problem = make_problem(1, prior=lambda theta: 0.0 if theta[0] < 1.5 else -np.inf)
        state = make_state(problem, [[0.0], [1.0], [2.0]], [0.0, -1.0, -2.0])
        assert state.training.data.x.shape == (2, 1)

    def test_missing_sds_are_unknown_noise(self):
        state = make_state(unbounded_problem(1), [[0.0], [1.0]], [0.0, -1.0], [np.nan, 0.5])
        data, _, single = parts(state.training)
        assert np.isnan(data.variance).tolist() == [True, False]
        assert np.isnan(single).tolist() == [True, False]

    def test_head_start_is_used(self):
        problem = unbounded_problem(1)
        given_ones = Evaluations.from_arrays([[5.0]], [-7.0], [0.2], problem=problem)
        state = make_state(problem, [[0.0]], [0.0])
        state = state.with_data(
            evaluations=given_ones.extend(state.evaluations), trimmed=np.zeros(2, dtype=bool)
        )
        np.testing.assert_allclose(state.training.data.x[:, 0], [1.25, 0.0])


def test_zero_density_is_about_as_noisy_as_the_others():
    sds = [[0.0, 0.0, 0.0], [0.7, 0.5, 0.6], [9.0, 9.0, 9.0], [np.nan, 0.3, np.nan], [np.nan] * 3]
    found = [sd_without_density(np.array(sd), 2) for sd in sds]
    np.testing.assert_allclose(found, [0.1, 0.6, 1.2, 0.3, 1.2])


class TestConditioning:
    """Another training set under the same hyperparameters."""

    x = np.array([[0.0], [1.0], [2.5]])
    theta = np.array([[0.0, 0.0, -5.0, 0.0, 0.0, 0.0]])

    @pytest.mark.parametrize(
        ("y", "sd"), [([0.0, -0.5, -2.0], 0.1), ([0.0, -3.0, -2.0], 0.1), ([0.0, -0.5, -2.0], 0.3)]
    )
    def test_also_where_an_older_observation_has_changed(self, y, sd):
        old = TrainingData.from_arrays(self.x[:2], [0.0, -0.5], 0.1)
        data = TrainingData.from_arrays(self.x, y, sd)
        found = _conditioned(GaussianProcess.condition(old, self.theta), data)
        wanted = GaussianProcess.condition(data, self.theta)
        for one, other in zip(found.pooled(self.x), wanted.pooled(self.x), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


def solution_with(moments, between):
    """A solution of which only the moments of the expected log joint by sample are known."""
    means, variances = map(np.asarray, moments)
    unknown = np.zeros(0)
    integral = ExpectedLogJoint(unknown, unknown, means, variances, 0.0, 0.0, float(between))
    weights = np.full(len(means), 1 / len(means))
    return Solution(None, None, Elbo(integral, 0.0), None, unknown, weights)


class TestSampleCount:
    def count(self, n, dimension=1, **changes):
        theta = np.linspace(-1, 1, n)[:, None] * np.ones(dimension)
        problem = unbounded_problem(dimension)
        table = Evaluations.from_arrays(theta, np.zeros(n), 1.0, problem=problem)
        state = make_state(problem, theta[:1], [0.0])
        state = state.with_data(evaluations=table, trimmed=np.zeros(n, dtype=bool))
        return sample_count(state, Settings(**changes))

    def test_falls_with_the_data_between_a_cap_and_the_minimum(self):
        counts = [self.count(n, min_samples=2) for n in (10, 100, 200, 400, 1000)]
        assert counts == sorted(counts, reverse=True)
        assert counts[0] <= 8
        assert self.count(200, min_samples=1) == 6  # round(80/√200)
        assert min(counts) >= 2
        assert self.count(10_000, min_samples=4) == 4

    def test_a_larger_cap_is_for_after_warmup(self):
        assert self.count(25, max_samples=1000) == 8
        state = make_state(unbounded_problem(1), np.arange(25.0)[:, None], np.zeros(25))
        state = replace(state, warmup=False)
        assert sample_count(state, Settings(max_samples=1000)) == 16  # 80/√25
        assert sample_count(state, Settings()) == 8

    def test_the_papers_switch_to_the_mode(self):
        assert self.count(209, min_samples=1) > 0
        assert self.count(210, min_samples=1) == 0  # 200 + 10 D
        assert self.count(229, dimension=3, min_samples=1) > 0
        assert self.count(210, min_samples=2) > 0

    def test_map(self):
        assert self.count(10, hyperparameters="map") == 0

    def mode_alone(self, differences, *, settings=None, warmup=False, **columns):
        """Whether the mode will do after iterations whose samples differed by so much."""
        n = len(differences)
        solutions = [solution_with((np.zeros(4), np.full(4, 0.1)), d) for d in differences]
        history = make_history(n, solution=np.array(solutions, dtype=object), **columns)
        state = replace(fitted_state(), history=history, warmup=warmup)
        return sample_count(state, settings or Settings.variant("paper-viqr")) == 0

    def test_samples_that_make_no_difference_are_given_up(self):
        assert self.mode_alone([5e-5] * 4)
        assert not self.mode_alone([5e-4] * 4)
        assert not self.mode_alone([5e-5] * 4, warmup=True)
        assert not self.mode_alone([5e-5] * 4, settings=Settings())

    def test_half_of_the_difference_is_that_of_the_last_iteration(self):
        # 10, 20 and 30 evaluations: the others weigh e⁻² and e⁻¹ as much as the last
        memory = np.exp([-2.0, -1.0, 0.0])
        average = 0.5 * 3.0 + 0.5 * (memory @ [1.0, 2.0, 3.0]) / memory.sum()
        unit = np.array([1.0, 2.0, 3.0]) / average
        for size, expected in ((0.99e-4, True), (1.01e-4, False)):
            assert self.mode_alone(size * unit, n_evaluations=[10, 20, 30]) == expected

    def test_they_are_given_up_for_good(self):
        assert self.mode_alone([5e-5, 0.0, 1.0], n_samples=[8, 1, 1])
        # but one sample in warm-up says nothing
        columns = {"n_samples": [1, 8, 8], "warmup": [True, False, False]}
        assert not self.mode_alone([5e-5, 0.0, 1.0], **columns)

    def test_the_difference_is_between_means_and_between_variances(self):
        solution = solution_with(([1.0, 3.0], [1.0, 4.0]), between=2.0)
        difference = difference_between_samples(make_iteration(solution=solution))
        assert difference == pytest.approx(2.0 + np.std([1.0, 4.0], ddof=1))
        fitted = solution_of(fitted_state())
        moments = fitted.elbo.expected_log_joint
        expected = np.var(moments.sample_means, ddof=1) + np.std(moments.sample_variances, ddof=1)
        assert difference_between_samples(make_iteration(solution=fitted)) == pytest.approx(
            expected
        )

    def test_trimmed_evaluations_count(self):
        n = 210
        state = make_state(unbounded_problem(1), np.zeros((n, 1)), np.zeros(n))
        state = state.with_data(trimmed=np.arange(n) > 5)
        assert sample_count(state, Settings(min_samples=1)) == 0


def fit_to(state, **changes):
    chosen = Settings(**changes)
    return fit_surrogate(np.random.default_rng(0), state, chosen), state.training.data


@pytest.fixture(scope="module")
def trained():
    state = fitted_state(n=16, fit=None, memory=None, full_refit=True)
    fit, data = fit_to(state)
    return state, fit, data


def with_more(state, fit, sds, n=2):
    """The state after ``fit`` and ``n`` more evaluations with these SDs."""
    theta = np.random.default_rng(9).normal(0.5, 1, (n, 2))
    table = make_state(unbounded_problem(2), theta, quadratic(theta), sds).evaluations
    return state.with_data(
        fit=fit, memory=fit.memory, full_refit=False,
        evaluations=state.evaluations.extend(table), trimmed=np.zeros(16 + n, dtype=bool),
    )  # fmt: skip


class TestFitSurrogate:
    def test_first_fit(self, trained):
        _, fit, data = trained
        assert fit.gp.data is data
        assert fit.gp.n_samples > 1
        mean, _ = fit.gp.pooled(data.x)
        assert np.sqrt(np.mean((mean - data.y) ** 2)) < 0.5

    def test_next_fit_follows(self, trained):
        state, fit, _ = trained
        new, data = fit_to(with_more(state, fit, 0.1))
        assert new.gp.data is data
        assert data.size == 18
        assert np.isfinite(new.gp.theta).all()

    def test_fewer_samples_where_fewer_are_wanted(self, trained, monkeypatch):
        state, fit, _ = trained
        monkeypatch.setattr("quell.vbmc.training.sample_count", lambda *_: 3)
        calm = replace(with_more(state, fit, 0.1), history=make_history(4, reliability=0.5))
        new, data = fit_to(calm)
        assert new.gp.data is data
        assert new.gp.n_samples == 3
        assert new.gp.weights.sum() == pytest.approx(1)

    def test_map_holds_the_mode(self, trained):
        state, fit, _ = trained
        new, _ = fit_to(with_more(state, fit, 0.1), hyperparameters="map")
        assert new.gp.n_samples == 1
        np.testing.assert_array_equal(new.gp.theta[0], new.mode)

    def test_noise_that_becomes_unknown(self, trained):
        state, fit, _ = trained
        calm = with_more(state, fit, [0.1, np.nan])
        calm = replace(calm, history=make_history(4, reliability=0.5))
        new, _ = fit_to(calm)
        assert new.gp.layout.unknown_noise

    def test_noise_that_becomes_known(self, trained):
        """The one point without SD was trimmed."""
        state, fit, _ = trained
        partly = replace(
            with_more(state, fit, [0.1, np.nan]), history=make_history(4, reliability=0.5)
        )
        new, _ = fit_to(replace(partly, fit=None, full_refit=True))
        gone = partly.with_data(fit=new, memory=new.memory, trimmed=np.arange(18) == 17)
        again, _ = fit_to(gone)
        assert not again.gp.layout.unknown_noise


class TestManyObservations:
    """More than hyperparameters are learnt from: these have some of them, the surrogate all."""

    @pytest.fixture
    def learnt_from(self, monkeypatch):
        """Sizes of the data that hyperparameters were learnt from, of which 12 are enough."""
        sizes = []
        monkeypatch.setattr("quell.vbmc.subset.LEARNING_POINTS", 12)
        for fit in (train, refresh, retrain):

            def noted(rng, *args, fit=fit, **kwargs):
                sizes.append(next(a.size for a in args if isinstance(a, TrainingData)))
                return fit(rng, *args, **kwargs)

            monkeypatch.setattr(f"quell.vbmc.training.{fit.__name__}", noted)
        return sizes

    def check(self, fit, data):
        assert fit.gp.data is data
        again = GaussianProcess.condition(data, fit.gp.theta, fit.gp.weights)
        np.testing.assert_allclose(fit.gp.alpha, again.alpha, rtol=1e-6, atol=1e-9)

    def test_first_fit(self, trained, learnt_from):
        self.check(*fit_to(trained[0]))
        assert learnt_from == [12]

    def test_at_the_end_of_an_iteration(self, trained, learnt_from):
        state, fit, _ = trained
        self.check(*fit_to(with_more(state, fit, 0.1)))
        assert learnt_from == [12]

    @pytest.mark.parametrize("follow", [quick_fit, fit_after_surprise])
    @pytest.mark.parametrize("choice", ["sample", "map"])
    def test_within_an_iteration(self, trained, learnt_from, follow, choice):
        state, fit, _ = trained
        state = replace(with_more(state, fit, 0.1), frequent=True)
        new = follow(np.random.default_rng(0), state, Settings(hyperparameters=choice))
        self.check(new, state.training.data)
        assert learnt_from == [12]

    def test_by_the_papers_rules_all_are_learnt_from(self, trained, learnt_from):
        self.check(*fit_to(trained[0], retrain_share=0.0))
        assert learnt_from == [16]

    def test_hyperparameters_that_stay_are_not_learnt(self, trained, learnt_from, monkeypatch):
        state, fit, _ = trained
        monkeypatch.setattr("quell.vbmc.training.has_grown", lambda *_: False)
        monkeypatch.setattr("quell.vbmc.training.sample_count", lambda *_: fit.gp.n_samples)
        calm = replace(with_more(state, fit, 0.1, n=1), history=make_history(4, reliability=0.5))
        new, data = fit_to(calm)
        assert new.gp.data.equals(data)
        np.testing.assert_array_equal(new.gp.theta, fit.gp.theta)
        assert learnt_from == []


class TestFitsWaitForTheirShareOfNewEvaluations:
    """With few evaluations every iteration moves the samples and finds the mode anew."""

    def kinds(self, trained, monkeypatch, n_before, **changes):
        """Which of the two fits are made as there are 1 to 30 more than ``n_before``."""
        state, fit, _ = trained
        made = []

        def note(name, result):
            made.append(name)
            return result

        for name in ("refresh", "retrain"):
            monkeypatch.setattr(
                f"quell.vbmc.training.{name}", lambda *args, name=name, **_: note(name, args[1])
            )
        monkeypatch.setattr("quell.vbmc.training.sample_count", lambda *_: fit.gp.n_samples)
        chosen = Settings(**changes)
        for new in range(5, 35, 5):
            n = n_before + new
            history = (*make_history(3), replace(make_history(1)[0], n_evaluations=n - 5))
            table = make_state(unbounded_problem(2), np.zeros((n, 2)), np.zeros(n)).evaluations
            later = replace(
                state, fit=fit, memory=fit.memory, full_refit=False, history=history,
                evaluations=table, trimmed=np.zeros(n, dtype=bool),
            )  # fmt: skip
            result = fit_surrogate(np.random.default_rng(0), later, chosen)
            np.testing.assert_array_equal(result.gp.theta, fit.gp.theta)
            if len(made) < new // 5:
                made.append("none")
        return made

    def test_few_evaluations(self, trained, monkeypatch):
        assert set(self.kinds(trained, monkeypatch, 30)) == {"retrain"}

    def test_some(self, trained, monkeypatch):
        kinds = self.kinds(trained, monkeypatch, 190)
        assert set(kinds) == {"refresh", "retrain"}
        assert 2 <= kinds.count("retrain") <= 4  # 5 % of 200 are two iterations

    def test_many(self, trained, monkeypatch):
        kinds = self.kinds(trained, monkeypatch, 500)
        assert kinds.count("retrain") in (1, 2)  # 5 % are 25
        assert kinds.count("none") >= 2  # 2 % are 10

    def test_share_zero_never_waits(self, trained, monkeypatch):
        kinds = self.kinds(trained, monkeypatch, 500, retrain_share=0.0)
        assert kinds == ["retrain"] * 6


class TestHyperprior:
    def test_the_output_scale_is_expected_to_be_about_the_dimension(self):
        state = fitted_state()
        data = state.training.data
        prior = hyperprior(state, data, Settings())
        j = prior.layout.output_scale
        assert prior.location[j] == pytest.approx(np.log(state.dimension))
        paper = hyperprior(state, data, Settings.variant("paper-viqr"))
        assert np.isnan(paper.location[j])

    def test_the_plausible_range_and_the_guess_of_the_noise_are_passed_on(self):
        state = fitted_state(noise_guess=3.0)
        data = state.training.data
        data = replace(data, variance=np.full_like(data.variance, np.nan))
        prior = hyperprior(state, data, Settings())
        wide = replace(state, plausible_range=10 * np.asarray(state.plausible_range))
        np.testing.assert_allclose(
            hyperprior(wide, data, Settings()).location[prior.layout.lengths],
            prior.location[prior.layout.lengths] + np.log(10.0),
        )
        assert prior.location[prior.layout.unknown_variance] == pytest.approx(np.log(9.0))

    def test_a_noisy_quadratic_keeps_the_surrogate_in_doubt(self):
        # Nothing in these data speaks for a departure from the quadratic mean, and noise hides a
        # small one. A uniform prior lets it vanish, with lengths that may be anything.
        generator = np.random.default_rng(3)
        x = generator.standard_normal((80, 5))
        y = -0.5 * np.sum(x**2, axis=1) + 3 * generator.standard_normal(80)
        data = TrainingData.from_arrays(x, y, noise_sd=3.0)
        smallest = {}
        for size in (None, 5.0):
            prior = HyperparameterPrior.for_data(data, output_scale=size)
            fit = train(np.random.default_rng(4), data, n_samples=8, prior=prior)
            smallest[size] = np.exp(fit.gp.theta[:, prior.layout.output_scale].min())
        assert smallest[None] < 0.05
        assert smallest[5.0] > 0.1
