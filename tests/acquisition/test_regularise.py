import numpy as np
import pytest
from helpers.acquisition import NAMES, make_situation
from helpers.numeric import central_differences

from quell.acquisition import Situation, by_name
from quell.acquisition.regularise import (
    V_REG,
    variance_penalty,
    variance_penalty_slope,
    vetoed_scores,
)
from quell.gp import GaussianProcess


def test_penalty_is_the_paper_s_factor_in_logarithms():
    v = np.array([1e-6, 3e-5, 9.9e-5])
    np.testing.assert_allclose(np.exp(variance_penalty(v)), np.exp(-(V_REG / v - 1)))
    np.testing.assert_array_equal(variance_penalty(np.array([V_REG, 1.0])), 0)


def test_the_threshold_is_the_paper_s():
    v = np.array([1.01e-4, 1e-4, 0.5e-4, 1e-5])
    np.testing.assert_allclose(variance_penalty(v), [0.0, 0.0, -1.0, -9.0], atol=1e-9)
    assert variance_penalty_slope(1.01e-4) == 0.0
    assert variance_penalty_slope(0.99e-4) == pytest.approx(1e-4 / 0.99e-4**2)


@pytest.mark.parametrize("name", NAMES)
def test_a_score_is_penalised_below_the_threshold_and_not_above(name, monkeypatch):
    """The same scores with and without the penalty differ where the surrogate is certain."""
    situation = make_situation()
    nearest = situation.gp.data.x[0]
    x = nearest + np.linspace(0, 1, 200)[:, None] * (situation.gp.data.x[1] - nearest)
    _, variance = situation.gp.pooled(x)
    score = by_name(name).prepare(np.random.default_rng(0), situation)
    penalised = score.values(x)
    monkeypatch.setattr("quell.acquisition.score.variance_penalty", np.zeros_like)
    plain = score.values(x)
    expected = np.where(variance < 1e-4, -(1e-4 / np.maximum(variance, 1e-100) - 1), 0.0)
    finite = np.isfinite(plain)
    assert (variance[finite] > 1e-4).any()
    np.testing.assert_allclose((penalised - plain)[finite], expected[finite], atol=1e-6, rtol=1e-6)


def test_penalty_is_finite_without_any_variance():
    assert np.isfinite(variance_penalty(np.zeros(2))).all()
    assert np.isfinite(variance_penalty_slope(0.0))


@pytest.mark.parametrize("v", [1e-5, 5e-5, 2e-4])
def test_slope_of_penalty(v):
    expected = (variance_penalty(np.array(v * 1.0001)) - variance_penalty(np.array(v * 0.9999))) / (
        v * 2e-4
    )
    assert variance_penalty_slope(v) == pytest.approx(expected, rel=1e-6)


def test_vetoed_and_non_finite_scores_are_minus_infinity():
    class Table:
        def values(self, x):
            return np.array([0.0, np.nan, -np.inf, np.inf, 5.0])[x[:, 0].astype(int)]

    x = np.arange(5.0)[:, None]
    expected = [0.0, -np.inf, -np.inf, -np.inf, 5.0]
    values, mask = vetoed_scores(Table(), x)
    np.testing.assert_array_equal(values, expected)
    assert mask.all()
    values, mask = vetoed_scores(Table(), x, lambda x: x[:, 0] < 4)
    np.testing.assert_array_equal(values, [*expected[:4], -np.inf])
    np.testing.assert_array_equal(mask, [True, True, True, True, False])


def test_wrong_shapes_of_masks_and_scores_are_named():
    class Column:
        def values(self, x):
            return x

    with pytest.raises(ValueError, match=r"allowed must return shape \(3,\), got \(3, 1\)"):
        vetoed_scores(Column(), np.zeros((3, 1)), lambda x: x > 0)
    with pytest.raises(ValueError, match=r"values must have shape \(3,\), got \(3, 1\)"):
        vetoed_scores(Column(), np.zeros((3, 1)))


def certain_situation():
    """A surrogate of exact data, all but certain close to them."""
    rough = make_situation(2, 2, "exact")
    theta = rough.gp.theta.copy()
    theta[:, rough.gp.layout.base_noise] = -8.0
    theta[1, :] = theta[0] + 1e-4  # little variance between the samples
    gp = GaussianProcess.condition(rough.gp.data, theta, [0.3, 0.7])
    return Situation.of(gp, rough.mixture)


@pytest.mark.parametrize("name", NAMES)
def test_scores_keep_away_from_certain_points_and_their_gradient_knows(name):
    situation = certain_situation()
    score = by_name(name).prepare(np.random.default_rng(0), situation)
    x = situation.gp.data.x[0] + [0.004, 0.003]
    _, (v,) = score.gp.pooled(x[None])  # wiqr looks at one sample
    assert v < 0.5 * V_REG
    raw, _, _ = score._scores(x[None], score._noise(x[None]))
    assert score.values(x[None])[0] == pytest.approx(float(raw[0]) - (V_REG / v - 1), rel=1e-6)
    frozen = score.frozen_at(x)
    value, gradient = frozen.value_and_gradient(x)
    assert value == pytest.approx(frozen.values(x[None])[0], rel=1e-5)
    slopes = central_differences(lambda p: frozen.values(p[None])[0], x, 1e-6)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-3)
