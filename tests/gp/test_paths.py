"""Functions drawn from the surrogate have its joint law."""

import numpy as np
import pytest

from quell.gp import GaussianProcess, TrainingData
from quell.gp.paths import deviations

N = 10_000


def surrogate(dimension, n, sd):
    rng = np.random.default_rng(dimension)
    x = 1.5 * rng.standard_normal((n, dimension))
    theta = np.concatenate([np.full(dimension, 0.4), [1.0, -4.0, 0.0], np.zeros(2 * dimension)])
    data = TrainingData.from_arrays(x, -0.5 * np.sum(x**2, axis=1), np.full(n, sd))
    return GaussianProcess.condition(data, theta[None])


@pytest.mark.parametrize(("dimension", "n", "sd"), [(1, 20, 1.0), (2, 60, 0.5), (2, 40, 1e-3)])
def test_they_vary_around_the_mean_as_the_covariance_says(dimension, n, sd):
    gp = surrogate(dimension, n, sd)
    x = np.random.default_rng(7).standard_normal((8, dimension))
    generator = np.random.default_rng(8)
    # Each call has frequencies of its own; on average over them the law is exact.
    drawn = np.concatenate([deviations(generator, gp, 0, x, 20) for _ in range(500)])
    expected = gp.covariance(x, x)[0]
    sds = np.sqrt(expected.diagonal())
    scale = np.outer(sds, sds)
    assert drawn.shape == (N, 8)
    assert np.abs(drawn.mean(axis=0) / sds).max() < 5 / np.sqrt(N)
    np.testing.assert_allclose(drawn.T @ drawn / N / scale, expected / scale, atol=0.1)


def test_those_of_one_call_are_about_right():
    gp = surrogate(3, 80, 1.0)
    x = np.random.default_rng(7).standard_normal((200, 3))
    drawn = deviations(np.random.default_rng(9), gp, 0, x, 1000)
    ratio = drawn.var(axis=0) / gp.covariance(x, x)[0].diagonal()
    assert 0.8 < np.median(ratio) < 1.2


def test_where_a_value_is_known_all_go_through_it():
    gp = surrogate(1, 15, 1e-3)
    drawn = deviations(np.random.default_rng(1), gp, 0, gp.data.x[:3], 50)
    assert np.abs(drawn).max() < 0.2  # σ_obs is e^-4
