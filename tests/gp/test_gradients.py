import numpy as np
import pytest
from helpers.gp import make_data, make_theta, modest
from helpers.numeric import assert_near, central_differences
from hypothesis import given
from hypothesis import strategies as st

from quell.gp import GaussianProcess
from quell.gp.gradients import LocalPrediction


def make_gp(dimension, n_samples, noise="known", pending=0, seed=0):
    data = make_data(dimension, 12, noise, seed)
    rng = np.random.default_rng([seed, 3])
    weights = rng.uniform(0.1, 1, n_samples)
    gp = GaussianProcess.condition(data, make_theta(data, seed, n_samples), weights)
    for x in rng.normal(size=(pending, dimension)):
        gp = gp.append_pending(x, 0.3)
    return gp


def predict_gradients(gp, x):
    """Latent mean and variance at points (n, D), each (S, n), and their gradients, (S, n, D)."""
    local = [LocalPrediction.at(gp, row) for row in x]
    columns = zip(
        *((p.mean, p.variance, p.mean_gradient(), p.variance_gradient()) for p in local),
        strict=True,
    )
    return [np.stack(column, axis=1) for column in columns]


situations = st.tuples(
    st.sampled_from([1, 2, 5]),
    st.sampled_from([1, 4]),
    st.sampled_from(["exact", "known", "unknown"]),
    st.sampled_from([0, 2]),
    st.integers(0, 1000),
)


@modest
@given(situations)
def test_gradients_match_finite_differences(arguments):
    gp = make_gp(*arguments)
    x = 0.5 + np.random.default_rng(arguments[-1]).normal(size=(3, gp.dimension))
    mean, variance, mean_gradient, variance_gradient = predict_gradients(gp, x)
    expected_mean, expected_variance = gp.predict(x)
    assert_near(mean, expected_mean, 1e-10)
    assert_near(variance, expected_variance, 1e-9)
    for j, point in enumerate(x):
        for which, gradient in enumerate((mean_gradient, variance_gradient)):
            slopes = central_differences(lambda p, w=which: gp.predict(p[None])[w][:, 0], point)
            assert_near(gradient[:, j], slopes, 1e-6)


@modest
@given(situations)
def test_pooled_moments_and_their_gradients(arguments):
    gp = make_gp(*arguments)
    x = 0.5 + np.random.default_rng(arguments[-1]).normal(size=gp.dimension)
    local = LocalPrediction.at(gp, x)
    mean, variance, mean_gradient, variance_gradient = local.pooled()
    expected = gp.pooled(x[None])
    assert_near(mean, expected[0][0], 1e-10)
    assert_near(variance, expected[1][0], 1e-9)
    assert local.pooled_variance() == variance
    for which, gradient in enumerate((mean_gradient, variance_gradient)):
        slopes = central_differences(lambda p, w=which: gp.pooled(p[None])[w][0], x)
        assert_near(gradient, slopes, 1e-6)


def test_gradient_near_a_training_point_does_not_cancel():
    gp = make_gp(2, 1)
    x = gp.data.x[4] + 1e-9
    local = LocalPrediction.at(gp, x)
    slopes = central_differences(lambda p: gp.predict(p[None])[1][:, 0], x)
    assert_near(local.variance_gradient(), slopes, 1e-6)


def test_bad_point_is_refused():
    with pytest.raises(ValueError, match=r"x must have shape \(2,\)"):
        LocalPrediction.at(make_gp(2, 1), [1.0, 2.0, 3.0])
