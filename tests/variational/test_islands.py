"""High evaluations that the mixture has lost become components of it."""

import numpy as np
import pytest
from helpers.variational import Gaussian

from quell.gp import GaussianProcess, TrainingData
from quell.mixture import Mixture
from quell.variational.islands import (
    _mean_and_slope,
    find_islands,
    high_depth,
    with_islands,
    within_reach,
)

SDS = np.array([0.5, 0.8])
PLACES = np.array([[-4.0, 0.0], [4.0, 1.0]])
WEIGHTS = np.array([0.7, 0.3])


def log_density(x):
    parts = [
        np.log(w) - 0.5 * np.sum(((x - place) / SDS) ** 2, axis=1) - np.log(2 * np.pi * SDS.prod())
        for w, place in zip(WEIGHTS, PLACES, strict=True)
    ]
    return np.logaddexp(*parts)


@pytest.fixture(scope="module")
def gp():
    """A surrogate that knows two modes well."""
    rng = np.random.default_rng(3)
    x = np.vstack([place + 1.5 * SDS * rng.standard_normal((40, 2)) for place in PLACES])
    x = np.vstack([x, rng.uniform([-7, -3], [7, 4], (60, 2))])
    y = np.maximum(log_density(x), -40.0)
    theta = [[0.0, 0.0, np.log(20.0), -5.0, -30.0, 0.0, 0.0, 3.0, 3.0]]
    return GaussianProcess.condition(TrainingData.from_arrays(x, y, 0.01), theta)


def on_the_first(weight_of_second=None):
    """A mixture on the first mode, with or without a component of this weight on the second."""
    lengths = SDS / np.sqrt(np.mean(SDS**2))
    scale = np.sqrt(np.mean(SDS**2))
    if weight_of_second is None:
        return Mixture([1.0], PLACES[:1], [scale], lengths)
    weights = [1 - weight_of_second, weight_of_second]
    return Mixture(weights, PLACES, [scale, scale], lengths)


def test_the_other_mode_is_an_island_with_its_width_and_mass(gp):
    (island,) = find_islands(gp, on_the_first())
    np.testing.assert_allclose(island.place, PLACES[1], atol=0.1)
    np.testing.assert_allclose(island.sds, SDS, rtol=0.2)
    assert island.log_mass == pytest.approx(np.log(WEIGHTS[1]), abs=0.3)


def test_it_becomes_a_component_with_the_weight_of_its_mass(gp):
    grown = with_islands(gp, on_the_first())
    assert grown.n_components == 2
    np.testing.assert_allclose(grown.means[1], PLACES[1], atol=0.1)
    np.testing.assert_allclose(grown.weights, WEIGHTS, atol=0.1)


def test_a_mixture_that_has_all_modes_stays_as_it_is(gp):
    mixture = on_the_first(0.3)
    assert with_islands(gp, mixture) is mixture


def test_components_without_weight_hold_no_mode(gp):
    assert len(find_islands(gp, on_the_first(0.001))) == 1
    grown = with_islands(gp, on_the_first(0.001))
    assert grown.n_components == 2  # the one without weight has gone
    assert grown.weights[1] > 0.2


def test_a_single_mode_has_no_islands_however_thin_the_mixture():
    target = Gaussian(2)
    gp = target.learnt_gp(80)
    for scale in (0.1, 0.5, 2.0):
        start = Mixture([1.0], [target.mean + 0.5 * target.sd], [scale], target.sd)
        assert find_islands(gp, start) == []


def test_low_evaluations_are_no_islands():
    # a bump 15 nats below the top is of no account
    x = np.linspace(-5, 5, 41)[:, None]
    y = np.logaddexp(-2 * (x[:, 0] + 2) ** 2, -15 - 2 * (x[:, 0] - 2) ** 2)
    theta = [[np.log(0.7), np.log(20.0), -5.0, -30.0, 0.0, 3.0]]
    gp = GaussianProcess.condition(TrainingData.from_arrays(x, y, 0.01), theta)
    first = Mixture([1.0], [[-2.0]], [0.5], [1.0])
    assert find_islands(gp, first) == []
    high = GaussianProcess.condition(
        TrainingData.from_arrays(x, np.logaddexp(y, -1 - 2 * (x[:, 0] - 2) ** 2), 0.01), theta
    )
    assert len(find_islands(high, first)) == 1


def test_reach_is_where_the_log_density_has_fallen_by_the_depth():
    mixture = Mixture([1.0], [[0.0, 0.0]], [2.0], [1.0, 1.0])
    edge = 2.0 * np.sqrt(2 * high_depth(2))
    x = np.array([[0.99 * edge, 0.0], [0.0, 1.01 * edge], [1.5 * edge, 0.0]])
    assert within_reach(mixture, x).tolist() == [True, False, False]
    assert within_reach(mixture, x, 2.0).tolist() == [True, True, True]


def test_the_slope_is_that_of_the_surrogates_mean(gp):
    x = np.array([1.0, -0.5])
    mean, slope = _mean_and_slope(gp, x)
    assert mean == pytest.approx(gp.pooled(x[None])[0][0])
    for i, step in enumerate(1e-5 * np.eye(2)):
        ahead, behind = (_mean_and_slope(gp, x + sign * step)[0] for sign in (1, -1))
        assert slope[i] == pytest.approx((ahead - behind) / 2e-5, rel=1e-5)
