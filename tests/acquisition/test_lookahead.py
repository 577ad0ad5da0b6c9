"""What one more observation does to the variance of the surrogate, and of its integral."""

import numpy as np
import pytest
from helpers.acquisition import integral_covariance, make_situation

from quell.acquisition.lookahead import Lookahead, Points
from quell.quadrature import Quadrature


def variances_after(gp, a, x, noise_sd):
    """Variance at ``a`` once each ``x`` is observed with this noise (paper, Eq. 5), (S, n, m)."""
    added = gp.new_observation_variance(noise_sd, len(x))
    ahead = Lookahead(gp, Points(gp, a))
    before = gp.hyper.output_variance[:, None] - ahead.explained
    out = [
        before[s][:, None] - covariance.T**2 / (variance + added[s])
        for s, (_, variance, covariance) in enumerate(ahead.samples(x))
    ]
    return np.stack(out)


def places(dimension, n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dimension))


@pytest.mark.parametrize("n_samples", [1, 3])
def test_it_is_the_variance_after_any_value(n_samples):
    gp = make_situation(2, n_samples).gp
    a, x, sds = places(2, 5), places(2, 3, seed=2), np.array([0.0, 0.5, 1.5])
    ahead = variances_after(gp, a, x, sds)
    assert ahead.shape == (n_samples, 5, 3)
    for j, sd in enumerate(sds):
        for y in (-100.0, 4.0):
            after = gp.append(x[j], y, float(sd)).predict(a)[1]
            np.testing.assert_allclose(ahead[:, :, j], after, rtol=1e-7, atol=1e-10)


def test_at_the_observed_point_itself():
    gp = make_situation(1, 2).gp
    x = np.array([[5.0]])
    _, before = gp.predict(x)
    noise = gp.new_observation_variance(0.7, 1)
    after = variances_after(gp, x, x, 0.7)[:, :, 0]
    np.testing.assert_allclose(after, before * noise / (before + noise), rtol=1e-9)


def test_pending_points_count():
    gp = make_situation(2, 3).gp.append_pending([0.0, 0.0], 0.3)
    a = places(2, 4)
    ahead = variances_after(gp, a, np.array([[0.5, 0.5]]), 0.2)[:, :, 0]
    after = gp.append_pending([0.5, 0.5], 0.2).predict(a)[1]
    np.testing.assert_allclose(ahead, after, rtol=1e-7, atol=1e-11)


@pytest.mark.parametrize("noise_sd", [0.0, 0.7])
@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_variance_of_the_integral_after_one_more_observation(dimension, noise_sd):
    situation = make_situation(dimension, 3)
    gp, q = situation.gp, situation.mixture
    x = places(dimension, 3, seed=3)
    before = Quadrature(gp).moments(q)
    gain = integral_covariance(gp, q, x) ** 2
    gain /= gp.predict(x)[1] + gp.new_observation_variance(noise_sd, len(x))
    assert gain.max() > 1e-3 * before.within
    for n, point in enumerate(x):
        after = Quadrature(gp.append(point, 1.0, noise_sd)).moments(q)
        np.testing.assert_allclose(
            after.sample_variances, before.sample_variances - gain[:, n], rtol=1e-8, atol=1e-9
        )


def test_covariance_with_the_integral_includes_pending_points():
    situation = make_situation(2, 2)
    gp, q = situation.gp, situation.mixture
    x = np.array([[0.5, 0.5], [1.0, -1.0]])
    pending = integral_covariance(gp.append_pending([0.3, 0.4], 0.2), q, x)
    observed = integral_covariance(gp.append([0.3, 0.4], 5.0, 0.2), q, x)
    np.testing.assert_allclose(pending, observed, rtol=1e-10, atol=1e-12)
    assert np.abs(pending - integral_covariance(gp, q, x)).max() > 1e-4
