import numpy as np
import pytest
from scipy import stats

from quell.gp.hmc import State, first_step, move, sample_chain

MEAN = np.array([1.0, -2.0, 0.5])
COVARIANCE = np.array([[4.0, 1.5, -0.5], [1.5, 1.0, 0.1], [-0.5, 0.1, 0.5]])
PRECISION = np.linalg.inv(COVARIANCE)
# A root that is neither symmetric nor triangular, as Laplace's are not.
_VALUES, _VECTORS = np.linalg.eigh(COVARIANCE)
ROOT = _VECTORS * np.sqrt(_VALUES)


def correlated_normal(u):
    gradient = -PRECISION @ (u - MEAN)
    return 0.5 * float((u - MEAN) @ gradient), gradient


def skewed(u):
    """Independent Gumbel variables."""
    return float(-(u + np.exp(-u)).sum()), -1.0 + np.exp(-u)


def half_normal(u):
    if (u <= 0).any():
        return -np.inf, np.zeros_like(u)
    return -0.5 * float(u @ u), -u


def state_at(target, u):
    return State(u, *target(u))


def run(target, start, root, seed=0, **settings):
    settings = {"n_draws": 3000, "burn_in": 200, "thin": 2, **settings}
    return sample_chain(
        np.random.default_rng(seed), target, state_at(target, np.array(start)), root, **settings
    )


@pytest.mark.parametrize("root", [ROOT, 0.7 * np.eye(3)], ids=["whitened", "plain"])
def test_a_chain_has_the_mean_and_covariance_of_a_correlated_normal(root):
    draws = run(correlated_normal, MEAN, root, thin=3).draws
    sd = np.sqrt(COVARIANCE.diagonal())
    np.testing.assert_allclose((draws.mean(axis=0) - MEAN) / sd, 0.0, atol=0.15)
    np.testing.assert_allclose(
        np.cov(draws.T) / np.outer(sd, sd), COVARIANCE / np.outer(sd, sd), atol=0.2
    )


@pytest.mark.parametrize(
    ("target", "law", "step"),
    [
        (skewed, stats.gumbel_r, 0.4),
        (skewed, stats.gumbel_r, 0.9),
        (half_normal, stats.halfnorm, 0.15),
    ],
)
def test_one_move_leaves_the_target_invariant(target, law, step):
    rng = np.random.default_rng(1)
    root = np.array([[1.2, 0.4], [-0.3, 0.9]])
    starts = law.rvs(size=(4000, 2), random_state=rng)
    moved, acceptance = zip(
        *(move(rng, target, state_at(target, u), root, step) for u in starts), strict=True
    )
    ends = np.array([state.u for state in moved])
    assert 0.1 < np.mean(acceptance) < 0.99
    assert np.mean((ends != starts).all(axis=1)) == pytest.approx(np.mean(acceptance), abs=0.03)
    for i in range(2):
        assert stats.kstest(ends[:, i], law.cdf).pvalue > 1e-3
    assert abs(np.corrcoef(ends.T)[0, 1]) < 0.06


def test_the_metropolis_test_corrects_a_large_step():
    # Leapfrog alone would give a variance of 1 / (1 - step² / 4) or so.
    def standard(u):
        return -0.5 * float(u @ u), -u

    chain = run(standard, np.zeros(4), np.eye(4), n_draws=4000, burn_in=0, step=1.4)
    assert chain.acceptance < 0.85
    assert np.mean(chain.draws**2) == pytest.approx(1.0, abs=0.08)


def test_small_steps_conserve_the_energy():
    rng = np.random.default_rng(2)
    acceptance = [
        move(rng, correlated_normal, state_at(correlated_normal, u), ROOT, 0.1)[1]
        for u in rng.multivariate_normal(MEAN, COVARIANCE, 200)
    ]
    assert np.mean(acceptance) > 0.99
    assert max(acceptance) <= 1.0


def test_moves_travel_along_the_target_and_not_only_around_the_start():
    draws = run(correlated_normal, MEAN, ROOT).draws
    sd = np.sqrt(COVARIANCE.diagonal())
    lag_one = [np.corrcoef(draws[1:, i], draws[:-1, i])[0, 1] for i in range(3)]
    assert max(lag_one) < 0.9
    assert (np.ptp(draws, axis=0) > 4 * sd).all()


def test_the_returned_state_carries_its_own_value_and_gradient():
    rng = np.random.default_rng(3)
    state = state_at(correlated_normal, MEAN + 1.0)
    for _ in range(20):
        state, _ = move(rng, correlated_normal, state, ROOT, 0.5)
        value, gradient = correlated_normal(state.u)
        assert state.value == value
        np.testing.assert_array_equal(state.gradient, gradient)


def test_a_region_of_density_zero_is_never_entered():
    chain = run(half_normal, [0.5, 1.0], np.eye(2), n_draws=1000)
    assert (chain.draws > 0).all()
    assert (np.ptp(chain.draws, axis=0) > 1.0).all()


def test_a_hopeless_step_stays_where_it_was():
    rng = np.random.default_rng(0)
    state = state_at(correlated_normal, MEAN)
    new, acceptance = move(rng, correlated_normal, state, ROOT, 1e3)
    assert new is state
    assert acceptance == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("factor", [0.1, 1.0, 10.0])
def test_adaptation_brings_the_acceptance_into_range(factor):
    chain = run(correlated_normal, MEAN, factor * ROOT, n_draws=500, burn_in=300)
    assert 0.5 < chain.acceptance < 0.98
    assert 0.2 < chain.step * factor < 3.0


@pytest.mark.parametrize("step", [0.1, 10.0])
def test_adaptation_recovers_from_a_bad_remembered_step(step):
    chain = run(correlated_normal, MEAN, ROOT, n_draws=500, burn_in=300, step=step)
    assert 0.5 < chain.acceptance < 0.98


def test_without_burn_in_the_given_step_is_kept():
    chain = run(correlated_normal, MEAN, ROOT, n_draws=3, burn_in=0, step=0.3)
    assert chain.step == pytest.approx(0.3)
    assert chain.draws.shape == (3, 3)


def test_chains_repeat_with_the_generator_and_differ_without():
    first, second, other = (
        run(correlated_normal, MEAN, ROOT, seed, n_draws=20, burn_in=10) for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(first.draws, second.draws)
    assert (first.step, first.acceptance) == (second.step, second.acceptance)
    assert not np.array_equal(first.draws, other.draws)


def test_the_first_step_suits_a_standard_normal_of_any_dimension():
    rng = np.random.default_rng(0)

    def standard(u):
        return -0.5 * float(u @ u), -u

    for size in (1, 6, 20, 50):
        acceptance = [
            move(rng, standard, state_at(standard, u), np.eye(size), first_step(size))[1]
            for u in rng.normal(size=(100, size))
        ]
        assert 0.5 < np.mean(acceptance) < 0.999, size
