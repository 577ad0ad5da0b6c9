import numpy as np
import pytest
from helpers.acquisition import U, lookahead_sds, make_situation, two_sinh

from quell.acquisition import IMIQR, Situation
from quell.acquisition.imiqr import log_two_sinh, pilot_draws
from quell.acquisition.situation import training_box
from quell.gp import GaussianProcess, TrainingData
from quell.mixture import Mixture


def box_grid(situation, n=3001):
    lower, upper = training_box(situation.gp, situation.mixture)
    return np.linspace(lower[0], upper[0], n)[:, None]


@pytest.mark.parametrize("n_samples", [1, 3])
def test_weighted_sum_is_the_fraction_of_the_loss_removed(n_samples):
    situation = make_situation(1, n_samples)
    gp, grid = situation.gp, box_grid(situation)
    x = np.linspace(-2, 2, 9)[:, None]
    before, after = lookahead_sds(situation, grid, x)
    height = np.exp(gp.predict(grid)[0])
    removed = np.einsum(
        "sn,snm->sm", height, two_sinh(U * before)[:, :, None] - two_sinh(U * after)
    )
    fraction = removed / np.einsum("sn,sn->s", height, two_sinh(U * before))[:, None]
    expected = gp.weights @ fraction
    score = IMIQR(n_points=2000, thin=3).prepare(np.random.default_rng(1), situation)
    # Some 500 independent draws: a standard error of a few per cent
    np.testing.assert_allclose(
        np.exp(score.values(x)), expected, rtol=0.1, atol=0.05 * expected.max()
    )


def test_points_are_distributed_as_the_target():
    situation = make_situation(1, 1)
    grid = box_grid(situation)
    mean, variance = situation.gp.predict(grid)
    density = np.exp(mean[0]) * two_sinh(U * np.sqrt(variance[0]))
    cumulative = np.cumsum(density) / density.sum()
    score = IMIQR(n_points=1500).prepare(np.random.default_rng(2), situation)
    levels = np.interp(score.points[0, :, 0], grid[:, 0], cumulative)
    counts = np.histogram(levels, bins=5, range=(0, 1))[0] / 1500
    np.testing.assert_allclose(counts, 0.2, atol=0.05)


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_points_differ_by_sample_and_stay_in_the_box(dimension):
    situation = make_situation(dimension, 4, pending=1)
    score = IMIQR().prepare(np.random.default_rng(0), situation)
    assert score.points.shape == (4, 100, dimension)
    lower, upper = training_box(situation.gp, situation.mixture)
    assert np.all((score.points >= lower) & (score.points <= upper))
    assert not np.array_equal(score.points[0], score.points[1])


def test_a_surrogate_that_rises_outwards_is_sampled_only_in_the_box():
    x = np.linspace(-1, 1, 6)[:, None]
    data = TrainingData.from_arrays(x, 20 * x[:, 0])
    gp = GaussianProcess.condition(data, [[1.0, 3.0, -4.0, 0.0, 50.0, 3.0]])
    mixture = Mixture([1.0], [[0.0]], [0.3], [1.0])
    lower, upper = training_box(gp, mixture)
    np.testing.assert_allclose([lower, upper], [[-2.0], [2.0]])
    score = IMIQR().prepare(np.random.default_rng(0), Situation.of(gp, mixture))
    assert score.points.max() <= 2.0
    assert score.points.mean() > 1.0


def test_one_training_point_is_enough():
    data = TrainingData.from_arrays([[0.5, 1.0]], [0.0], 0.3)
    theta = [[0.0, 0.0, 0.0, -3.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    gp = GaussianProcess.condition(data, theta)
    mixture = Mixture([1.0], [[0.0, 0.0]], [0.7], [1.0, 1.0])
    lower, upper = training_box(gp, mixture)
    np.testing.assert_allclose(upper - lower, 1.4)
    score = IMIQR(thin=1).prepare(np.random.default_rng(0), Situation.of(gp, mixture))
    assert np.isfinite(score.values([[1.0, 1.0]])).all()


def test_pilot_density_is_that_of_the_pilot_points():
    situation = make_situation(1, 1)
    rng = np.random.default_rng(0)
    draws = [pilot_draws(rng, situation.gp, situation.mixture) for _ in range(20)]
    x = np.concatenate([x for x, _ in draws])[:, 0]
    log_density = np.concatenate([d for _, d in draws])
    # Importance sampling with that density integrates a known function to its integral
    target = np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi)
    assert np.mean(target / np.exp(log_density)) == pytest.approx(1.0, abs=0.05)


def test_score_does_not_depend_on_the_height_of_the_surrogate():
    situation = make_situation(1, 2)
    gp = situation.gp
    lifted = TrainingData(gp.data.x, gp.data.y + 1e3, gp.data.variance)
    theta = gp.theta.copy()
    theta[:, gp.layout.mean_max] += 1e3
    other = Situation.of(GaussianProcess.condition(lifted, theta, gp.weights), situation.mixture)
    x = np.linspace(-2, 2, 5)[:, None]
    one, two = (
        IMIQR(thin=1).prepare(np.random.default_rng(0), s).values(x) for s in (situation, other)
    )
    np.testing.assert_allclose(one, two, rtol=1e-6)


def test_log_two_sinh():
    y = np.array([1e-300, 1e-8, 0.5, 3.0])
    np.testing.assert_allclose(log_two_sinh(y), np.log(2 * np.sinh(y)), rtol=1e-12)
    assert log_two_sinh(np.array([1e4])) == 1e4


def test_bad_numbers_are_refused():
    with pytest.raises(ValueError, match="n_points and thin must be at least 1, got 0 and 5"):
        IMIQR(0)
    with pytest.raises(ValueError, match="got 100 and 0"):
        IMIQR(thin=0)
