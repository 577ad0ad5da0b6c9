import numpy as np
from scipy import stats

from quell.acquisition.draws import mixture_draws, normal_draws
from quell.mixture import Mixture
from quell.mixture.quasirandom import uniform_points

Q = Mixture([0.2, 0.0, 0.8], [[-20.0, 0.0], [0.0, 0.0], [20.0, 5.0]], [1.0, 1.0, 2.0], [1.0, 0.5])


def rng(seed=0):
    return np.random.default_rng(seed)


def test_uniform_points_are_even_and_inside():
    u = uniform_points(rng(), 300, 4)
    assert u.shape == (300, 4)
    assert u.min() > 0
    assert u.max() < 1
    np.testing.assert_allclose(u.mean(axis=0), 0.5, atol=0.01)
    assert uniform_points(rng(), 0, 3).shape == (0, 3)


def test_normal_draws_have_the_moments():
    covariance = np.array([[2.0, -0.9], [-0.9, 0.5]])
    x = normal_draws(rng(), 1024, np.array([1.0, -3.0]), covariance)
    np.testing.assert_allclose(x.mean(axis=0), [1.0, -3.0], atol=0.02)
    np.testing.assert_allclose(np.cov(x.T), covariance, atol=0.05)


def test_mixture_draws_have_their_shares_and_moments():
    for n in (10, 100, 512):
        x = mixture_draws(rng(n), n, Q)
        assert abs((x[:, 0] < 0).sum() - 0.2 * n) < 1
    x = mixture_draws(rng(), 2048, Q)
    np.testing.assert_allclose(x.mean(axis=0), Q.mean(), atol=0.05)
    right = x[x[:, 0] > 0]
    np.testing.assert_allclose(np.cov(right.T), np.diag([4.0, 1.0]), atol=0.1)


def test_components_and_offsets_are_independent():
    twins = Mixture([0.5, 0.5], [[-100.0], [100.0]], [1.0, 1.0], [1.0])
    x = mixture_draws(rng(), 1024, twins)[:, 0]
    for side, centre in ((x[x < 0], -100), (x[x > 0], 100)):
        assert stats.kstest(side - centre, "norm").pvalue > 0.1


def test_heavy_tails_are_those_of_student_t():
    one = Mixture([1.0], [[0.0, 0.0]], [2.0], [1.0, 0.5])
    x = mixture_draws(rng(), 4096, one, df=3.0)
    for offsets in (x[:, 0] / 2, x[:, 1]):
        assert stats.kstest(offsets, "t", args=(3,)).pvalue > 0.1


def test_draws_are_finite_and_repeatable():
    np.testing.assert_array_equal(
        mixture_draws(rng(), 64, Q, 3.0), mixture_draws(rng(), 64, Q, 3.0)
    )
    assert np.isfinite(mixture_draws(rng(), 5000, Q, 3.0)).all()
    assert mixture_draws(rng(), 0, Q).shape == (0, 2)
    assert mixture_draws(rng(), 1, Q).shape == (1, 2)
