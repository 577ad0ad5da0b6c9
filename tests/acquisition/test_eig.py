import numpy as np
import pytest
from helpers.acquisition import make_situation, modest, points, situations
from hypothesis import given

from quell.acquisition import ExpectedInformationGain
from quell.gp.model import kernel
from quell.quadrature import Quadrature


def gains(situation, x):
    score = ExpectedInformationGain().prepare(np.random.default_rng(0), situation)
    return np.exp(score.values(x))


@modest
@given(situations)
def test_gain_is_half_the_log_ratio_of_variances_before_and_after(arguments):
    situation = make_situation(**arguments)
    gp, mixture = situation.gp, situation.mixture
    x = points(situation, 4)
    before = Quadrature(gp).moments(mixture).sample_variances
    expected = []
    for place, sd in zip(x, situation.noise.sd_at(x), strict=True):
        after = Quadrature(gp.append(place, 1.7, float(sd))).moments(mixture).sample_variances
        expected.append(gp.weights @ (0.5 * np.log(before / after)))
    np.testing.assert_allclose(gains(situation, x), expected, rtol=1e-6, atol=1e-10)


@modest
@given(situations)
def test_gain_is_the_paper_s_formula(arguments):
    situation = make_situation(**arguments)
    gp, mixture = situation.gp, situation.mixture
    x = points(situation, 5)
    kernel_means = Quadrature(gp).kernel_means(mixture)
    covariance = mixture.weights @ kernel_means.at(x)
    for s in range(gp.n_samples):
        at_data = mixture.weights @ kernel_means.at(gp.x)[s]
        covariance[s] -= gp.solve(s, at_data) @ kernel(gp.hyper[s], gp.x, x)
    total = gp.predict(x)[1] + gp.new_observation_variance(situation.noise.sd_at(x), len(x))
    rho = covariance / np.sqrt(total * Quadrature(gp).moments(mixture).sample_variances[:, None])
    expected = gp.weights @ (-0.5 * np.log(1 - rho**2))
    np.testing.assert_allclose(gains(situation, x), expected, rtol=1e-8)


def test_gain_is_large_where_the_integral_s_variance_is_carried():
    situation = make_situation(1, 1, size=4)
    grid = np.linspace(-8, 8, 321)[:, None]
    gain = gains(situation, grid)
    assert gain.max() > 100 * gain[[0, -1]].max()
    assert gain.argmax() not in (0, 320)


def test_far_points_are_worthless_but_harmless():
    situation = make_situation()
    score = ExpectedInformationGain().prepare(np.random.default_rng(0), situation)
    far = np.full((1, 2), 1e3)
    assert np.isneginf(score.values(far)).all()
    value, gradient = score.value_and_gradient(far[0])
    assert np.isneginf(value)
    assert np.all(gradient == 0)


def test_perfect_correlation_is_a_finite_gain():
    situation = make_situation(1, 1)
    score = ExpectedInformationGain().prepare(np.random.default_rng(0), situation)
    score.integral_variance = score.integral_variance * 1e-9
    value, gradient = score.value_and_gradient([0.3])
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    assert score.values([[0.3]])[0] == pytest.approx(value)
