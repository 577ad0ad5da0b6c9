import numpy as np
import pytest

from quell.acquisition.ensemble import sample_ensemble

ROOT = np.array([[1.0, 0.0], [0.9, 0.3]])


def correlated(x):
    return -0.5 * (np.linalg.solve(ROOT, x.T) ** 2).sum(axis=0)


def run(log_density=correlated, lower=-9.0, upper=9.0, dimension=2, seed=0, **options):
    rng = np.random.default_rng(seed)
    lower, upper = np.full(dimension, lower), np.full(dimension, upper)
    start = rng.uniform(np.maximum(lower, -1), np.minimum(upper, 1), (2 * dimension + 2, dimension))
    return sample_ensemble(rng, log_density, start, lower, upper, **options)


def test_moments_of_a_correlated_normal():
    x = run(n_draws=4000, thin=3, burn_in=300)
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=0.12)
    np.testing.assert_allclose(np.cov(x.T), ROOT @ ROOT.T, atol=0.15)


def test_box_cuts_the_target():
    x = run(lower=0.0, upper=0.7, n_draws=2000, thin=2, burn_in=200)
    assert x.min() >= 0
    assert x.max() <= 0.7
    grid = np.stack(np.meshgrid(*[np.linspace(0, 0.7, 201)] * 2), axis=-1).reshape(-1, 2)
    weight = np.exp(correlated(grid))
    expected = weight @ grid / weight.sum()
    np.testing.assert_allclose(x.mean(axis=0), expected, atol=0.03)


def test_one_dimension_and_two_modes():
    def log_density(x):
        return np.logaddexp(
            -0.5 * ((x[:, 0] - 1.5) / 0.5) ** 2, -0.5 * ((x[:, 0] + 1.5) / 0.5) ** 2
        )

    x = run(log_density, dimension=1, n_draws=3000, thin=2, burn_in=100)
    assert (x > 0).mean() == pytest.approx(0.5, abs=0.07)
    assert np.abs(x).mean() == pytest.approx(1.5, abs=0.05)


def test_number_of_draws_and_density_evaluations():
    calls = []

    def counted(x):
        calls.append(len(x))
        return correlated(x)

    assert run(counted, n_draws=7, thin=5, burn_in=11).shape == (7, 2)
    assert sum(calls) < 46 * 40


def test_walkers_that_cannot_move_stay():
    # The density is finite at the starts only, so every bracket shrinks to nothing
    start = np.array([[0.0], [1.0], [2.0], [3.0]])

    def log_density(x):
        return np.where(np.isin(x[:, 0], start), 0.0, np.nan)

    x = sample_ensemble(
        np.random.default_rng(0), log_density, start, np.array([0.0]), np.array([3.0]), n_draws=8
    )
    assert set(x[:, 0]) <= set(start[:, 0])


def test_coinciding_walkers_do_no_harm():
    start = np.zeros((6, 2))
    x = sample_ensemble(
        np.random.default_rng(0), correlated, start, np.full(2, -1.0), np.full(2, 1.0), n_draws=6
    )
    assert np.all(x == 0)


def test_same_seed_same_draws():
    np.testing.assert_array_equal(run(n_draws=50), run(n_draws=50))
    assert not np.array_equal(run(n_draws=50), run(n_draws=50, seed=1))


def test_bad_starts_are_refused():
    rng, lower, upper = np.random.default_rng(0), np.full(2, -1.0), np.full(2, 1.0)
    with pytest.raises(ValueError, match="even number of at least 4, got 3"):
        sample_ensemble(rng, correlated, np.zeros((3, 2)), lower, upper, n_draws=1)
    with pytest.raises(ValueError, match="inside the box"):
        sample_ensemble(rng, correlated, np.full((4, 2), 2.0), lower, upper, n_draws=1)
