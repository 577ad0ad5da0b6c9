"""Observations that contradict the surrogate: a refit at once."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.vbmc import SETTINGS, fitted_state, make_table, unbounded_problem
from scipy.stats import norm

from quell import Settings
from quell.vbmc import absorb
from quell.vbmc.low_values import resolved_depth
from quell.vbmc.surprise import is_surprising

PLACE = np.array([0.7, 0.2])


@pytest.fixture(scope="module")
def state():
    return fitted_state(frequent=False)


def told(state, *values, sd=0.1, place=PLACE):
    problem = unbounded_problem(2)
    return state.evaluations.extend(make_table(problem, [place] * len(values), values, sd))


def prediction(state, sd, place=PLACE):
    """Mean and SD of a new observation, in the user's coordinates."""
    gp, x = state.fit.gp, state.space.to_inference(place)
    mean, variance = gp.pooled(x[None])
    noise = np.mean(gp.new_observation_variance(sd, 1))
    jacobian = state.space.log_jacobian(x)
    return float(mean[0] - jacobian), float(np.sqrt(variance[0] + noise))


class TestWhatIsASurprise:
    @pytest.mark.parametrize("side", [-1, 1])
    @pytest.mark.parametrize("sd", [0.1, 2.0])
    def test_what_is_rarer_than_one_in_all_evaluations(self, state, side, sd):
        mean, spread = prediction(state, sd)
        z = norm.isf(0.5 / (len(state.evaluations) + 1))
        for times, expected in ((0.99, False), (1.01, True)):
            value = mean + side * times * z * spread
            assert is_surprising(state, told(state, value, sd=sd)) == expected

    def test_one_of_several_is_enough(self, state):
        mean, spread = prediction(state, 0.1)
        assert is_surprising(state, told(state, mean, mean + 9 * spread))
        assert not is_surprising(state, told(state, mean, mean))

    def test_not_far_below_the_posterior(self, state):
        """A value that is 9 SDs off where the density is hopeless either way."""
        place = np.array([12.0, 12.0])
        mean, spread = prediction(state, 0.1, place)
        assert mean < -resolved_depth(2) - 20
        assert not is_surprising(state, told(state, mean - 9 * spread, place=place))
        assert is_surprising(state, told(state, 0.0, place=place))  # a high value is always one

    def test_not_in_warmup_nor_without_news_nor_by_failures(self, state):
        bad = told(state, 500.0)
        assert is_surprising(state, bad)
        assert not is_surprising(replace(state, warmup=True), bad)
        assert not is_surprising(replace(state, fit=None), bad)
        assert not is_surprising(state, state.evaluations)
        assert not is_surprising(state, told(state, np.nan))
        assert not is_surprising(state, told(state, -np.inf))

    def test_nothing_is_said_of_noise_of_a_size_still_to_be_learnt(self, state):
        assert not is_surprising(state, told(state, 500.0, sd=np.nan))


class TestWhatFollows:
    def hyperparameters_move(self, state, value, settings=SETTINGS):
        new = absorb(np.random.default_rng(1), state, settings, told(state, value))
        assert new.in_iteration == 1
        return not np.array_equal(new.fit.gp.theta, state.fit.gp.theta)

    @pytest.mark.parametrize("settings", [SETTINGS, Settings(hyperparameters="map")])
    def test_a_refit_at_once(self, state, settings):
        mean, _ = prediction(state, 0.1)
        assert not self.hyperparameters_move(state, mean, settings)
        assert self.hyperparameters_move(state, mean - 20, settings)

    def test_the_posterior_follows(self, state):
        mean, _ = prediction(state, 0.1)
        new = absorb(np.random.default_rng(1), state, SETTINGS, told(state, mean - 20))
        assert new.mixture is not state.mixture

    def test_not_in_the_paper(self, state):
        mean, _ = prediction(state, 0.1)
        paper = Settings.variant("paper-viqr")
        assert not self.hyperparameters_move(state, mean - 20, paper)
