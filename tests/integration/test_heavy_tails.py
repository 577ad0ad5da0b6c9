"""A whole run on a heavy-tailed target: maps for the tails, saved, and continued bit for bit."""

import numpy as np
import pytest
from helpers.problems import same
from scipy import stats

import quell
from quell import Problem, Settings, infer
from quell.pages.trace import CLASSES
from quell.plots.trace import MARKS

TARGET = stats.t(2.5, 1.0, 2.0)
SETTINGS = Settings(heavy_tails=True, stop_early=False)
BUDGET = 70


def log_joint(theta):
    return float(TARGET.logpdf(theta[0]))


def problem(target=log_joint):
    box = {"plausible_lower": [-8.0], "plausible_upper": [10.0]}
    return Problem(target, lower=[-np.inf], upper=[np.inf], prior="included", noise="exact", **box)


@pytest.fixture(scope="module")
def result():
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        return infer(problem(), budget=BUDGET, seed=5400, settings=SETTINGS, progress=False)


def test_a_map_is_chosen_and_the_tails_are_right(result):
    assert any(row["action"] == "heavy tails" for row in result.history)
    centre, scale = result.posterior.space.tails[0]
    assert -2 < centre < 4
    assert 0.6 < scale < 20
    assert abs(result.log_evidence) < 0.05
    marginal = result.posterior.marginal(0)
    for p in (0.01, 0.1, 0.5, 0.9, 0.99):
        assert TARGET.cdf(marginal.quantile(p)) == pytest.approx(p, abs=0.02)


def test_saved_and_loaded(result, tmp_path):
    result.save(tmp_path / "heavy.quell")
    again = quell.load(tmp_path / "heavy.quell")
    np.testing.assert_array_equal(again.posterior.space.tails, result.posterior.space.tails)
    assert again.settings.heavy_tails
    theta = np.array([[-50.0], [0.0], [7.0]])
    np.testing.assert_array_equal(
        again.posterior.log_density(theta), result.posterior.log_density(theta)
    )
    x = result.solution.data.x
    for one, other in zip(again.solution.surrogate().predict(x),
                          result.solution.surrogate().predict(x), strict=True):  # fmt: skip
        np.testing.assert_array_equal(one, other)


def test_continued_from_its_journal_bit_for_bit(result, tmp_path):
    first = min(row["n_evaluations"] for row in result.history if row["action"] == "heavy tails")
    assert first + 3 < BUDGET
    calls = []

    def interrupt(theta):
        calls.append(theta)
        if len(calls) == first + 3:
            raise KeyboardInterrupt
        return log_joint(theta)

    how = {"budget": BUDGET, "seed": 5400, "settings": SETTINGS, "progress": False,
           "journal": tmp_path / "journal"}  # fmt: skip
    stopped = infer(problem(interrupt), **how)
    assert stopped.evaluations.n_counted < BUDGET
    again = infer(problem(), **how)
    same(result, again)
    np.testing.assert_array_equal(again.posterior.space.tails, result.posterior.space.tails)


def test_the_trace_has_a_word_and_a_line_for_it():
    assert CLASSES[MARKS["heavy tails"][2]]


def test_a_normal_target_has_the_same_run_with_and_without():
    def normal(theta):
        return float(stats.norm.logpdf(theta[0], 1, 2))

    runs = [
        infer(
            problem(normal), budget=40, seed=5401, progress=False,
            settings=Settings(heavy_tails=heavy, stop_early=False),
        )
        for heavy in (False, True)
    ]  # fmt: skip
    same(*runs)
