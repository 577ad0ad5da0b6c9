"""Runs that end badly: whatever goes wrong on top of it, the evaluations are not lost."""

import numpy as np
import pytest
from helpers.problems import Flaky, make, noisy, normal, run
from numpy.linalg import LinAlgError

from quell import InferenceFailed, InferenceInterrupted
from quell.run.session import Session


def refuse(error):
    def result(*_arguments, **_named):
        raise error

    return result


def test_ctrl_c_a_second_time_does_not_lose_the_evaluations(monkeypatch):
    monkeypatch.setattr(Session, "result", refuse(KeyboardInterrupt()))
    with pytest.raises(InferenceInterrupted, match="interrupted once more after 11 eval") as caught:
        run(make(Flaky(noisy, {12: KeyboardInterrupt()})), budget=20)
    assert len(caught.value.evaluations) == 11


def test_with_a_journal_the_same_call_goes_on(tmp_path):
    path = tmp_path / "run.quelljournal"
    target = Flaky(noisy, {2: KeyboardInterrupt()})
    with pytest.raises(InferenceInterrupted, match=r"after 1 evaluation, .* the same call with"):
        run(make(target), journal=path)
    assert run(make(noisy), journal=path).evaluations.n_counted == 15


def test_a_result_that_cannot_be_made_does_not_hide_the_error(monkeypatch):
    monkeypatch.setattr(Session, "result", refuse(LinAlgError("singular")))

    def callback(_update):
        raise ValueError("no space left for the picture")

    with pytest.raises(InferenceFailed, match="no space left for the picture") as caught:
        run(make(noisy), callback=callback)
    assert caught.value.result is None
    assert len(caught.value.evaluations) == 10


def test_the_most_negative_number_is_zero_density():
    """It stands for -inf in many programs, and with a prior it would overflow."""
    lowest = -np.finfo(np.float64).max

    def target(theta):
        return normal(theta) if theta[0] < 1 else lowest

    result = run(make(target, noise="exact"), budget=20)
    table = result.evaluations
    assert table.zero_density.any()
    assert table.zero_density.tolist() == (table.theta[:, 0] >= 1).tolist()
    given = (table.theta, np.where(table.zero_density, lowest, table.value))
    again = run(make(target, noise="exact"), budget=5, evaluations=given)
    assert again.evaluations.zero_density[:20].tolist() == table.zero_density.tolist()


def test_values_that_cannot_be_computed_with_are_named():
    with pytest.raises(InferenceFailed, match=r"together are from -.*e\+2.*, too far apart"):
        run(make(lambda theta: 1e20 * normal(theta), noise="exact"))


def test_a_prior_that_stops_working_is_named():
    left = [10**9]

    def prior(theta):
        left[0] -= 1
        if left[0] < 0:
            raise OSError("no data base")
        return normal(theta)

    problem = make(normal, noise="exact", prior=prior)
    left[0] = 35
    with pytest.raises(InferenceFailed, match="it has to give the same every time") as caught:
        run(problem, budget=20)
    assert len(caught.value.evaluations) == 10


def test_absurd_sds_make_no_endless_figures():
    result = run(make(lambda theta: (normal(theta), 1e-290)), budget=40)
    assert result.status == "suspect"
    assert max(map(len, result.reasons)) < 400
