"""The compiled likelihood of the surrogate and density of its hyperparameters, beside NumPy's."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from helpers.gp import NOISES, make_data, make_theta, modest
from hypothesis import given
from hypothesis import strategies as st

from quell.gp import FactorisationError, HyperparameterPrior, TrainingData
from quell.gp.factor import factorise
from quell.gp.hyperposterior import Hyperposterior
from quell.gp.marginal import MarginalLikelihood
from quell.gp.model import kernel, mean_function
from quell.gp.pairs import Pairs
from quell.native import kernels

pytestmark = pytest.mark.skipif(
    kernels is None, reason="no compiled kernels: not built (python hatch_build.py) or turned off"
)
noises = pytest.mark.parametrize("noise", NOISES)
cases = given(
    dimension=st.integers(1, 20),
    size=st.integers(2, 70),
    noise=st.sampled_from(NOISES),
    seed=st.integers(0, 10_000),
)


def by_numpy(marginal, theta, monkeypatch):
    """Value and gradient with all kernels off."""
    with monkeypatch.context() as patch:
        patch.setattr("quell.gp.marginal.kernels", None)
        patch.setattr("quell.gp.pairs.kernels", None)
        return marginal(theta)


def condition_number(marginal, theta):
    lower = marginal.pairs.covariance(marginal.layout.unpack(theta), marginal.data.variance)
    return np.linalg.cond(lower + np.tril(lower, -1).T)


def assert_same(actual, expected, condition=1.0):
    """Equal to 1e-11, or to what rounding leaves of a badly conditioned covariance."""
    tolerance = max(1e-11, 1e-14 * condition)
    assert actual[0] == pytest.approx(expected[0], rel=tolerance, abs=tolerance)
    scale = max(1.0, np.abs(expected[1]).max())
    np.testing.assert_allclose(actual[1], expected[1], rtol=tolerance, atol=tolerance * scale)


@modest
@cases
def test_marginal_likelihood_is_that_of_numpy(dimension, size, noise, seed):
    marginal = MarginalLikelihood(make_data(dimension, size, noise, seed))
    theta = make_theta(marginal.data, seed)
    with pytest.MonkeyPatch.context() as patch:
        expected = by_numpy(marginal, theta, patch)
    found = marginal(theta)
    assert_same(found, expected, condition_number(marginal, theta))
    assert marginal.value(theta) == found[0]


# Sizes on both sides of where the inversion is split, and odd ones.
@pytest.mark.parametrize("size", [1, 2, 8, 23, 24, 25, 48, 49, 97, 200, 351])
@noises
def test_all_sizes_of_the_training_set(size, noise, monkeypatch):
    marginal = MarginalLikelihood(make_data(2, size, noise))
    theta = make_theta(marginal.data)
    theta[:2] -= 1.0  # short lengths: well conditioned
    assert_same(marginal(theta), by_numpy(marginal, theta, monkeypatch))


@pytest.mark.parametrize("lack", [5e-13, 5e-12, 5e-11, 5e-10, 5e-9])
def test_a_singular_covariance_gets_the_same_jitter(lack, monkeypatch):
    """Points that coincide or nearly do, and a variance that lacks a little: another rung each."""
    data = make_data(3, 30, "exact")
    theta = make_theta(data)
    theta[4] = -30.0
    x = np.repeat(data.x[:10], 3, axis=0)
    x[::3] += 1e-9
    data = TrainingData(x, data.y, np.full(30, -lack * np.exp(2 * theta[3])))
    marginal = MarginalLikelihood(data)
    _, jitter = factorise(marginal.pairs.covariance(marginal.layout.unpack(theta), data.variance))
    assert jitter > lack * np.exp(2 * theta[3])
    # Rounding is magnified by the inverse of what the jitter leaves, less than 1e13.
    assert_same(marginal(theta), by_numpy(marginal, theta, monkeypatch), 1.0 / lack)


@pytest.mark.parametrize(
    ("entry", "value"),
    [("lengths", np.nan), ("output_scale", np.nan), ("output_scale", 400.0), ("base_noise", 400.0)],
)
def test_what_has_no_factor_fails_as_with_numpy(entry, value, monkeypatch):
    marginal = MarginalLikelihood(make_data(2, 9, "known"))
    theta = make_theta(marginal.data)
    theta[getattr(marginal.layout, entry)] = value
    with np.errstate(all="ignore"):
        with pytest.raises(FactorisationError) as expected:
            by_numpy(marginal, theta, monkeypatch)
        for call in (marginal, marginal.value):
            with pytest.raises(FactorisationError) as caught:
                call(theta)
            assert str(caught.value) == str(expected.value)


def test_values_that_overflow_have_density_zero():
    data = make_data(2, 9, "known")
    marginal = MarginalLikelihood(TrainingData.from_arrays(data.x, 1e200 * data.y, 1.0))
    assert not np.isfinite(marginal(make_theta(data))[0])
    target = Hyperposterior(marginal, HyperparameterPrior.for_data(data))
    density, gradient = target(target.prior.unconstrain(target.prior.start))
    assert density == -np.inf
    np.testing.assert_array_equal(gradient, np.zeros(9))


@modest
@cases
def test_hyperposterior_is_that_of_numpy(dimension, size, noise, seed):
    target = make_target(make_data(dimension, size, noise, seed))
    prior = target.prior
    rng = np.random.default_rng(seed)
    theta = prior.draw(rng, 1)[0]
    theta[prior.layout.lengths] = prior.start[prior.layout.lengths] + rng.normal(size=dimension)
    u = prior.unconstrain(theta)
    u += rng.choice([0.0, 0.0, -5.0, 5.0], len(u)) * prior.softness  # across the bounds, too
    theta = prior.constrain(u)
    condition = condition_number(target.marginal, theta)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("quell.gp.hyperposterior.kernels", None)
        patch.setattr("quell.gp.marginal.kernels", None)
        patch.setattr("quell.gp.pairs.kernels", None)
        expected, score = target(u), target.score(theta)
    # Where lengths are far below the distances, what should cancel in NumPy's products does not.
    gradient, lengths = expected[1].copy(), prior.layout.lengths
    slope, _, log_slope_slope = prior.constrain_derivatives(u)
    by_theta = slopes_in_lengths(target.marginal, theta) + prior.log_density(theta)[1][lengths]
    gradient[lengths] = by_theta * slope[lengths] + log_slope_slope[lengths]
    expected = expected[0], gradient
    target = Hyperposterior(target.marginal, prior)  # the other one remembers its answer
    assert_same(target(u), expected, condition)
    assert target.score(theta) == pytest.approx(score, rel=max(1e-11, 1e-14 * condition))


def slopes_in_lengths(marginal, theta):
    """Derivatives of the log likelihood in log lengths (D,), from the differences of all pairs."""
    data, hyper = marginal.data, marginal.layout.unpack(theta)
    lower = marginal.pairs.covariance(hyper, data.variance)
    precision = np.linalg.inv(lower + np.tril(lower, -1).T)
    alpha = precision @ (data.rest - mean_function(hyper, data.x))
    weights = (np.outer(alpha, alpha) - precision) * kernel(hyper, data.x, data.x)
    squares = (data.x[:, None, :] - data.x) ** 2
    return 0.5 * np.einsum("nm,nmi->i", weights, squares) / hyper.lengths**2


def make_target(data):
    return Hyperposterior(MarginalLikelihood(data), HyperparameterPrior.for_data(data))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_hyperposterior_without_a_density_is_minus_infinity(value):
    target = make_target(make_data(2, 9, "partly"))
    u = target.prior.unconstrain(target.prior.start)
    assert np.isfinite(target(u)[0])
    for entry in range(len(u)):
        bad = u.copy()
        bad[entry] = value
        density, gradient = target(bad)
        assert density == -np.inf
        np.testing.assert_array_equal(gradient, np.zeros_like(u))
    theta = target.prior.start.copy()
    theta[target.prior.layout.output_scale] = np.nan
    assert target.score(theta) == -np.inf


def test_a_gradient_that_is_not_finite_is_refused():
    """A length so short that its inverse square overflows: a finite value, but a slope of 0/0."""
    target = make_target(make_data(1, 9, "known"))
    lower = target.prior.lower.copy()
    lower[0] = -1000.0
    target = Hyperposterior(target.marginal, replace(target.prior, lower=lower))
    theta = target.prior.start.copy()
    theta[0] = -500.0
    assert np.isfinite(target.score(theta))
    density, gradient = target(target.prior.unconstrain(theta))
    assert density == -np.inf
    np.testing.assert_array_equal(gradient, np.zeros_like(theta))


def test_whole_numbers_and_strides_are_no_trouble():
    target = make_target(make_data(2, 9, "known"))
    theta = make_theta(target.marginal.data).round()
    assert target.marginal(theta.astype(int))[0] == target.marginal(theta)[0]
    again = make_target(target.marginal.data)  # which remembers nothing
    assert target(np.repeat(theta, 2)[::2])[0] == again(theta)[0]


def test_fill_kernel_leaves_the_upper_triangle_alone(monkeypatch):
    data = make_data(3, 21)
    pairs, hyper = Pairs(data.x), MarginalLikelihood(data).layout.unpack(make_theta(data))
    found = np.full((21, 21), 7.0, order="F")
    expected = found.copy(order="F")
    pairs.fill_kernel(found, hyper)
    monkeypatch.setattr("quell.gp.pairs.kernels", None)
    pairs.fill_kernel(expected, hyper)
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def wrong_calls():
    n, d = 5, 2
    size = 3 * d + 3
    theta, table, gradient = np.zeros(size), np.zeros((d + 2, n)), np.zeros(size)
    work = np.zeros(2 * n**2 + 3 * n + d + size)
    prior = np.ones((8, size))
    yield "fill_kernel", (np.zeros((n, n)), np.zeros((d, n)), np.ones(d), 1.0)
    yield "marginal_likelihood", (theta, table, work, gradient)
    yield "hyperposterior", (theta, prior, 1.0, table, work, gradient)


@pytest.mark.parametrize(("name", "arguments"), list(wrong_calls()))
def test_a_buffer_of_the_wrong_size_is_refused(name, arguments):
    call = getattr(kernels, name)
    call(*arguments)
    for position, argument in enumerate(arguments):
        if isinstance(argument, np.ndarray):
            for wrong in (np.append(argument, [0.0]), argument.ravel()[:-1].copy()):
                with pytest.raises(ValueError, match=r"doubles|entries"):
                    call(*arguments[:position], wrong, *arguments[position + 1 :])


def test_kernels_can_be_turned_off():
    code = (
        "import numpy as np, quell.native\n"
        "from quell.gp import TrainingData\n"
        "from quell.gp.marginal import MarginalLikelihood\n"
        "data = TrainingData.from_arrays([[0.0], [1.0], [2.0]], [0.0, -0.5, -2.0], noise_sd=0.1)\n"
        "print(quell.native.kernels, repr(float(MarginalLikelihood(data)(np.zeros(6))[0])))\n"
    )
    off, on = (
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "QUELL_NATIVE": flag},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for flag in ("0", "1")
    )
    assert off[0] == "None"
    assert on[0] == "<module"
    assert float(off[-1]) == pytest.approx(float(on[-1]), rel=1e-12)
