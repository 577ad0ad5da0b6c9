import numpy as np
import pytest
from helpers.gp import modest
from hypothesis import given
from hypothesis import strategies as st

from quell.gp.pooling import between_divisor, between_variance, pooled_mean


def case(n_samples, seed, shape=(4, 3)):
    rng = np.random.default_rng([seed, n_samples])
    return rng.normal(size=(n_samples, *shape)), rng.dirichlet(np.ones(n_samples))


@modest
@given(n_samples=st.integers(1, 9), seed=st.integers(0, 100))
def test_the_mean_is_the_weighted_sum(n_samples, seed):
    values, weights = case(n_samples, seed)
    expected = sum(w * v for w, v in zip(weights, values, strict=True))
    np.testing.assert_allclose(pooled_mean(values, weights), expected, rtol=1e-12, atol=1e-14)


@modest
@given(n_samples=st.integers(2, 9), seed=st.integers(0, 100))
def test_the_variance_is_the_weighted_formula(n_samples, seed):
    values, weights = case(n_samples, seed)
    centre = sum(w * v for w, v in zip(weights, values, strict=True))
    spread = sum(w * (v - centre) ** 2 for w, v in zip(weights, values, strict=True))
    expected = spread / (1 - sum(w**2 for w in weights))
    np.testing.assert_allclose(between_variance(values, weights), expected, rtol=1e-9)


def test_equal_weights_give_the_sample_variance():
    values, _ = case(7, 0)
    np.testing.assert_allclose(
        between_variance(values, np.full(7, 1 / 7)), values.var(axis=0, ddof=1), rtol=1e-12
    )


def test_the_variance_is_unbiased_for_unequal_weights():
    values = 2.0 * np.random.default_rng(0).normal(size=(4, 50_000))
    estimate = between_variance(values, np.array([0.55, 0.25, 0.15, 0.05])).mean()
    assert estimate == pytest.approx(4.0, rel=0.03)


def test_one_sample_has_no_variance_between():
    values, weights = case(1, 0)
    np.testing.assert_array_equal(between_variance(values, weights), np.zeros((4, 3)))


def test_all_weight_on_one_sample_gives_zero_and_not_nan():
    values, _ = case(3, 0)
    weights = np.array([0.0, 1.0, 0.0])
    np.testing.assert_array_equal(between_variance(values, weights), np.zeros((4, 3)))
    assert between_divisor(weights) > 0


def test_a_large_common_offset_does_not_swamp_the_variance():
    values, weights = case(5, 0)
    np.testing.assert_allclose(
        between_variance(values - 1e6, weights), between_variance(values, weights), rtol=1e-7
    )
