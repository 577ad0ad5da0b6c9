"""Whitening: the rotation and the scales that make a covariance the identity."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quell.space.linear import check_covariance, check_linear, whitening

property_test = settings(max_examples=60, deadline=None)
seeds = st.integers(0, 2**32 - 1)


def random_covariance(rng, dimension, spread=1.0):
    """Strongly correlated, with standard deviations over some decades."""
    factor = rng.standard_normal((dimension, dimension))
    scales = 10.0 ** rng.uniform(-spread, spread, dimension)
    covariance = factor @ factor.T + 0.1 * np.eye(dimension)
    return covariance * np.outer(scales, scales)


def after(covariance, rotation, scales):
    """Covariance of x = (v R)/s."""
    return rotation.T @ covariance @ rotation / np.outer(scales, scales)


def correlated(rho):
    return np.array([[1.0, rho], [rho, 4.0 * 1.0]]) * np.array([[1.0, 2.0], [2.0, 1.0]])


@property_test
@given(seeds, st.integers(1, 8))
def test_whitening_gives_unit_variances_and_a_rotation(seed, dimension):
    covariance = random_covariance(np.random.default_rng(seed), dimension)
    rotation, scales = whitening(covariance)
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(dimension), atol=1e-13)
    assert np.linalg.det(rotation) > 0
    assert (scales > 0).all()
    np.testing.assert_allclose(np.diag(after(covariance, rotation, scales)), 1.0, rtol=1e-10)


@pytest.mark.parametrize("dimension", [2, 3, 6, 10])
def test_whitening_is_exact_when_no_correlation_is_negligible(dimension):
    rng = np.random.default_rng(dimension)
    deviations = 10.0 ** rng.uniform(-2, 2, dimension)
    signs = rng.choice([-1.0, 1.0], dimension)
    correlation = np.full((dimension, dimension), 0.4) + rng.uniform(0, 0.01, (dimension,) * 2)
    correlation = (correlation + correlation.T) / 2
    np.fill_diagonal(correlation, 1.0)
    covariance = correlation * np.outer(deviations * signs, deviations * signs)
    result = after(covariance, *whitening(covariance))
    np.testing.assert_allclose(result, np.eye(dimension), atol=1e-9)


def test_whitening_copes_with_very_different_scales():
    scales = np.array([1e-6, 1.0, 1e4])
    correlation = np.array([[1, 0.7, -0.3], [0.7, 1, 0.2], [-0.3, 0.2, 1]])
    covariance = correlation * np.outer(scales, scales)
    result = after(covariance, *whitening(covariance))
    np.testing.assert_allclose(result, np.eye(3), atol=1e-5)


def test_uncorrelated_coordinates_are_only_rescaled():
    rotation, scales = whitening(np.diag([9.0, 1.0, 4.0, 1.0]))
    np.testing.assert_array_equal(rotation, np.eye(4))
    np.testing.assert_array_equal(scales, [3.0, 1.0, 2.0, 1.0])


@pytest.mark.parametrize(("rho", "rotated"), [(0.049, False), (-0.049, False), (0.051, True)])
def test_small_correlations_do_not_turn_the_axes(rho, rotated):
    covariance = correlated(rho)
    rotation, scales = whitening(covariance)
    assert np.array_equal(rotation, np.eye(2)) != rotated
    result = after(covariance, rotation, scales)
    np.testing.assert_allclose(np.diag(result), 1.0, rtol=1e-12)
    np.testing.assert_allclose(result[0, 1], 0.0 if rotated else rho, atol=1e-12)


def test_thresholding_is_skipped_when_it_would_make_the_matrix_indefinite():
    # x2 and x3 are nearly uncorrelated, yet both strongly correlated with x1
    covariance = np.array([[1.0, 0.72, 0.72], [0.72, 1.0, 0.045], [0.72, 0.045, 1.0]])
    assert np.linalg.eigvalsh(covariance)[0] > 0
    assert np.linalg.eigvalsh(np.where(abs(covariance) > 0.05, covariance, 0))[0] < 0
    result = after(covariance, *whitening(covariance))
    np.testing.assert_allclose(result, np.eye(3), atol=1e-10)


@property_test
@given(seeds)
def test_permuting_the_coordinates_permutes_the_axes(seed):
    rng = np.random.default_rng(seed)
    covariance = random_covariance(rng, 5)
    order = rng.permutation(5)
    rotation, scales = whitening(covariance)
    permuted, permuted_scales = whitening(covariance[np.ix_(order, order)])
    np.testing.assert_allclose(permuted_scales, scales[order], rtol=1e-8)
    np.testing.assert_allclose(permuted, rotation[np.ix_(order, order)], atol=1e-7)


def test_axes_that_would_make_a_reflection_are_turned_into_a_rotation():
    """Rare (about one in a hundred for eight coordinates): one axis then points backwards."""
    rng = np.random.default_rng(0)
    backwards = 0
    for _ in range(300):
        factor, _ = np.linalg.qr(rng.standard_normal((8, 8)))
        covariance = factor * np.arange(1.0, 9.0) ** 2 @ factor.T
        covariance = (covariance + covariance.T) / 2
        rotation, _ = whitening(covariance)
        assert np.linalg.det(rotation) > 0
        if (np.diag(rotation) < 0).any():
            backwards += 1
            order = rng.permutation(8)
            permuted, _ = whitening(covariance[np.ix_(order, order)])
            np.testing.assert_allclose(permuted, rotation[np.ix_(order, order)], atol=1e-7)
    assert backwards > 0


@pytest.mark.parametrize(
    ("covariance", "says"),
    [
        (np.eye(3), "covariance must have shape (n, 2), got (3, 3)"),
        (np.ones((3, 2)), "covariance must have shape (2, 2), got (3, 2)"),
        ([[1, np.nan], [np.nan, 1]], "covariance[0, 1] must be finite, got nan"),
        ([[1, 0], [0, -2]], "covariance[1, 1] is a variance and must be positive, got -2"),
        ([[1, 0], [0, 0]], "covariance[1, 1] is a variance and must be positive, got 0"),
        ([[1, 0.5], [0.4, 1]], "covariance must be symmetric"),
        ([[1, 1], [1, 1]], "covariance must be positive definite"),
        ([[1, 2], [2, 1]], "smallest eigenvalue of its correlation matrix is -1 "),
    ],
)
def test_covariances_that_are_refused(covariance, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        check_covariance(covariance, 2)


@pytest.mark.parametrize(
    ("rotation", "scales", "says"),
    [
        (np.eye(3), [1, 1], "rotation must have shape (n, 2), got (3, 3)"),
        (np.ones((3, 2)), [1, 1], "rotation must be an orthogonal (2, 2) matrix, got shape (3, 2)"),
        (2 * np.eye(2), [1, 1], "largest entry of |RᵀR - I| = 3"),
        (np.diag([1, -1]), [1, 1], "rotation must have determinant +1, got -1 (flip"),
        (np.eye(2), [1, 0], "scales[1] must be positive and finite, got 0"),
        (np.eye(2), [np.inf, 1], "scales[0] must be positive and finite, got inf"),
        (np.eye(2), [1, 1, 1], "scales must have shape (2,), got (3,)"),
    ],
)
def test_linear_maps_that_are_refused(rotation, scales, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        check_linear(rotation, scales, 2)
