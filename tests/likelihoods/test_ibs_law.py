import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import polygamma, psi, spence
from scipy.stats import ks_2samp

from quell.likelihoods import ibs_from_log_probabilities
from quell.likelihoods.ibs_law import harmonic_sums, sd_or_one_miss


def repeated(log_p, n, seed=1, **arguments):
    """n independent pairs (value, SD), as columns."""
    rng = np.random.default_rng(seed)
    return np.array([ibs_from_log_probabilities(log_p, rng=rng, **arguments) for _ in range(n)]).T


@given(st.integers(0, 10**12))
def test_harmonic_sums_are_those_of_the_digamma_functions(misses):
    first, second = harmonic_sums(np.array([misses]))
    k = misses + 1.0
    assert first[0] == pytest.approx(psi(k) - psi(1.0), abs=1e-11)
    assert second[0] == pytest.approx(float(polygamma(1, 1.0) - polygamma(1, k)), abs=1e-11)


def test_harmonic_sums_where_the_table_ends():
    misses = np.arange(1000)
    first, second = harmonic_sums(misses)
    steps = 1.0 / misses[1:]
    np.testing.assert_allclose(np.diff(first), steps, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.diff(second), steps**2, rtol=0, atol=1e-12)


@pytest.mark.parametrize("p", [0.9, 0.5, 0.1, 0.01, 1e-4, 1e-9, 1e-20, 1e-300])
def test_values_are_unbiased_and_variances_right(p):
    """E[l] = log p and Var[l] = E[v] = Li₂(1 − p), whichever way the draws were made."""
    repeats, n = 7, 1500
    value, sd = repeated(np.log([p]), n, repeats=repeats)
    variance = spence(p) / repeats  # SciPy's spence(p) is Li₂(1 − p)
    assert abs(value.mean() - np.log(p)) < 4 * np.sqrt(variance / n)
    assert value.var() == pytest.approx(variance, rel=0.25)
    no_miss = sd == 1 / repeats  # reported as one miss where there was none
    assert np.mean(np.where(no_miss & (value == 0), 0.0, sd**2)) == pytest.approx(variance, rel=0.2)


def test_a_log_probability_below_the_smallest_float():
    value, sd = repeated([-5000.0], 2000, repeats=1)
    assert abs(value.mean() + 5000.0) < 4 * np.sqrt(np.pi**2 / 6 / 2000)
    np.testing.assert_allclose(sd, np.pi / np.sqrt(6))


@pytest.mark.parametrize("p", [0.6, 0.03, 0.002])
def test_the_law_is_that_of_geometric_draws(p):
    repeats, n, rng = 3, 1500, np.random.default_rng(2)
    value, sd = repeated(np.log([p, 0.5]), n, repeats=repeats)
    k = np.stack([rng.geometric(q, (n, repeats)) for q in (p, 0.5)])
    by_hand = (psi(1.0) - psi(k)).sum((0, 2)) / repeats
    sd_by_hand = np.sqrt((polygamma(1, 1.0) - polygamma(1, k)).sum((0, 2))) / repeats
    sd_by_hand[sd_by_hand == 0] = 1 / repeats
    for ours, theirs in ((value, by_hand), (sd, sd_by_hand)):
        # Rounded, since equal values come out of different sums.
        assert ks_2samp(ours.round(9), theirs.round(9)).pvalue > 0.01


def test_counts_stand_for_equal_trials():
    log_p, counts = np.log([0.7, 0.2, 0.001]), np.array([5, 0, 2])
    grouped = repeated(log_p, 1000, repeats=2, counts=counts)
    single = repeated(np.repeat(log_p, counts), 1000, seed=2, repeats=2)
    for ours, theirs in zip(grouped, single, strict=True):
        assert ks_2samp(ours.round(9), theirs.round(9)).pvalue > 0.01


@pytest.mark.parametrize("log_p", [-0.7, -4.0, -9.0, -50.0])
def test_a_large_data_set_is_drawn_by_levels(log_p):
    """The same law where one binomial draw stands for many repeats."""
    value, sd = repeated(np.full(100, log_p), 60, repeats=300)
    spread = np.sqrt(100 * spence(np.exp(log_p)) / 300)
    np.testing.assert_allclose(sd, spread, rtol=0.1)
    assert abs(value.mean() - 100 * log_p) < 4 * spread / np.sqrt(60)
    assert value.std() == pytest.approx(spread, rel=0.4)


def test_z_scores_of_a_data_set_are_standard():
    log_p = np.log(np.random.default_rng(3).beta(2, 2, size=200))
    value, sd = repeated(log_p, 1500, repeats=10)
    z = (value - log_p.sum()) / sd
    assert abs(z.mean()) < 0.09
    assert 0.95 < z.std() < 1.05


def test_certain_and_impossible_responses():
    rng = np.random.default_rng(4)
    assert ibs_from_log_probabilities([0.0, 0.0], repeats=4, rng=rng) == (0.0, 0.25)
    value, sd = ibs_from_log_probabilities([-np.inf, -0.1], repeats=4, rng=rng)
    assert value == -np.inf
    assert 0 < sd < np.inf
    value, _ = ibs_from_log_probabilities([-np.inf, -0.1], repeats=4, rng=rng, counts=[0, 1])
    assert np.isfinite(value)
    # Rounding errors of a model's own sums are forgiven.
    for almost in (1e-12, -1e-17, -1e-300):
        assert ibs_from_log_probabilities([almost], repeats=4, rng=rng)[0] == 0.0


def test_many_equal_trials_do_not_need_memory_for_each(monkeypatch):
    monkeypatch.setattr("quell.likelihoods.ibs_law._CHUNK", 100)
    value, sd = ibs_from_log_probabilities(
        np.log([1e-6, 1e-30]), repeats=5, rng=np.random.default_rng(5), counts=[333, 444]
    )
    exact = 333 * np.log(1e-6) + 444 * np.log(1e-30)
    assert abs(value - exact) < 4 * sd
    assert sd == pytest.approx(np.sqrt(777 / 5 * np.pi**2 / 6), rel=1e-3)


@pytest.mark.parametrize(
    ("log_p", "arguments", "says"),
    [
        ([0.5], {}, r"log_p\[0\] must be the logarithm of a probability"),
        ([-1.0, np.nan], {}, r"log_p\[1\]"),
        ([[-1.0]], {}, r"shape \(n,\)"),
        (["a"], {}, "real numbers"),
        ([-1.0], {"repeats": 0}, "repeats must be a positive integer"),
        ([-1.0], {"repeats": 2.5}, "repeats"),
        ([-1.0], {"counts": [1, 2]}, r"counts must have shape \(1,\)"),
        ([-1.0], {"counts": [-1]}, "whole numbers"),
        ([-1.0], {"counts": [0.5]}, "whole numbers"),
    ],
)
def test_bad_input(log_p, arguments, says):
    rng = np.random.default_rng(1)
    with pytest.raises(ValueError, match=says):
        ibs_from_log_probabilities(log_p, **{"repeats": 3, "rng": rng} | arguments)


def test_a_seed_is_not_a_generator():
    with pytest.raises(TypeError, match="default_rng"):
        ibs_from_log_probabilities([-1.0], repeats=3, rng=1)


def test_sd_without_a_miss_is_that_of_one():
    assert sd_or_one_miss(4.0, 10) == 2.0
    assert sd_or_one_miss(0.0, 10, weight=3.0) == 0.3
