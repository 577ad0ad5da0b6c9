"""A training value predicted by a surrogate that never saw it."""

import numpy as np
import pytest

from quell.diagnostics import relearnt
from quell.gp import GaussianProcess, TrainingData, train
from quell.gp.marginal import MarginalLikelihood
from quell.gp.mode import maximise


@pytest.fixture(scope="module")
def surrogate():
    """Of a parabola, with one value 50 below it."""
    x = np.random.default_rng(1).normal(size=(40, 1))
    y = -0.5 * x[:, 0] ** 2
    y[7] -= 50.0
    return train(np.random.default_rng(2), TrainingData.from_arrays(x, y, noise_sd=0.1)).gp


@pytest.mark.parametrize("enough", [400, 15])
def test_it_is_learnt_from_some_and_predicted_from_all_others(surrogate, enough, monkeypatch):
    seen = []

    def noted(data):
        seen.append(data.size)
        return MarginalLikelihood(data)

    monkeypatch.setattr(relearnt, "MarginalLikelihood", noted)
    monkeypatch.setattr("quell.vbmc.subset.LEARNING_POINTS", enough)
    error, sd = relearnt.relearnt_error(surrogate, 7, np.ones(1))
    assert seen == [min(enough, 39)]
    assert error == pytest.approx(-50, abs=0.5)
    assert sd < 0.5


@pytest.mark.parametrize("waves_are_noise", [False, True])
def test_of_many_values_some_tell_whether_the_default_leads_elsewhere(waves_are_noise, monkeypatch):
    # A kernel that takes waves for noise is a mode of its own: no search from there sees them.
    x = np.random.default_rng(1).normal(size=(150, 1))
    y = -0.5 * x[:, 0] ** 2 + np.sin(8 * x[:, 0])
    y[7] -= 50.0
    kernel = [2.0, -3.0, 0.0] if waves_are_noise else [-2.0, 1.0, -5.0]
    surrogate = GaussianProcess.condition(
        TrainingData.from_arrays(x, y, noise_sd=0.1), np.array([[*kernel, 0.0, 0.0, 0.0]])
    )
    searches = []

    def noted(target, start):
        searches.append(target.marginal.data.size)
        return maximise(target, start)

    monkeypatch.setattr(relearnt, "maximise", noted)
    error, sd = relearnt.relearnt_error(surrogate, 7, np.ones(1))
    assert searches == [149, relearnt.SCOUTED, relearnt.SCOUTED] + [149] * waves_are_noise
    assert error == pytest.approx(-50, abs=0.5)
    assert sd < 0.5
