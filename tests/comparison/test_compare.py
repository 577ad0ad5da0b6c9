"""Models compared: probabilities, groups, cautions, and bad input."""

import dataclasses
import json
import warnings

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

import quell
from quell.comparison.group import N_DRAWS
from quell.comparison.single import LIKELIHOODS
from quell.diagnostics import Finding
from quell.results.several import COMMON_SHARE, together
from quell.studies.result import Row


def run(prior=None, upper=10.0, constraint=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # short runs, and improper priors
        problem = quell.Problem(
            lambda theta: -0.5 * theta[0] ** 2, lower=-10, upper=upper, plausible_lower=-3,
            plausible_upper=3, noise="exact", prior=prior, constraint=constraint,
        )  # fmt: skip
        settings = quell.Settings(final_components=0)
        return quell.infer(problem, budget=12, seed=1, progress=False, settings=settings)


@pytest.fixture(scope="module")
def result():
    return run()


def suspect(result, **changes):
    finding = Finding("test", 2.0, 1.0, "it is wrong")
    verdict = dataclasses.replace(result.verdict, findings=(finding,))
    return dataclasses.replace(result, verdict=verdict, **changes)


class TestOneDataSet:
    def test_probability_is_the_expectation_over_normal_errors(self):
        comparison = quell.compare({"a": (-10.0, 0.6), "b": (-11.0, 0.8)})
        # Of the difference alone, which has an SD of 1.
        exact = quad(lambda d: expit(d) * norm.pdf(d, 1.0, 1.0), -12, 12)[0]
        assert comparison.probabilities[0] == pytest.approx(exact, abs=1e-3)
        assert comparison.probabilities.sum() == pytest.approx(1.0)
        low, high = expit(1.0 + norm.ppf([0.025, 0.975]))
        np.testing.assert_allclose(comparison.intervals[0], [low, high], atol=0.01)

    def test_exact_evidences(self):
        comparison = quell.compare({"a": (0.0, 0.0), "b": (np.log(3.0), 0.0)})
        np.testing.assert_allclose(comparison.probabilities, [0.25, 0.75])
        np.testing.assert_allclose(comparison.intervals, [[0.25] * 2, [0.75] * 2])

    def test_prior_probabilities(self):
        pairs = {"a": (0.0, 0.0), "b": (0.0, 0.0)}
        comparison = quell.compare(pairs, prior={"b": 1.0, "a": 3.0})
        np.testing.assert_allclose(comparison.probabilities, [0.75, 0.25])
        assert "prior probabilities: a 0.75, b 0.25" in comparison.summary()
        none = quell.compare(pairs, prior={"a": 1.0, "b": 0.0})
        np.testing.assert_allclose(none.probabilities, [1.0, 0.0])

    def test_log_bayes_factors(self):
        comparison = quell.compare({"a": (-10.0, 0.3), "b": (-12.0, 0.4), "c": (-11.0, 0.0)})
        assert comparison.best == "a"
        assert comparison.log_bayes_factor("b", "a") == pytest.approx((-2.0, 0.5))
        np.testing.assert_allclose(
            comparison.log_bayes_factors, -comparison.log_bayes_factors.T, atol=0
        )
        with pytest.raises(
            ValueError, match=r"unknown model 'd'; the models are \['a', 'b', 'c'\]"
        ):
            comparison.log_bayes_factor("d", "a")

    def test_what_is_said(self):
        assert "20.1 times that of 'b'" in quell.compare({"a": (3, 0.1), "b": (0, 0.1)}).verdict()
        assert "not settled" in quell.compare({"a": (1, 0.6), "b": (0, 0.6)}).verdict()
        assert "means nothing" in quell.compare({"a": (30, 4.0), "b": (0, 0.6)}).verdict()
        assert "10^434 times" in quell.compare({"a": (1000, 0.1), "b": (0, 0.1)}).verdict()

    def test_results_and_plain_data(self, result):
        comparison = quell.compare({"a": result, "b": (result.log_evidence - 5, 0.1)})
        assert comparison.best == "a"
        assert comparison.sd[0] == result.log_evidence_sd
        assert 'not stable ("too short to tell")' in comparison.summary()
        assert LIKELIHOODS in repr(comparison)
        plain = json.loads(json.dumps(comparison.to_dict()))
        assert plain["models"] == ["a", "b"]
        assert plain["probabilities"] == comparison.probabilities.tolist()

    def test_a_study_of_models_with_several_seeds(self):
        rows = (
            Row("a", 1, -3.0, 0.2, converged=True, status="stable"),
            Row("a", 2, -3.4, 0.2, converged=True, status="stable"),
            Row("b", 1, -9.0, 0.1, converged=True, status="stable"),
            Row("b", 2, error="ValueError: no"),
        )
        comparison = quell.compare(quell.StudyResult(rows))
        assert comparison.models == ("a", "b")
        assert comparison.n_runs.tolist() == [2, 1]
        assert comparison.log_evidence[0] == pytest.approx(-3.2)
        assert comparison.cautions == ("model 'b' with runs that failed and do not count",)


class TestSeveralRuns:
    def test_common_errors_do_not_average_out(self):
        many = together([-3.0] * 1000, [0.5] * 1000)
        assert many.sd == pytest.approx(0.5 * np.sqrt(COMMON_SHARE), rel=0.01)
        assert together([-3.0], [0.5]).sd == 0.5

    def test_runs_of_one_size_have_equal_weights_and_better_ones_more(self):
        assert together([-3.0, -3.2], [0.4, 0.4]).value == pytest.approx(-3.1)
        assert together([-3.0, -3.2], [0.1, 0.4]).value > -3.05

    def test_disagreement_makes_the_sd_larger_and_is_said(self):
        rng = np.random.default_rng(0)
        values = -3 + 2.0 * rng.standard_normal(8)
        both = together(values, [0.1] * 8)
        assert both.disagree
        assert both.between_sd == pytest.approx(2.0, rel=0.5)
        assert both.sd == pytest.approx(both.between_sd / np.sqrt(8), rel=0.1)
        comparison = quell.compare({"a": [(-3.0, 0.1), (-6.0, 0.1)], "b": (-9.0, 0.1)})
        assert "whose runs differ by more than their SDs say" in comparison.summary()
        assert comparison.sd[0] > 1.0

    def test_differences_that_sds_explain_are_no_disagreement(self):
        rng = np.random.default_rng(0)
        found = [together(0.3 * rng.standard_normal(5), [0.3] * 5).disagree for _ in range(300)]
        assert np.mean(found) < 0.04

    def test_suspect_runs_are_left_out_where_there_are_others(self, result):
        wrong = suspect(result, log_evidence=40.0)
        comparison = quell.compare({"a": [result, wrong], "b": (-50.0, 0.1)})
        assert comparison.log_evidence[0] == result.log_evidence
        assert "model 'a' with suspect runs, which are left out" in comparison.cautions
        alone = quell.compare({"a": wrong, "b": (-50.0, 0.1)})
        assert alone.log_evidence[0] == 40.0
        assert "model 'a' whose results are all suspect" in alone.summary()

    def test_of_different_problems(self, result):
        with pytest.raises(ValueError, match=r"run 1 and run 2 differ in upper: \[10.0\] and \[9"):
            quell.compare({"a": [result, run(upper=9.0)], "b": (0.0, 0.1)})


class TestGroup:
    N = 12

    def models(self, sd):
        rng = np.random.default_rng(2)
        better = rng.normal(1.5, 1.5, self.N)
        return {
            "a": {f"S{n}": (-40.0 + better[n], sd) for n in range(self.N)},
            "b": {f"S{n}": (-40.0, sd) for n in reversed(range(self.N))},
        }

    def test_without_errors_it_is_the_plain_method(self):
        group = quell.compare(self.models(0.0))
        assert isinstance(group, quell.GroupComparison)
        from quell.comparison.frequencies import frequencies

        plain = frequencies(group.log_evidence[None])
        np.testing.assert_array_equal(group.protected_exceedance, plain.protected[0])
        assert group.omnibus_risk == plain.omnibus_risk[0]
        assert group.best == "a"
        assert group.subjects == tuple(f"S{n}" for n in range(self.N))

    def test_errors_make_it_less_sure(self):
        sure, unsure = quell.compare(self.models(0.0)), quell.compare(self.models(3.0))
        assert 0.5 < unsure.exceedance[0] < sure.exceedance[0]
        assert np.ptp(unsure.intervals[0]) > 0.3 > np.ptp(sure.intervals[0])
        assert unsure.frequency_sds[0] > sure.frequency_sds[0]
        assert unsure.frequencies.sum() == pytest.approx(1.0)
        assert "means nothing" in unsure.verdict()

    def test_draws_as_brute_force(self):
        """Frequencies averaged over errors of which a share is common to all subjects."""
        from quell.comparison.frequencies import frequencies

        group = quell.compare(self.models(1.0))
        rng = np.random.default_rng(7)
        own = rng.standard_normal((2 * N_DRAWS, self.N, 2)) * np.sqrt(1 - COMMON_SHARE)
        common = rng.standard_normal((2 * N_DRAWS, 1, 2)) * np.sqrt(COMMON_SHARE)
        found = frequencies(group.log_evidence + own + common)
        np.testing.assert_allclose(group.frequencies, found.expected.mean(axis=0), atol=0.02)
        np.testing.assert_allclose(group.exceedance, found.exceedance.mean(axis=0), atol=0.04)

    def test_fixed_effects(self):
        group = quell.compare(self.models(1.0))
        totals, sds = group.fixed_effects
        np.testing.assert_allclose(totals, group.log_evidence.sum(axis=0))
        # Between independent errors and the same one for all.
        assert (np.sqrt(self.N) < sds).all()
        assert (sds < self.N).all()

    def test_a_study_with_names_of_subjects_and_models(self):
        rows = tuple(
            Row(f"S{n}/{model}", seed, -40.0 - (model == "b") * 3, 0.2, status="stable")
            for n in range(4)
            for model in "ab"
            for seed in (1, 2)
        )
        failed = Row("S4/a", 1, -40.0, 0.2, status="stable"), Row("S4/b", 1, error="no luck")
        group = quell.compare(quell.StudyResult(rows + failed), names="{subject}/{model}")
        assert group.subjects == ("S0", "S1", "S2", "S3")
        assert group.n_runs.tolist() == [[2, 2]] * 4
        assert "S4 left out" in group.summary()
        assert group.best == "a"
        with pytest.raises(ValueError, match="which the problem 'S0/a' is not"):
            quell.compare(quell.StudyResult(rows), names="{model}-{subject}")

    def test_a_study_for_each_model(self):
        def study(value):
            return quell.StudyResult(tuple(Row(f"S{n}", 1, value, 0.1) for n in range(3)))

        group = quell.compare({"a": study(-3.0), "b": study(-4.0)})
        assert group.subjects == ("S0", "S1", "S2")
        assert 'not stable ("unstable")' in group.summary()

    def test_summary_and_plain_data(self):
        group = quell.compare(self.models(0.3))
        text = repr(group)
        assert "Bayesian omnibus risk" in text
        assert "if the evidences had no errors" in text
        assert "S11" in text
        plain = json.loads(json.dumps(group.to_dict()))
        assert np.shape(plain["subject_probabilities"]) == (self.N, 2)


class TestCautions:
    def test_priors_that_may_not_be_normalised(self, result):
        text = quell.compare(
            {
                "function": run(prior=lambda theta: -abs(theta[0])),
                "included": run(prior="included"),
                "cut": run(constraint=lambda theta: theta[0] > -2),
                "uniform": result,
            }
        ).cautions
        assert any("'function' whose prior is a function" in line for line in text)
        assert any("'included' with prior=\"included\"" in line for line in text)
        assert any("'cut' with a constraint" in line for line in text)
        assert not any("'uniform' w" in line and "stable" not in line for line in text)

    def test_a_model_that_is_not_the_same_for_all_subjects(self, result):
        other = run(upper=9.0)
        pairs = {"S1": (-9.0, 0.1), "S2": (-9.0, 0.1)}
        group = quell.compare({"a": {"S1": result, "S2": other}, "b": pairs})
        assert "which is not the same problem for all subjects" in group.summary()


PAIR = (-1.0, 0.1)
BAD = {
    "not a dictionary": ([PAIR, PAIR], TypeError, "models must be a dictionary"),
    "no models": ({}, ValueError, "at least two models to compare, got none"),
    "one model": ({"a": PAIR}, ValueError, "at least two models to compare, got only 'a'"),
    "no name": ({1: PAIR, "b": PAIR}, ValueError, "names of models must be non-empty strings"),
    "no result": ({"a": "x", "b": PAIR}, TypeError, "model 'a' must have a result"),
    "no SD": ({"a": -1.0, "b": PAIR}, TypeError, "give its SD too"),
    "empty list": ({"a": [], "b": PAIR}, ValueError, "model 'a' has no results"),
    "negative SD": ({"a": (-1.0, -3.0), "b": PAIR}, ValueError, "negative SD, -3.0"),
    "nan": ({"a": (np.nan, 1.0), "b": PAIR}, ValueError, "its prior is improper"),
    "infinite": ({"a": (-np.inf, 1.0), "b": PAIR}, ValueError, "which is not finite"),
    "subjects missing": (
        {"a": {"S1": PAIR, "S2": PAIR}, "b": {"S1": PAIR}},
        ValueError,
        "model 'b' has nothing for subject 'S2'",
    ),
    "subjects or none": ({"a": {"S1": PAIR}, "b": PAIR}, ValueError, "'a' has subjects and model"),
    "no subjects": ({"a": {}, "b": {}}, ValueError, "model 'a' has no subjects"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    models, kind, message = BAD[name]
    with pytest.raises(kind, match=message):
        quell.compare(models)


def test_bad_input_of_other_kinds(result):
    pairs = {"a": PAIR, "b": PAIR}
    with pytest.raises(ValueError, match="the same result twice"):
        quell.compare({"a": [result, result], "b": PAIR})
    with pytest.raises(ValueError, match="prior must have a probability for every model"):
        quell.compare(pairs, prior={"a": 1.0})
    with pytest.raises(TypeError, match="prior must be a dictionary"):
        quell.compare(pairs, prior=[0.5, 0.5])
    with pytest.raises(ValueError, match=r"prior\['a'\] must be 0 or positive"):
        quell.compare(pairs, prior={"a": -1.0, "b": 1.0})
    with pytest.raises(ValueError, match="names is for a study"):
        quell.compare(pairs, names="{subject}/{model}")
    with pytest.raises(ValueError, match="names must say where"):
        quell.compare(quell.StudyResult((Row("a", 1, -1.0, 0.1),)), names="{model}")
    with pytest.raises(ValueError, match="prior is for models of one data set"):
        quell.compare({"a": {"S": PAIR}, "b": {"S": PAIR}}, prior={"a": 1.0, "b": 1.0})
    improper = run(upper=np.inf)
    with pytest.raises(ValueError, match="model 'a' has no evidence"):
        quell.compare({"a": improper, "b": PAIR})
    with pytest.raises(ValueError, match="model 'b' has no finished run"):
        quell.compare(quell.StudyResult((Row("a", 1, -1.0, 0.1), Row("b", 1, error="no"))))
