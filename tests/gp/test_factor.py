import numpy as np
import pytest
from helpers.gp import modest
from hypothesis import given
from hypothesis import strategies as st

from quell.gp.factor import FactorisationError, extend_factor, factorise


def positive_definite(size, seed=0):
    root = np.random.default_rng(seed).normal(size=(size, size + 2))
    return root @ root.T + 0.1 * np.eye(size)


def lower_part(factor):
    return np.tril(factor)


@modest
@given(size=st.integers(1, 30), seed=st.integers(0, 1000))
def test_factor_times_its_transpose_is_the_matrix(size, seed):
    matrix = positive_definite(size, seed)
    factor, jitter = factorise(matrix)
    lower = lower_part(factor)
    assert jitter == 0.0
    assert (lower.diagonal() > 0).all()
    np.testing.assert_allclose(lower @ lower.T, matrix, atol=1e-13 * matrix.max(), rtol=1e-12)


def test_only_the_lower_triangle_is_read_and_the_input_is_left_alone():
    matrix = positive_definite(6)
    half = np.tril(matrix) + np.triu(np.full((6, 6), 77.0), 1)
    before = half.copy()
    factor, _ = factorise(half)
    np.testing.assert_array_equal(half, before)
    np.testing.assert_allclose(lower_part(factor), np.linalg.cholesky(matrix), rtol=1e-12)


def test_out_receives_the_factor_and_may_be_used_again():
    out = np.full((6, 6), np.nan, order="F")
    for seed in (1, 2):
        matrix = positive_definite(6, seed)
        factor, _ = factorise(matrix, out=out)
        assert np.shares_memory(factor, out)
        np.testing.assert_allclose(lower_part(out), np.linalg.cholesky(matrix), rtol=1e-12)


@pytest.mark.parametrize("variance", [1e-8, 1.0, 1e12])
def test_a_singular_matrix_gets_the_least_jitter_that_helps(variance):
    matrix = np.full((20, 20), variance)
    factor, jitter = factorise(matrix)
    assert 0 < jitter <= 1e-8 * variance
    lower = lower_part(factor)
    np.testing.assert_allclose(
        lower @ lower.T, matrix + jitter * np.eye(20), rtol=1e-14, atol=0.01 * jitter
    )


def test_jitter_grows_until_it_covers_a_negative_eigenvalue():
    matrix = np.diag([4.0, 1.0, -1e-9])
    _, jitter = factorise(matrix)
    assert 1e-9 < jitter <= 4e-8


def test_out_of_a_failed_try_is_started_over():
    out = np.zeros((20, 20), order="F")
    _, jitter = factorise(np.ones((20, 20)), out=out)
    lower = lower_part(out)
    np.testing.assert_allclose(lower @ lower.T, np.ones((20, 20)) + jitter * np.eye(20), rtol=1e-14)


@pytest.mark.parametrize(
    "matrix",
    [
        np.diag([1.0, -1.0, 2.0]),
        np.diag([1.0, -2e-8]),
        np.array([[1.0, 2.0], [2.0, 1.0]]),
        np.array([[1.0, np.nan], [np.nan, 1.0]]),
        np.diag([np.nan, 1.0]),
        np.diag([1.0, np.nan]),
        np.diag([1.0, np.inf]),
        np.array([[1.0, np.inf], [np.inf, 1.0]]),
        np.zeros((3, 3)),
    ],
    ids=lambda matrix: str(matrix.tolist()),
)
def test_hopeless_matrices_raise(matrix):
    with pytest.raises(FactorisationError, match=r"not positive definite, even with a jitter"):
        factorise(matrix)


def test_the_error_is_a_linear_algebra_error():
    assert issubclass(FactorisationError, np.linalg.LinAlgError)


@modest
@given(size=st.integers(1, 25), more=st.integers(1, 8), seed=st.integers(0, 1000))
def test_extended_factor_is_the_factor_of_the_bordered_matrix(size, more, seed):
    bordered = positive_definite(size + more, seed)
    factor, _ = factorise(bordered[:size, :size])
    rows, own = extend_factor(factor, bordered[:size, size:], bordered[size:, size:])
    expected = np.linalg.cholesky(bordered)[size:]
    np.testing.assert_allclose(np.hstack([rows.T, own]), expected, rtol=1e-10, atol=1e-12)


def test_extension_gives_up_where_rounding_eats_a_pivot():
    matrix = positive_definite(5)
    factor, _ = factorise(matrix)
    column, variance = matrix[:, [2]].copy(), matrix[2, 2]
    for own in (variance, variance * (1 - 1e-6), np.nan):
        assert extend_factor(factor, column, np.array([[own]])) is None
    _, pivot = extend_factor(factor, column, np.array([[variance + 1e-4]]))
    assert pivot[0, 0] == pytest.approx(1e-2, rel=1e-6)
    twice = np.full((2, 2), variance + 1.0)  # the same new point, twice, without noise
    assert extend_factor(factor, matrix[:, [2, 2]], twice) is None
