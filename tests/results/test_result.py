"""What a run returns: figures, history, summary."""

import dataclasses

import numpy as np
import pytest

from quell import Evaluations, Posterior, Problem, Result, Settings, infer
from quell.diagnostics import Verdict
from quell.vbmc.evidence import LARGEST_CORRECTION


@pytest.fixture(scope="module")
def result():
    def log_likelihood(theta, rng):
        if theta[0] > 2.5:
            raise ValueError("too large")
        return -0.5 * theta[0] ** 2 + 0.3 * rng.standard_normal(), 0.3

    problem = Problem(
        log_likelihood, lower=[-10, 4], upper=[10, 4], plausible_lower=[-3, 4],
        plausible_upper=[3, 4], names=["a_rather_long_name", "constant"],
    )  # fmt: skip
    settings = Settings(final_components=0)
    # The first point is one where the target fails.
    return infer(problem, budget=20, seed=3, start=[2.8, 4], progress=False, settings=settings)


def test_types(result):
    assert isinstance(result, Result)
    assert isinstance(result.posterior, Posterior)
    assert isinstance(result.evaluations, Evaluations)
    assert isinstance(result.settings, Settings)
    assert result.converged is False
    assert result.status == "too short to tell"
    assert result.diagnostics["status"] == "too short to tell"
    assert {finding.test for finding in result.findings} <= set(result.diagnostics)
    assert result.seed == 3
    assert result.evidence_method == "importance sampling"
    # One bound each for the two corrections.
    assert result.elbo < result.log_evidence < result.elbo + 2 * LARGEST_CORRECTION
    assert result.log_evidence_sd >= result.elbo_sd > 0


def test_frozen(result):
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.elbo = 0.0


def test_history_has_one_row_per_iteration(result):
    history = result.history
    assert len(history) == len(result.iterations)
    assert [row["index"] for row in history] == list(range(1, len(history) + 1))
    for row, iteration in zip(history, result.iterations, strict=True):
        assert "solution" not in row
        for key, value in row.items():
            assert value == getattr(iteration, key) or value != value
    counts = [row["n_evaluations"] for row in history]
    assert counts == sorted(counts)


def test_iteration_lower_bound(result):
    iteration = result.iterations[-1]
    assert iteration.lower_bound(3.0) == pytest.approx(iteration.elbo - 3 * iteration.elbo_sd)
    assert "solution" not in repr(iteration)


def test_diagnostics_agree_with_what_they_summarise(result):
    d = result.diagnostics
    chosen = result.iterations[result.chosen - 1]
    assert d["iterations"] == len(result.iterations)
    assert d["returned_iteration"] == chosen.index == result.chosen
    assert d["reliability"] == chosen.reliability
    assert d["components"] == result.posterior.mixture.n_components
    assert d["evaluations"] == 20 == len(result.evaluations)
    assert d["failed_evaluations"] == result.evaluations.n_failed
    assert d["training_points"] == chosen.n_training
    assert d["boosted"] is result.boosted
    assert d["overhead_cpu_seconds"] == result.cpu_seconds > 0
    assert d["overhead_cpu_seconds_per_evaluation"] == pytest.approx(result.cpu_seconds / 20)
    assert result.wall_seconds > 0
    assert 0 <= result.target_seconds <= result.wall_seconds


def test_summary_says_what_a_person_wants_to_know(result):
    text = result.summary()
    assert text == str(result)
    assert "20 evaluations" in text
    assert result.evaluations.n_failed > 0
    assert f"({result.evaluations.n_failed} failed)" in text
    assert f"{result.log_evidence:.3f}" in text
    assert "a_rather_long_name" in text
    assert "fixed" in text
    assert "seed 3" in text
    assert text.startswith("TOO SHORT TO TELL after 20 evaluations")
    assert all(reason in text for reason in result.reasons)
    rows = [line for line in text.splitlines() if line.startswith(("parameter", "a_rather"))]
    assert len({len(row) for row in rows}) == 1  # aligned
    value = float(rows[1].split()[1])
    assert value == pytest.approx(result.posterior.mean()[0], rel=1e-3)


def test_summary_of_a_stable_and_of_an_improper_result(result):
    still = dataclasses.replace(result.verdict.stability, evaluations=30, needed=30)
    good = dataclasses.replace(
        result, verdict=Verdict(still, result.findings), reasons=("the solution is stable",)
    )
    assert good.status == "stable"
    assert good.converged
    assert good.summary().startswith("stable after 20")
    improper = dataclasses.replace(result, log_evidence=np.nan, log_evidence_sd=np.nan)
    assert "undefined" in improper.summary()
    assert f"{result.elbo:.3f}" in improper.summary()


def test_summary_without_failures_does_not_mention_them(result):
    clean = dataclasses.replace(result, evaluations=Evaluations.empty(["a", "b"]), reasons=())
    assert "failed" not in clean.summary()


class TestStrictNumPy:
    """What a user calls after a run works where every underflow is an error."""

    @pytest.fixture(autouse=True)
    def raising(self):
        with np.errstate(all="raise"):
            yield

    def test_summary_and_diagnostics(self, result):
        assert result.summary()
        assert result.diagnostics["effective_draws"] > 0

    def test_densities_far_from_the_mass(self, result):
        marginal = result.posterior.marginal(0)
        far = np.array([-9.99, 0.0, 9.99])
        assert (marginal.density(far) >= 0).all()
        assert marginal.cdf(-9.999) < 1e-3
        assert marginal.quantile(1e-300) < -1
        points = np.column_stack([far, np.full(3, 4.0)])
        assert np.isfinite(result.posterior.log_density(points)).all()
        assert np.isfinite(result.posterior.mode()).all()
