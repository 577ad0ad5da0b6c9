"""The compiled kernels behind predictions and the search for the next point, beside NumPy's."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.acquisition import make_situation, modest
from hypothesis import given
from hypothesis import strategies as st

from quell.acquisition import by_name
from quell.gp.gradients import LocalPrediction
from quell.gp.model import kernel
from quell.native import kernels

pytestmark = pytest.mark.skipif(
    kernels is None, reason="no compiled kernels: not built (python hatch_build.py) or turned off"
)
MODULES = ("gp.pairs", "gp.model", "gp.gradients", "acquisition.interquantile")
cases = st.builds(
    dict,
    dimension=st.integers(1, 20),
    n_samples=st.sampled_from([1, 3]),
    noise=st.sampled_from(["exact", "known", "unknown", "partly"]),
    pending=st.sampled_from([0, 2]),
    size=st.integers(2, 70),
    seed=st.integers(0, 1000),
)


def by_numpy(function):
    """What a function returns with all kernels off."""
    with pytest.MonkeyPatch.context() as patch:
        for module in MODULES:
            patch.setattr(f"quell.{module}.kernels", None)
        return function()


def assert_same(actual, expected, tolerance=1e-11):
    scale = max(1e-300, np.abs(expected).max())
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * scale)


@modest
@given(cases, st.integers(0, 40))
def test_kernel_is_that_of_numpy(arguments, n):
    gp = make_situation(**arguments).gp
    rng = np.random.default_rng(arguments["seed"])
    a = rng.normal(size=(n, gp.dimension)) * 10.0 ** rng.integers(-3, 4)
    for hyper in gp.samples:
        found, expected = kernel(hyper, a, gp.x), by_numpy(lambda h=hyper: kernel(h, a, gp.x))
        # Far away, where the exponent is some hundreds, its rounding is the relative error.
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-290)


def test_kernel_of_near_duplicates_transposed_points_and_whole_numbers():
    gp = make_situation(dimension=3, size=20).gp
    hyper = gp.hyper[0]
    for points in (gp.x + 1e-12, np.asfortranarray(gp.x), gp.x[::-2], np.ones((2, 3), dtype=int)):
        expected = by_numpy(lambda p=points: kernel(hyper, p, gp.x))
        np.testing.assert_allclose(kernel(hyper, points, gp.x), expected, rtol=1e-13)


@modest
@given(cases)
def test_local_prediction_is_that_of_numpy(arguments):
    gp = make_situation(**arguments).gp
    for x in np.random.default_rng(arguments["seed"]).normal(size=(3, gp.dimension)):
        found = LocalPrediction.at(gp, x)
        expected = by_numpy(lambda at=x: LocalPrediction.at(gp, at))
        condition = max(np.linalg.cond(factor) ** 2 for factor in gp.factors)
        tolerance = max(1e-12, 1e-15 * condition)
        assert_same(found.cross, expected.cross, 1e-12)
        assert_same(found.solved, expected.solved, tolerance)
        assert_same(found.mean, expected.mean, 1e-12)
        assert_same(found.variance, expected.variance, tolerance)


def test_a_variance_is_never_negative():
    gp = make_situation(size=40).gp
    spoilt = replace(gp, factors=0.5 * gp.factors)  # more is explained than there is
    for x in gp.x:
        np.testing.assert_array_equal(LocalPrediction.at(spoilt, x).variance, 0.0)


@pytest.mark.parametrize("name", ["wiqr", "viqr", "imiqr"])
@modest
@given(cases)
def test_score_and_gradient_are_those_of_numpy(name, arguments):
    situation = make_situation(**arguments)
    score = by_name(name).prepare(np.random.default_rng(0), situation)
    condition = max(np.linalg.cond(factor) ** 2 for factor in situation.gp.factors)
    for x in np.random.default_rng(arguments["seed"]).normal(size=(3, arguments["dimension"])):
        value, gradient = score.value_and_gradient(x)
        expected, slopes = by_numpy(lambda at=x: score.value_and_gradient(at))
        # What an observation takes off can be a small part of the variance, itself a difference.
        tolerance = max(1e-9, 1e-12 * condition)
        assert value == pytest.approx(expected, abs=tolerance)
        assert_same(gradient, slopes, tolerance)


def test_what_is_left_of_a_variance_is_never_negative():
    situation = make_situation()
    score = by_name("wiqr").prepare(np.random.default_rng(0), situation)
    score.sd *= 0.3  # as if rounding had spoilt it: an observation takes off more than there is
    for x in score.points[:20]:
        value, gradient = score.value_and_gradient(x)
        expected, slopes = by_numpy(lambda at=x: score.value_and_gradient(at))
        assert np.isfinite(expected)
        assert value == pytest.approx(expected, abs=1e-9)
        assert_same(gradient, slopes, 1e-7)


def test_no_reduction_is_minus_infinity():
    situation = make_situation()
    score = by_name("wiqr").prepare(np.random.default_rng(0), situation)
    far = np.full(situation.gp.dimension, 1e6)
    with np.errstate(all="ignore"):
        value, gradient = score.value_and_gradient(far)
    assert value == -np.inf
    np.testing.assert_array_equal(gradient, 0.0)


def good_calls():
    d, m, n, s = 2, 5, 4, 3
    shapes = [(n, m), (n, d), (m, d), d]
    yield "cross_kernel", [*map(np.ones, shapes), 1.0]
    shapes = [d, (m, d), (s, 3 * d + 3), (s, m, m), (s, m), s * (2 * m + 2)]
    yield "local_prediction", [*map(np.ones, shapes)]
    shapes = [d, (m, d), d, m, m, (n, d), (n, m), n, n, d]
    yield "lookahead", [*map(np.ones, shapes), 1.0, 1.0]


@pytest.mark.parametrize(("name", "arguments"), list(good_calls()))
def test_a_buffer_of_the_wrong_size_is_refused(name, arguments):
    call = getattr(kernels, name)
    call(*arguments)
    for position, argument in enumerate(arguments):
        if isinstance(argument, np.ndarray):
            for wrong in (np.append(argument, [0.0]), argument.ravel()[:-1].copy(), np.zeros(0)):
                with pytest.raises(ValueError, match="doubles"):
                    call(*arguments[:position], wrong, *arguments[position + 1 :])
