"""Several runs as one."""

import dataclasses
import re

import numpy as np
import pytest
from helpers.stacking import NOISE, make_run

import quell
from quell.diagnostics import Finding, Status


def suspect(result):
    finding = Finding("test", 2.0, 1.0, "it is wrong")
    return dataclasses.replace(
        result, verdict=dataclasses.replace(result.verdict, findings=(finding,))
    )


def truth():
    """Log evidence, mean and SD of a and b, by a sum over a grid."""
    a, b = np.meshgrid(np.linspace(0, 4, 801), np.linspace(-9, 12, 1601), indexing="ij")
    log = -0.5 * (b - 0.5 * a) ** 2 - 0.5 * (a - 1.5) ** 2
    log += -np.log(4.0) - 0.125 * b**2 - np.log(np.sqrt(8 * np.pi))
    p = np.exp(log)
    p[[0, -1]] *= 0.5
    total = p.sum()
    mean = np.array([(p * a).sum(), (p * b).sum()]) / total
    second = np.array([(p * a**2).sum(), (p * b**2).sum()]) / total
    cell = (4 / 800) * (21 / 1600)
    return np.log(total * cell), mean, np.sqrt(second - mean**2)


class TestAnswer:
    def test_evidence_and_moments(self, stacked):
        log_evidence, mean, sd = truth()
        assert stacked.log_evidence == pytest.approx(log_evidence, abs=0.3)
        assert 0.02 < stacked.log_evidence_sd < 0.6
        assert stacked.elbo == pytest.approx(stacked.log_evidence, abs=0.2)
        assert stacked.elbo < stacked.log_evidence + 0.02
        np.testing.assert_allclose(stacked.posterior.mean()[:2], mean, atol=0.35 * sd.max())
        np.testing.assert_allclose(stacked.posterior.sd()[:2], sd, rtol=0.3)
        assert stacked.posterior.mean()[2] == 3

    def test_weights_of_runs_and_components(self, stacked, runs):
        assert stacked.run_weights.sum() == pytest.approx(1.0)
        assert [row["weight"] for row in stacked.runs] == stacked.run_weights.tolist()
        most = sum(run.posterior.mixture.n_components for run in runs)
        assert 1 < stacked.n_components <= most
        assert stacked.effective_draws > 2000
        assert len(stacked.evaluations) == sum(len(run.evaluations) for run in runs)
        assert stacked.problem == runs[0].problem
        assert stacked.log_prior is runs[0].log_prior

    def test_the_same_seed_gives_the_same_answer(self, stacked, runs):
        again = quell.stack(runs)
        assert again.log_evidence == stacked.log_evidence
        assert quell.stack(runs, seed=1).log_evidence != stacked.log_evidence

    def test_summary(self, stacked):
        text = str(stacked)
        assert "3 of 3 runs stacked, 105 evaluations" in text
        assert "log evidence" in text
        assert re.search(r"constant +3 +fixed", text)

    def test_it_can_be_compared(self, stacked):
        comparison = quell.compare({"stacked": stacked, "other": (-9.0, 0.1)})
        assert comparison.log_evidence[0] == stacked.log_evidence
        assert any("whose prior is a function" in text for text in comparison.cautions)

    def test_where_numpy_raises(self, runs):
        with np.errstate(all="raise"):
            quell.stack(runs[:2]).summary()


def halves(theta, rng):
    """Two normals of equal mass, 24 SDs apart."""
    logs = [-0.5 * ((theta[0] - m) / 0.5) ** 2 - np.log(np.sqrt(8 * np.pi) * 0.5) for m in (-6, 6)]
    return np.logaddexp(*logs) + NOISE * rng.standard_normal(), NOISE


def test_runs_that_know_one_mode_each_know_both_together():
    settings = quell.Settings(look_around=False, final_components=5)
    runs = []
    for seed, low in enumerate((-7.5, 4.5)):
        problem = quell.Problem(
            halves, lower=-40, upper=40, plausible_lower=low, plausible_upper=low + 3,
            prior="included",
        )  # fmt: skip
        runs.append(quell.infer(problem, budget=40, seed=seed, progress=False, settings=settings))
    means = [run.posterior.mean()[0] for run in runs]
    assert means == pytest.approx([-6, 6], abs=0.5)
    stacked = quell.stack(runs)
    assert stacked.log_evidence == pytest.approx(0.0, abs=0.4)
    assert stacked.run_weights == pytest.approx([0.5, 0.5], abs=0.2)
    assert stacked.posterior.sd()[0] == pytest.approx(6.0, abs=0.5)


