import numpy as np
import pytest
from helpers.native import in_numpy, needs_kernels, wrong_sizes
from hypothesis import given, settings
from hypothesis import strategies as st

from quell.native import kernels
from quell.space.edges import SDS, WEIGHTS, Edges

pytestmark = needs_kernels


@settings(deadline=None, max_examples=80)
@given(
    n_components=st.sampled_from([1, 2, 9, 50]),
    dimension=st.integers(1, 20),
    n_edges=st.integers(1, 40),
    sharpness=st.sampled_from([1e-3, 1.0, 30.0, 1e4, 1e8]),
    width=st.sampled_from([0.0, 1e-6, 1.0, 1e3]),
    seed=st.integers(0, 1000),
)
def test_expectation_is_that_of_the_formula(
    n_components, dimension, n_edges, sharpness, width, seed
):
    rng = np.random.default_rng(seed)
    slopes = sharpness * rng.normal(size=(n_edges, dimension))
    edges = Edges(slopes, sharpness * rng.normal(size=n_edges))
    means = rng.normal(size=(n_components, dimension))
    variances = width * rng.uniform(size=means.shape)
    ours = edges.expectation(means, variances)
    with in_numpy("quell.space.edges"):
        theirs = edges.expectation(means, variances)
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12 * np.abs(other).max())


def test_the_tails_of_one_edge_keep_their_digits():
    edge = Edges(np.array([[1.0]]), np.array([0.0]))
    means = np.linspace(-60.0, 60.0, 241)[:, None]
    ours = edge.expectation(means, np.zeros_like(means))
    with in_numpy("quell.space.edges"):
        theirs = edge.expectation(means, np.zeros_like(means))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-300)


def test_whole_numbers_and_no_edges_will_do():
    whole = Edges(np.array([[2]]), np.array([1]))
    real = Edges(np.array([[2.0]]), np.array([1.0]))
    for one, other in zip(
        whole.expectation(np.array([[1]]), np.array([[2]])),
        real.expectation(np.array([[1.0]]), np.array([[2.0]])),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    none = Edges(np.empty((0, 2)), np.empty(0))
    assert none.expectation(np.ones((3, 2)), np.ones((3, 2)))[0].tolist() == [0.0] * 3


def test_wrong_sizes_are_refused():
    arguments = (
        np.zeros(3 + 2 * 3 * 2), np.ones((3, 2)), np.ones((3, 2)), np.ones((4, 2)), np.ones(4),
        WEIGHTS, SDS,
    )  # fmt: skip
    kernels.edges_expectation(*arguments)
    for _, wrong in wrong_sizes(arguments, 7):
        with pytest.raises(ValueError, match="must hold"):
            kernels.edges_expectation(*wrong)


def test_numbers_of_another_type_are_refused():
    arguments = [np.zeros(3), np.ones(1), np.ones(1), np.ones(1), np.ones(1), WEIGHTS, SDS]
    arguments[3] = np.ones(1, dtype=np.int64)
    with pytest.raises(ValueError, match="argument 4 must hold doubles"):
        kernels.edges_expectation(*arguments)
