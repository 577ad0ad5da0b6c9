"""Where the evaluations are flatter than the posterior says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quell.gp import TrainingData
from quell.vbmc.curvature import curvature, stretched

TURN = np.linalg.qr(np.random.default_rng(5).normal(size=(4, 4)))[0]
STANDARD = np.eye(4) / 1000


def quadratic_data(sds, *, seed=0, n=300, noise=0.0, spread=1.0):
    """Values of a normal log density with these SDs along the columns of TURN, at normal points."""
    rng = np.random.default_rng(seed)
    x = rng.normal(scale=spread, size=(n, 4))
    y = -0.5 * np.sum((x @ TURN / sds) ** 2, axis=1) + noise * rng.standard_normal(n)
    return TrainingData.from_arrays(x, y, noise_sd=noise)


def sd_along(covariance, direction):
    return float(np.sqrt(direction @ covariance @ direction))


def test_curvature_of_a_quadratic_is_found():
    sds = np.array([3.0, 1.0, 0.8, 0.5])
    values, vectors, errors = curvature(quadratic_data(sds), quadratic_data(sds).x)
    np.testing.assert_allclose(values, 1 / sds**2, rtol=0.02, atol=0.02)
    np.testing.assert_allclose(np.abs(vectors[:, 0] @ TURN[:, 0]), 1.0, atol=1e-3)
    assert (errors > 0).all()


def test_errors_are_those_of_repeated_data():
    """The flattest of four equal ones is pulled down; in one direction the estimate is fair."""
    found = [
        curvature(data, data.x)
        for data in (
            quadratic_data(np.array([2.0, 1.0, 0.7, 0.5]), seed=seed, noise=1.5, n=150)
            for seed in range(200)
        )
    ]
    z = [(values[0] - 0.25) / errors[0] for values, _, errors in found]
    assert 0.7 < np.std(z) < 1.3
    assert abs(np.mean(z)) < 0.5


@pytest.mark.parametrize("longest", [2.0, 10.0])
def test_a_ridge_is_stretched_along_itself_only(longest):
    sds = np.array([longest, 0.5, 0.5, 0.5])
    data = quadratic_data(sds, noise=0.5, spread=2.0)
    believed = 0.25 * np.eye(4)
    found = stretched(data, np.zeros(4), believed, STANDARD)
    assert sd_along(found, TURN[:, 0]) == pytest.approx(longest, rel=0.3)
    for other in TURN[:, 1:].T:
        assert sd_along(found, other) == pytest.approx(0.5, rel=0.15)


def test_what_is_right_stays():
    sds = np.array([2.0, 1.0, 0.7, 0.5])
    believed = TURN @ np.diag(sds**2) @ TURN.T
    found = stretched(quadratic_data(sds, noise=0.1), np.zeros(4), believed, STANDARD)
    np.testing.assert_allclose(found, believed, atol=0.1)


def test_a_posterior_that_has_collapsed_is_made_thicker():
    covariance = np.diag([1.0, 1.0, 1.0, -1e-17])
    found = stretched(quadratic_data(np.ones(4)), np.zeros(4), covariance, STANDARD)
    assert np.isfinite(found).all()
    assert sd_along(found, np.eye(4)[3]) >= 0.99e-6


def test_no_longer_than_the_plausible_width():
    sds = np.array([100.0, 0.5, 0.5, 0.5])
    data = quadratic_data(sds, noise=0.5, spread=2.0)
    found = stretched(data, np.zeros(4), 0.25 * np.eye(4), np.eye(4) / 3)
    assert np.sqrt(np.linalg.eigvalsh(found)[-1]) == pytest.approx(3.0, rel=0.05)


def test_noise_of_unknown_size():
    data = quadratic_data(np.ones(4))
    unknown = TrainingData.from_arrays(data.x, data.y, np.full(data.size, np.nan))
    assert np.isfinite(stretched(unknown, np.zeros(4), np.eye(4), STANDARD)).all()


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.floats(0.0, 10.0))
def test_never_shorter_whatever_the_data(seed, n, noise):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, 4)), 20 * rng.normal(size=n)
    data = TrainingData.from_arrays(x, y, noise_sd=noise)
    root = rng.normal(size=(4, 4))
    believed = root @ root.T + 0.01 * np.eye(4)
    gain = stretched(data, x[0], believed, STANDARD) - believed
    assert np.linalg.eigvalsh(gain)[0] > -1e-9 * np.trace(believed)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("far", [1e4, 1e6, 1e7])
def test_points_very_far_out_leave_no_nan(far, seed):
    """Behind a soft edge values do not fall with the distance; others are rounded away."""
    rng = np.random.default_rng(seed)
    near = rng.normal(size=(60, 3)) * [5.0, 3.0, 2.0]
    out = far * rng.uniform(0.1, 1.0, (6, 1)) * np.array([-0.15, 1.0, 0.37])
    out *= 1 + 0.01 * rng.normal(size=(6, 3))
    y = np.append(-0.5 * np.sum(near**2, axis=1), -600 + rng.normal(size=6))
    data = TrainingData.from_arrays(np.vstack([near, out]), y)
    _, _, errors = curvature(data, data.x)
    assert (errors > 0).all()
    assert np.isfinite(stretched(data, np.zeros(3), np.eye(3), np.eye(3))).all()