def test_evidence_does_not_rise_with_the_noise_of_the_runs():
    """Four short runs under much noise: the best components are not the lucky ones."""

    def target(theta, rng):
        return -0.5 * theta[0] ** 2 + 3.0 * rng.standard_normal(), 3.0

    problem = quell.Problem(target, lower=-10, upper=10, plausible_lower=-3, plausible_upper=3)
    stacked = quell.stack([make_run(problem, seed, budget=20) for seed in range(4)])
    exact = np.log(np.sqrt(2 * np.pi) / 20)
    assert stacked.log_evidence == pytest.approx(exact, abs=0.5)
    assert stacked.posterior.sd()[0] == pytest.approx(1.0, abs=0.4)


class TestLeavingOut:
    def test_suspect_runs_where_there_are_two_others(self, runs):
        stacked = quell.stack([runs[0], suspect(runs[1]), runs[2]])
        assert [one.place for one in stacked.left_out] == [1]
        assert stacked.left_out[0].reason == "suspect: it is wrong"
        assert stacked.run_weights[1] == 0
        assert "run 2 (seed 2): suspect: it is wrong" in stacked.summary()
        assert len(stacked.evaluations) == 105  # they are facts all the same
        assert stacked.status != Status.SUSPECT

    def test_suspect_runs_stay_where_there_are_no_others(self, runs):
        stacked = quell.stack([runs[0], suspect(runs[1])])
        assert not stacked.left_out
        assert "runs that are suspect are stacked" in stacked.summary()
        assert quell.stack([suspect(run) for run in runs]).status == Status.SUSPECT

    def test_a_run_that_claims_what_no_evaluation_bears_out(self, runs):
        solution = runs[1].solution
        data = dataclasses.replace(solution.data, y=solution.data.y + 40.0)
        theta = solution.theta.copy()
        theta[:, solution.surrogate().layout.mean_max] += 40.0
        lost = dataclasses.replace(solution, data=data, theta=theta)
        stacked = quell.stack([runs[0], dataclasses.replace(runs[1], solution=lost), runs[2]])
        assert [one.place for one in stacked.left_out] == [1]
        assert " nats more than the evaluations of all runs" in stacked.left_out[0].reason

    def test_a_run_without_elbo(self, runs):
        broken = dataclasses.replace(runs[0], elbo=np.nan)
        stacked = quell.stack([broken, runs[1], runs[2]])
        assert "its ELBO is nan" in stacked.summary()
        with pytest.raises(ValueError, match="no run can be stacked: run 1"):
            quell.stack([dataclasses.replace(run, elbo=np.nan) for run in runs])

    def test_disagreement_is_said(self, runs):
        other = dataclasses.replace(runs[1], log_evidence=runs[1].log_evidence + 9)
        assert "differ by more than their SDs say" in quell.stack([runs[0], other]).summary()


def test_constraint(constrained):
    """A posterior that ends at a diagonal: the stacked one does too."""
    stacked = constrained
    draws = stacked.posterior.sample(2000, np.random.default_rng(0))
    assert (draws[:, 1] > 0.5 * draws[:, 0]).all()
    assert stacked.posterior.log_density([2.0, 0.5, 3.0]) == -np.inf
    assert np.isfinite(stacked.log_evidence)


def test_improper_prior(runs):
    """The evidence is not defined; the posterior is."""
    undefined = {"log_evidence": np.nan, "log_evidence_sd": np.nan}
    stacked = quell.stack([dataclasses.replace(run, **undefined) for run in runs[:2]])
    assert np.isnan(stacked.log_evidence)
    assert "log evidence   undefined" in stacked.summary()
    assert np.isfinite(stacked.elbo)


def test_bad_input(runs):
    with pytest.raises(ValueError, match="got a single result"):
        quell.stack(runs[0])
    with pytest.raises(ValueError, match="at least two runs of one problem, got 1"):
        quell.stack(runs[:1])
    with pytest.raises(ValueError, match="at least two runs of one problem, got 0"):
        quell.stack([])
    with pytest.raises(TypeError, match="results must be a list of results"):
        quell.stack(3)
    with pytest.raises(TypeError, match=r"results\[1\] must be a quell.Result, got an object"):
        quell.stack([runs[0], "run"])
    with pytest.raises(ValueError, match=r"results\[0\] and results\[2\] are the same run \(seed"):
        quell.stack([runs[0], runs[1], runs[0]])
    with pytest.raises(ValueError, match="seed must be a non-negative integer"):
        quell.stack(runs, seed=-1)
    for key, value in {"lower": [0.1], "names": ["x"], "constraint": True}.items():
        other = dataclasses.replace(runs[1], problem=runs[1].problem | {key: value})
        with pytest.raises(ValueError, match=rf"results\[0\] and results\[1\] differ in {key}: "):
            quell.stack([runs[0], other])
    box = dataclasses.replace(runs[1], problem=runs[1].problem | {"plausible_lower": [9.0]})
    assert quell.stack([runs[0], box]).run_weights.sum() == pytest.approx(1.0)
