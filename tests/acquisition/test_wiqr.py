from dataclasses import replace

import numpy as np
import pytest
from helpers.acquisition import U, grid_1d, lookahead_sds, make_situation, two_sinh

from quell.acquisition import VIQR, WIQR, Situation
from quell.gp import GaussianProcess, TrainingData
from quell.mixture import Mixture


def rng():
    return np.random.default_rng(0)


def density_ratio(situation):
    """exp(f̄_s) over its integral, (S, n), on the grid, and the grid."""
    grid, cell = grid_1d(situation)
    means, _ = situation.gp.predict(grid)
    density = np.exp(means - means.max(axis=1, keepdims=True))
    return density / (cell * density.sum(axis=1, keepdims=True)), grid, cell


@pytest.mark.parametrize("n_samples", [1, 4])
def test_many_points_give_the_integral_under_the_surrogate(n_samples):
    score = WIQR(n_points=16384).prepare(rng(), make_situation(1, n_samples))
    situation = score.situation
    density, grid, cell = density_ratio(situation)
    x = np.linspace(-2, 2, 9)[:, None]
    before, after = lookahead_sds(situation, grid, x)
    reduction = two_sinh(U * before)[:, :, None] - two_sinh(U * after)
    expected = cell * density[0] @ reduction[0]
    np.testing.assert_allclose(
        np.exp(score.values(x)), expected, rtol=0.1, atol=4e-3 * expected.max()
    )


def test_hyperparameter_samples_take_turns_by_their_weights():
    situation = make_situation(1, 4)
    gp, weights = situation.gp, np.array([0.7, 0.3, 0.0, 0.0])
    situation = replace(situation, gp=replace(gp, weights=weights))
    generator = rng()
    chosen = np.concatenate(
        [WIQR(10).prepare(generator, situation).situation.gp.theta for _ in range(300)]
    )
    shares = [(chosen == theta).all(axis=1).mean() for theta in gp.theta]
    np.testing.assert_allclose(shares, weights, atol=0.1)
    assert shares[2] == shares[3] == 0.0


def test_density_of_the_draws():
    """An importance estimate of ∫ q = 1, and of the share that is far out."""
    q = Mixture([0.3, 0.7], [[-1.0, 0.0], [2.0, 1.0]], [0.5, 1.0], [1.0, 0.6])
    points, log_density = WIQR(n_points=20_000)._draw(rng(), q)
    ratio = np.exp(q.log_density(points) - log_density)
    assert ratio.mean() == pytest.approx(1.0, abs=0.03)
    assert (ratio <= 2.0).all()  # half of the draws are from q itself
    wide = np.cov(points.T)
    expected = 0.5 * (1 + 2.0**2) * q.covariance()
    np.testing.assert_allclose(wide, expected, rtol=0.1, atol=0.05)


def test_mass_that_q_has_lost_attracts_the_search():
    """The surrogate is flat from -1 to 4; q covers its left part only."""
    x = np.array([-2.0, -1.0, 0.0, 1.0, 4.0, 5.0])
    y = np.array([-8.0, -0.5, 0.0, 0.0, 0.0, -8.0])
    data = TrainingData.from_arrays(x[:, None], y, noise_sd=0.3)
    gp = GaussianProcess.condition(data, [[0.3, 1.0, -5.0, 0.0, 1.0, 3.0]])
    situation = Situation.of(gp, Mixture([1.0], [[0.0]], [0.8], [1.0]))
    places = np.linspace(-2, 5, 71)[:, None]
    by_q, by_surrogate = (
        places[function.prepare(rng(), situation).values(places).argmax(), 0]
        for function in (VIQR(), WIQR())
    )
    assert by_q < 2.2
    assert 2.2 < by_surrogate < 3.2


def test_large_weights_are_cut():
    """Where the surrogate towers over a few far points, they do not decide alone."""
    data = TrainingData.from_arrays([[0.0], [3.0]], [0.0, 4.0], noise_sd=0.1)
    gp = GaussianProcess.condition(data, [[-1.0, 1.0, -5.0, 0.0, 0.0, 1.0]])
    q = Mixture([1.0], [[0.0]], [0.8], [1.0])
    function = WIQR(100)
    score = function.prepare(rng(), Situation.of(gp, q))
    points, log_density = function._draw(rng(), q)
    raw = np.exp(gp.predict(points)[0][0] - log_density)
    raw /= raw.sum()
    assert raw.max() > 0.15
    expected = np.minimum(raw, 0.1)
    weights = score._terms[0] / np.exp(U * score.sd[0])
    np.testing.assert_allclose(weights / weights.sum(), expected / expected.sum(), rtol=1e-6)


@pytest.mark.parametrize(
    "wrong", [{"n_points": 0}, {"far": 0.0}, {"far": 1.0}, {"reach": 1.0}, {"reach": np.nan}]
)
def test_arguments_are_checked(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        WIQR(**wrong)
