from types import SimpleNamespace

import numpy as np
import pytest
from helpers.gp import NOISES, make_data, modest
from helpers.numeric import assert_near, central_differences
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quell.gp import FactorisationError, HyperparameterPrior
from quell.gp.hyperposterior import Hyperposterior, laplace_approximation
from quell.gp.marginal import MarginalLikelihood

dimensions = pytest.mark.parametrize("dimension", [1, 3])
noises = pytest.mark.parametrize("noise", NOISES)


def make_target(dimension, noise, size=20):
    data = make_data(dimension, size, noise)
    return Hyperposterior(MarginalLikelihood(data), HyperparameterPrior.for_data(data))


def make_start(target):
    """A moderate θ well inside the bounds, in u."""
    layout, start = target.prior.layout, target.prior.start.copy()
    start[layout.base_noise] += 2.0
    start[layout.mean_scales] += 0.5
    return target.prior.unconstrain(start)


@dimensions
@noises
def test_gradient_is_the_derivative_of_the_value(dimension, noise):
    target = make_target(dimension, noise)
    start = make_start(target)

    @modest
    @given(arrays(float, len(start), elements=st.floats(-0.5, 0.5, allow_subnormal=False)))
    def check(offset):
        u = start + offset
        _, gradient = target(u)
        assert_near(gradient, central_differences(lambda v: target(v)[0], u), 1e-6)

    check()


@dimensions
@noises
def test_value_changes_by_likelihood_prior_and_log_jacobian(dimension, noise):
    target = make_target(dimension, noise)
    prior, marginal = target.prior, target.marginal

    def reference(u):
        theta = prior.constrain(u)
        slope = central_differences(prior.constrain, u).diagonal()
        return marginal.value(theta) + prior.log_density(theta)[0] + np.log(slope).sum()

    u = make_start(target)
    near_bounds = prior.lower + 2 * prior.softness
    v = np.where(np.arange(len(u)) % 2, u, near_bounds)
    assert target(v)[0] - target(u)[0] == pytest.approx(reference(v) - reference(u), abs=1e-5)


def scaled(hessian, reference):
    """Entries relative to the curvatures of their row and column."""
    root = np.sqrt(np.maximum(np.abs(reference.diagonal()), 1e-2))
    return hessian / np.outer(root, root)


@dimensions
@noises
@pytest.mark.parametrize("near_bound", [False, True])
def test_negative_hessian_is_the_derivative_of_the_gradient(dimension, noise, near_bound):
    target = make_target(dimension, noise)
    layout, prior = target.prior.layout, target.prior
    u = make_start(target)
    if near_bound:
        u[layout.mean_max] = prior.upper[layout.mean_max] - prior.softness[layout.mean_max]
        u[layout.mean_location] = (prior.lower + 2 * prior.softness)[layout.mean_location]
        u[layout.mean_scales] = (prior.upper - prior.softness)[layout.mean_scales]
    expected = -central_differences(lambda v: target(v)[1], u)
    hessian = target.negative_hessian(u)
    np.testing.assert_array_equal(hessian, hessian.T)
    np.testing.assert_allclose(scaled(hessian, expected), scaled(expected, expected), atol=5e-3)
    mean = np.ix_(*[np.arange(layout.size)[layout.mean_function]] * 2)
    assert_near(hessian[mean], expected[mean], 1e-5)


def fail(*_args, **_kwargs):
    raise FactorisationError("no")


def test_a_failed_factorisation_has_density_zero(monkeypatch):
    target = make_target(2, "unknown")
    u = make_start(target)
    for module in ("hyperposterior", "marginal"):  # compiled kernels have tests of their own
        monkeypatch.setattr(f"quell.gp.{module}.kernels", None)
    monkeypatch.setattr("quell.gp.marginal.factorise", fail)
    value, gradient = target(u)
    assert value == -np.inf
    np.testing.assert_array_equal(gradient, np.zeros_like(u))
    assert target.score(target.prior.constrain(u)) == -np.inf


@pytest.mark.parametrize("bad", [(np.nan, 0.0), (np.inf, 0.0), (0.0, np.nan), (0.0, np.inf)])
def test_a_non_finite_likelihood_has_density_zero(bad, monkeypatch):
    monkeypatch.setattr("quell.gp.hyperposterior.kernels", None)

    class Broken(MarginalLikelihood):
        def __call__(self, theta):
            return bad[0], np.full_like(theta, bad[1])

    data = make_data(1, 10)
    target = Hyperposterior(Broken(data), HyperparameterPrior.for_data(data))
    u = make_start(target)
    value, gradient = target(u)
    assert value == -np.inf
    np.testing.assert_array_equal(gradient, np.zeros_like(u))


def test_score_is_the_posterior_density_of_theta():
    target = make_target(2, "partly")
    theta = target.prior.constrain(make_start(target))
    expected = target.marginal.value(theta) + target.prior.log_density(theta)[0]
    assert target.score(theta) == pytest.approx(expected, rel=1e-14)


def test_evaluations_are_counted_once_each():
    target = make_target(1, "known")
    u = make_start(target)
    first = target(u)
    for shift in (0.1, 0.2, 0.1, 0.0):
        again = target(u + shift)
    assert target.evaluations == 3
    assert again[0] == first[0]
    with pytest.raises(ValueError, match="read-only"):
        again[1][0] = 1.0


def test_answers_that_were_forgotten_are_computed_again():
    target = make_target(1, "known")
    u = make_start(target)
    value, gradient = target(u)
    for shift in np.linspace(0.01, 0.5, 80):
        target(u + shift)
    assert target.evaluations == 81
    again = target(u)
    assert target.evaluations == 82
    assert again[0] == value
    np.testing.assert_array_equal(again[1], gradient)


def test_a_prior_for_another_layout_is_refused():
    known, unknown = make_data(2, 10, "known"), make_data(2, 10, "unknown")
    with pytest.raises(ValueError, match="prior is for"):
        Hyperposterior(MarginalLikelihood(known), HyperparameterPrior.for_data(unknown))


def laplace_of(hessian):
    return laplace_approximation(
        SimpleNamespace(negative_hessian=lambda _: np.array(hessian)), np.zeros(len(hessian))
    )


def test_laplace_covariance_is_the_inverse_of_the_negative_hessian():
    hessian = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 9.0]])
    root = laplace_of(hessian).root
    np.testing.assert_allclose(root @ root.T, np.linalg.inv(hessian), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("curvature", [0.0, -5.0, 1e-30, 1e30, -1e30])
def test_laplace_is_finite_in_flat_indefinite_and_extreme_directions(curvature):
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    hessian = rotation @ np.diag([curvature, 2.0, 4.0]) @ rotation.T
    root = laplace_of(0.5 * (hessian + hessian.T)).root
    sd = np.linalg.svd(root, compute_uv=False)
    assert np.isfinite(root).all()
    assert sd.min() > 1e-6
    assert sd.max() < 100.0


@noises
def test_laplace_at_a_point_of_a_real_target(noise):
    target = make_target(2, noise)
    u = make_start(target)
    laplace = laplace_approximation(target, u)
    np.testing.assert_array_equal(laplace.mean, u)
    assert laplace.root.shape == (len(u), len(u))
    assert np.isfinite(laplace.root).all()
    assert np.linalg.svd(laplace.root, compute_uv=False).min() > 0
