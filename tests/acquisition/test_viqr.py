import numpy as np
import pytest
from helpers.acquisition import (
    U,
    grid_1d,
    lookahead_sds,
    make_situation,
    modest,
    points,
    situations,
    two_sinh,
)
from hypothesis import given
from scipy.special import logsumexp

from quell.acquisition import VIQR, Situation
from quell.acquisition.interquantile import ReductionScore
from quell.acquisition.lookahead import Lookahead, Points
from quell.gp import GaussianProcess


def prepare(situation, n_points=100, seed=0):
    return VIQR(n_points).prepare(np.random.default_rng(seed), situation)


def naive_log_loss(situation, a, x):
    """log of the loss: an average over points and samples of 2 sinh(u s')."""
    _, after = lookahead_sds(situation, a, x)
    with np.errstate(divide="ignore"):
        terms = U * after + np.log1p(-np.exp(-2 * U * after))
    terms += np.log(situation.gp.weights)[:, None, None] - np.log(len(a))
    return logsumexp(terms, axis=(0, 1))


@modest
@given(situations)
def test_lookahead_is_really_adding_the_point(arguments):
    situation = make_situation(**arguments)
    gp, a, x = situation.gp, points(situation, 6, 1), points(situation, 3)
    sd = situation.noise.sd_at(x)
    noise = gp.new_observation_variance(sd, len(x))
    ahead = list(Lookahead(gp, Points(gp, a)).samples(x))
    for j in range(len(x)):
        for y in (-3.0, 5.0):
            _, variance = gp.append(x[j], y, float(sd[j])).predict(a)
            for s, (mean_s, variance_s, covariance) in enumerate(ahead):
                reduced = gp.predict(a)[1][s] - covariance[j] ** 2 / (variance_s[j] + noise[s, j])
                np.testing.assert_allclose(reduced, variance[s], rtol=1e-6, atol=1e-9)
                assert mean_s[j] == pytest.approx(gp.predict(x)[0][s, j], abs=1e-9)


@modest
@given(situations)
def test_score_is_the_log_of_the_loss_s_reduction(arguments):
    situation = make_situation(**arguments)
    score, x = prepare(situation), points(situation, 7)
    before, after = lookahead_sds(situation, score.points, x)
    reduction = (two_sinh(U * before)[:, :, None] - two_sinh(U * after)).mean(axis=1)
    np.testing.assert_allclose(
        score.values(x), np.log(situation.gp.weights @ reduction), rtol=1e-6, atol=1e-7
    )


@modest
@given(situations)
def test_order_of_points_is_that_of_the_loss(arguments):
    situation = make_situation(**arguments)
    score, x = prepare(situation), points(situation, 200)
    loss = naive_log_loss(situation, score.points, x)
    values = score.values(x)
    assert values.argmax() == loss.argmin()
    # The same order up to the rounding of the naive loss
    ordered = loss[np.argsort(-values)]
    assert np.all(np.diff(ordered) > -1e-9)


@pytest.mark.parametrize("n_samples", [1, 4])
def test_many_points_give_the_integral(n_samples):
    situation = make_situation(1, n_samples)
    grid, cell = grid_1d(situation)
    x = np.linspace(-2, 2, 9)[:, None]
    before, after = lookahead_sds(situation, grid, x)
    reduction = two_sinh(U * before)[:, :, None] - two_sinh(U * after)
    q = np.exp(situation.mixture.log_density(grid))
    expected = cell * np.einsum("s,n,snm->m", situation.gp.weights, q, reduction)
    estimate = np.exp(prepare(situation, 4096).values(x))
    np.testing.assert_allclose(estimate, expected, rtol=0.01, atol=2e-3 * expected.max())


def test_quasi_random_points_estimate_better_than_plain_ones():
    situation = make_situation(2, 1)
    x = points(situation, 20)
    truth = prepare(situation, 8192, seed=1).values(x)

    def error(make):
        return np.sqrt(np.mean([(make(i).values(x) - truth) ** 2 for i in range(8)]))

    def plain(i):
        a = situation.mixture.sample(100, np.random.default_rng(i))
        return ReductionScore(situation, a, np.full((1, 100), -np.log(100)))

    assert error(lambda i: prepare(situation, seed=i)) < 0.6 * error(plain)


def with_hyperparameter(situation, index, value):
    theta = situation.gp.theta.copy()
    theta[:, index] = value
    gp = GaussianProcess.condition(situation.gp.data, theta, situation.gp.weights)
    return Situation.of(gp, situation.mixture)


def test_huge_output_scale_does_not_overflow():
    situation = make_situation(2, 2)
    situation = with_hyperparameter(situation, situation.gp.layout.output_scale, np.log(1e5))
    score, x = prepare(situation), points(situation, 6)
    before, after = lookahead_sds(situation, score.points, x)
    assert before.max() > 5e3  # sinh would overflow
    weights = (np.log(situation.gp.weights) - np.log(100))[:, None]
    terms = (weights + U * before)[:, :, None] + np.log1p(-np.exp(U * (after - before[:, :, None])))
    expected = logsumexp(terms, axis=(0, 1))
    np.testing.assert_allclose(score.values(x), expected, rtol=1e-9)
    for place in x:
        value, gradient = score.value_and_gradient(place)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()


def test_tiny_reductions_keep_their_digits():
    situation = make_situation(2, 3)
    loud = Situation.of(situation.gp, situation.mixture, 1e7)
    score, x = prepare(loud), points(loud, 6)
    gp = loud.gp
    # To first order: 2 sinh(us) - 2 sinh(us') = u cosh(us)/s τ², which is 10⁻¹⁴ of the loss here
    s = np.sqrt(gp.predict(score.points)[1])
    total = gp.predict(x)[1] + gp.new_observation_variance(1e7, len(x))
    tau_squared = gp.covariance(score.points, x) ** 2 / total[:, None, :]
    expected = gp.weights @ ((U * np.cosh(U * s) / s)[:, :, None] * tau_squared).mean(axis=1)
    np.testing.assert_allclose(np.exp(score.values(x)), expected, rtol=1e-9)


def test_scores_are_finite_where_the_observation_leaves_no_variance():
    situation = make_situation(1, 1, "exact")
    situation = with_hyperparameter(situation, situation.gp.layout.base_noise, -12.0)
    score = prepare(situation)
    x = score.points[:5]  # an exact observation at a point of the integral itself
    assert np.isfinite(score.values(x)).all()
    for place in x:
        assert np.isfinite(score.value_and_gradient(place)[1]).all()


def test_far_points_are_worthless_but_harmless():
    situation = make_situation()
    score, far = prepare(situation), np.full((1, 2), 1e3)
    assert np.isneginf(score.values(far)).all()
    value, gradient = score.value_and_gradient(far[0])
    assert np.isneginf(value)
    assert np.all(gradient == 0)


def test_a_sample_of_weight_zero_has_no_part():
    situation = make_situation(2, 4)
    gp, x = situation.gp, points(situation, 4)
    two = GaussianProcess.condition(gp.data, gp.theta[:2], [0.3, 0.7])
    four = GaussianProcess.condition(gp.data, gp.theta, [0.3, 0.7, 0.0, 0.0])
    a, b = (prepare(Situation.of(g, situation.mixture)).values(x) for g in (two, four))
    np.testing.assert_allclose(a, b, rtol=1e-12)


def test_number_of_points_is_checked():
    with pytest.raises(ValueError, match="n_points must be at least 1, got 0"):
        VIQR(0)
    assert prepare(make_situation(), 7).points.shape == (7, 2)
