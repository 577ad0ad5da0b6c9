"""A run with wrong values among its evaluations, under ``Settings(robust=True)``."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.problems import QUICK, make, normal, run, same, true_log_evidence

from quell import infer, load
from quell.evaluations import Origin
from quell.pages.noise import noise_section
from quell.stacking.surrogate import gather

SD = 0.5
#: By how much the value is off, by the count of the call.
WRONG = {35: 60.0, 55: -100.0}
ROBUST = replace(QUICK, robust=True, stop_early=False)
BUDGET = 80


class Target:
    """A normal with noise, some of whose values are wrong."""

    def __init__(self):
        self.calls = -1

    def __call__(self, theta, rng):
        self.calls += 1
        noise = SD * rng.standard_normal() + WRONG.get(self.calls, 0.0)
        return normal(theta) + noise, SD


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    return tmp_path_factory.mktemp("robust") / "run.quelljournal"


@pytest.fixture(scope="module")
def result(journal):
    problem = make(Target(), dimension=2)
    return run(problem, budget=BUDGET, settings=ROBUST, journal=journal)


def test_wrong_values_are_asked_for_again_and_set_aside(result):
    off = {one.row: one.off for one in result.set_aside}
    assert off.keys() == WRONG.keys()
    for row, by in WRONG.items():
        assert abs(off[row] - by) < 5 * SD
        same_point = np.all(result.evaluations.theta == result.evaluations.theta[row], axis=1)
        assert [result.evaluations.origin[i] for i in np.flatnonzero(same_point)[1:]] == [
            Origin.AGAIN,
            Origin.AGAIN,
        ]


def test_the_answer_is_right_and_nothing_speaks_against_it(result):
    assert abs(result.log_evidence - true_log_evidence(2)) < 0.5
    assert np.abs(result.posterior.mean()).max() < 0.4
    assert np.abs(np.log(result.posterior.sd())).max() < 0.4
    assert result.status != "suspect"


def test_it_is_told(result):
    told = "rows 35, 55 of result.evaluations"
    text = "are set aside: other evaluations of the same point contradict, by up to"
    assert text in result.summary()
    assert told.replace(", ", " and ") in result.summary()
    audit = result.check().noise
    assert audit.set_aside == result.set_aside
    assert text in str(audit)
    assert any(text in sentence for sentence in noise_section(result, audit).sentences)
    assert result.diagnostics["set_aside"] == 2
    assert result.diagnostics["repeats"] == result.evaluations.origin.count(Origin.AGAIN) >= 6
    assert result.diagnostics["noise_scale"] == result.history[result.chosen - 1]["noise_scale"]
    assert audit.repeat_scale < 2  # without what is set aside


def test_a_journal_replays_to_the_same(result, journal):
    again = run(make(Target(), dimension=2), budget=BUDGET, settings=ROBUST, journal=journal,
                journal_check=False)  # fmt: skip
    same(result, again)
    assert again.set_aside == result.set_aside


def test_a_file_has_it(result, tmp_path):
    result.save(tmp_path / "fit.quell")
    loaded = load(tmp_path / "fit.quell")
    assert loaded.set_aside == result.set_aside
    assert loaded.settings.robust


def test_others_that_use_the_evaluations_leave_them_out(result):
    data = gather([result], result.solution.space).data
    jacobian = result.solution.space.log_jacobian(data.x)
    assert (data.y - jacobian).max() < 10


def test_an_exact_target_runs_as_before():
    plain, robust = (
        infer(make(normal, noise="exact"), budget=20, seed=1, settings=settings, progress=False)
        for settings in (QUICK, replace(QUICK, robust=True))
    )
    same(plain, robust)
