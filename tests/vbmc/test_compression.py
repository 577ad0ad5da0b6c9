"""How strongly low values are compressed is for the observations to say."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.vbmc import make_state, unbounded_problem

from quell.settings import Settings
from quell.vbmc.compression import POWERS, log_likelihood, with_compression
from quell.vbmc.low_values import resolved_depth


def state_of(log_joint, n=25, dimension=2, **changes):
    """A state in warm-up whose evaluations fill the plausible box evenly."""
    theta = np.random.default_rng(3).uniform(-3, 3, (n, dimension))
    return make_state(unbounded_problem(dimension), theta, log_joint(theta), noisy=False, **changes)


def bowl(theta):
    """A normal log density, 10³ deep: as it is, a quadratic."""
    return -60.0 * np.sum((theta - 0.5) ** 2, axis=1)


def pit(theta):
    """As many nats below as e to the distance: 10⁷ deep, and even where logarithms are taken."""
    return -np.exp(3.0 + 2.0 * np.abs(theta[:, 0] - 0.5) + 2.0 * np.abs(theta[:, 1]))


def chosen(state, settings=None):
    return with_compression(np.random.default_rng(1), state, settings or Settings())


class TestChoice:
    def test_a_quadratic_is_left_as_it_is(self):
        assert chosen(state_of(bowl, power=0.0)).power == 1.0

    def test_a_fall_by_orders_of_magnitude_is_compressed(self):
        state = state_of(pit)
        assert state.training.data.y.min() < -1e5
        found = chosen(state)
        assert found.power < 0.5
        assert found.training.data.y.min() > -1e4

    def test_it_is_the_likeliest_of_all(self):
        state = state_of(bowl, power=0.25)
        likelihoods = [
            log_likelihood(np.random.default_rng(1), state.with_data(power=power), Settings())
            for power in POWERS
        ]
        assert chosen(state).power == POWERS[int(np.argmax(likelihoods))]

    def test_slopes_count(self):
        """Squeezed values are always denser; without the slope the strongest would always win."""
        state = state_of(bowl)
        by_power = {power: state.with_data(power=power).training.log_slope for power in POWERS}
        assert by_power[1.0] == 0.0
        below = -bowl(state.evaluations.theta)
        below = (below - below.min()) / resolved_depth(2)
        folds = np.log(np.maximum(below, 1.0)).sum()
        for power, slope in by_power.items():
            assert slope == pytest.approx((power - 1.0) * folds, rel=1e-6)

    def test_another_compression_is_learnt_afresh(self):
        found = chosen(state_of(pit, full_refit=False))
        assert found.full_refit
        assert found.fit is None
        assert found.memory is None

    def test_the_same_one_changes_nothing(self):
        state = state_of(bowl)
        assert chosen(state) is state


class TestNoChoice:
    def test_where_it_is_switched_off(self):
        state = state_of(pit)
        assert chosen(state, Settings(compress_low_values=False)) is state

    def test_where_nothing_is_low(self):
        state = state_of(lambda theta: 0.01 * bowl(theta))
        assert chosen(state) is state

    def test_after_the_search(self):
        state = replace(state_of(pit), warmup=False)
        assert chosen(state) is state
