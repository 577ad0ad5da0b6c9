import numpy as np
import pytest
from helpers.native import (
    KINDS,
    ROUNDING,
    assert_same,
    in_numpy,
    needs_kernels,
    odd_mixture,
    wrong_sizes,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from quell.mixture import entropy, normal_base_sample
from quell.native import kernels

pytestmark = needs_kernels
MODULE = "quell.mixture.entropy"


def largest_exponent(q):
    """Of this size are the terms that cancel in a log density."""
    offsets = (q.means[:, None, :] - q.means) / q.lengths / q.scales[:, None]
    ratio = q.scales[:, None] / q.scales
    return (offsets**2).sum(axis=2).max() + (ratio**2).max() * q.dimension


@settings(deadline=None, max_examples=60)
@given(
    kind=st.sampled_from(KINDS),
    n_components=st.sampled_from([1, 2, 3, 7, 20, 50]),
    dimension=st.integers(1, 20),
    n=st.sampled_from([1, 2, 15, 16, 100, 257, 300]),
    seed=st.integers(0, 1000),
)
def test_value_and_gradient_are_those_of_the_formula(kind, n_components, dimension, n, seed):
    q = odd_mixture(n_components, dimension, kind, seed)
    base = np.random.default_rng(seed).normal(size=(n, dimension))
    ours = entropy(q, base, gradient=True)
    alone = entropy(q, base)
    with in_numpy(MODULE):
        theirs = entropy(q, base, gradient=True)
    assert_same(ours, theirs, q, ROUNDING + 1e-15 * largest_exponent(q))
    assert alone == ours[0]


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in ("apart", "unequal")])
@pytest.mark.parametrize(("n_components", "dimension"), [(2, 1), (5, 6), (50, 15)])
def test_single_precision_is_that_of_the_formula(kind, n_components, dimension):
    q = odd_mixture(n_components, dimension, kind)
    base = normal_base_sample(128, dimension, np.random.default_rng(1))
    ours = entropy(q, base, gradient=True, single=True)
    with in_numpy(MODULE):
        theirs = entropy(q, base, gradient=True, single=True)
    assert_same(ours, theirs, q, 1e-6)


def test_where_the_formula_is_not_finite_the_kernel_is_not_either():
    q = odd_mixture(3, 2, "plain")
    wide = type(q)(q.weights, 1e200 * q.means, q.scales, q.lengths)
    base = np.random.default_rng(0).normal(size=(20, 2))
    with np.errstate(all="ignore"), in_numpy(MODULE):
        expected = entropy(wide, base)
    assert np.isfinite(entropy(wide, base)) == np.isfinite(expected)


def arguments(gradient=True):
    q = odd_mixture(3, 2, "plain")
    slope = np.zeros(3 * 2 + 3 + 2 + 3 if gradient else 0)
    return (slope, q.weights, q.means, q.scales, q.lengths, np.ones((2, 16)), False)


def test_wrong_sizes_are_refused():
    assert np.isfinite(kernels.entropy(*arguments()))
    for i, wrong in wrong_sizes(arguments(), 6):
        with pytest.raises(ValueError, match="must hold"):
            kernels.entropy(*wrong)
        assert i >= 0


@pytest.mark.parametrize("i", range(1, 6))
def test_empty_arrays_are_refused(i):
    given_ = list(arguments())
    given_[i] = np.empty(0)
    with pytest.raises(ValueError, match="must"):
        kernels.entropy(*given_)


def test_arrays_that_are_not_contiguous_or_not_writable_are_refused():
    slope, weights, means, *rest = arguments()
    with pytest.raises(ValueError, match="contiguous"):
        kernels.entropy(slope, weights, np.asfortranarray(means), *rest)
    slope.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        kernels.entropy(slope, weights, means, *rest)


def test_the_number_of_arguments_is_checked():
    with pytest.raises(TypeError, match="takes 7 arguments, got 6"):
        kernels.entropy(*arguments()[:-1])
