"""The divergence between normals: closed form, symmetry, invariance, Monte Carlo."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from quell.mixture.divergence import gaussian_skl

property_test = settings(max_examples=40, deadline=None)
seeds = st.integers(0, 2**32 - 1)


def random_normal(rng, dimension):
    root = rng.normal(size=(dimension, dimension))
    return rng.normal(size=dimension), root @ root.T + 0.3 * np.eye(dimension)


@pytest.mark.parametrize(
    ("m", "s", "n", "t"), [(0.0, 1.0, 0.0, 1.0), (1.0, 0.5, -2.0, 3.0), (4.0, 1e-3, 4.002, 2e-3)]
)
def test_one_dimension_by_the_textbook(m, s, n, t):
    def kl(m, s, n, t):
        return np.log(t / s) + (s**2 + (m - n) ** 2) / (2 * t**2) - 0.5

    skl = gaussian_skl(np.array([m]), np.array([[s**2]]), np.array([n]), np.array([[t**2]]))
    assert skl == pytest.approx(0.5 * (kl(m, s, n, t) + kl(n, t, m, s)), abs=1e-9)


@property_test
@given(seeds, st.integers(1, 5))
def test_symmetric_not_negative_and_zero_for_equals(seed, dimension):
    rng = np.random.default_rng(seed)
    a, b = random_normal(rng, dimension), random_normal(rng, dimension)
    assert gaussian_skl(*a, *b) == pytest.approx(gaussian_skl(*b, *a), rel=1e-9)
    assert gaussian_skl(*a, *b) > 0
    assert gaussian_skl(*a, *a) == pytest.approx(0, abs=1e-9)


@property_test
@given(seeds, st.integers(1, 4))
def test_invariant_under_affine_maps(seed, dimension):
    rng = np.random.default_rng(seed)
    a, b = random_normal(rng, dimension), random_normal(rng, dimension)
    matrix = rng.normal(size=(dimension, dimension)) + 3 * np.eye(dimension)
    shift = rng.normal(size=dimension)

    def moved(mean, covariance):
        return matrix @ mean + shift, matrix @ covariance @ matrix.T

    assert gaussian_skl(*moved(*a), *moved(*b)) == pytest.approx(gaussian_skl(*a, *b), rel=1e-6)


def test_against_monte_carlo():
    rng = np.random.default_rng(3)
    a, b = random_normal(rng, 3), random_normal(rng, 3)
    p, q = stats.multivariate_normal(*a), stats.multivariate_normal(*b)
    x, y = p.rvs(200_000, random_state=rng), q.rvs(200_000, random_state=rng)
    terms = 0.5 * (p.logpdf(x) - q.logpdf(x)) + 0.5 * (q.logpdf(y) - p.logpdf(y))
    error = terms.std() / np.sqrt(len(terms))
    assert abs(terms.mean() - gaussian_skl(*a, *b)) < 4 * error


def test_does_not_change_its_arguments():
    rng = np.random.default_rng(1)
    a, b = random_normal(rng, 2), random_normal(rng, 2)
    copies = [array.copy() for array in (*a, *b)]
    gaussian_skl(*a, *b)
    for array, copy in zip((*a, *b), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_a_singular_covariance_is_infinitely_far():
    flat = np.array([[1.0, 1.0], [1.0, 1.0 - 1e-12]])
    assert gaussian_skl(np.zeros(2), flat, np.zeros(2), np.eye(2)) == np.inf
    assert gaussian_skl(np.zeros(2), np.eye(2), np.zeros(2), flat) == np.inf
