"""A start for the search in new coordinates: the mean function by least squares."""

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve

from quell.gp import HyperparameterPrior, TrainingData
from quell.gp.factor import FactorisationError
from quell.gp.fresh import _least_squares, fresh_start, with_regressed_mean
from quell.gp.hyperposterior import Hyperposterior
from quell.gp.marginal import MarginalLikelihood
from quell.gp.mode import climb_from_known, maximise
from quell.gp.model import mean_function


def target_of(x, y, sd=0.5):
    data = TrainingData.from_arrays(x, y, sd)
    prior = HyperparameterPrior.for_data(data, output_scale=float(data.dimension))
    return Hyperposterior(MarginalLikelihood(data), prior)


def quadratic(x, location, scales, height=3.0):
    return height - 0.5 * np.sum(((x - location) / scales) ** 2, axis=1)


def bent(seed, n=90, d=3, depth=5.0):
    """Values of a bent ridge, at its full depth down to some thousands below its top."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * 3
    y = -0.5 * np.sum(x**2, axis=1) - depth * (x[:, 1] - 0.5 * x[:, 0] ** 2) ** 2
    return x, y + rng.standard_normal(n)


@pytest.mark.parametrize("seed", range(3))
def test_a_quadratic_is_found_as_it_is(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(40, 3)) * [1.0, 20.0, 0.03]
    location, scales = np.array([0.4, -9.0, 0.01]), np.array([2.0, 15.0, 0.05])
    target = target_of(x, quadratic(x, location, scales), 0.1)
    layout = target.prior.layout
    hyper = layout.unpack(with_regressed_mean(target, target.prior.start))
    np.testing.assert_allclose(hyper.mean_location, location, rtol=1e-6)
    np.testing.assert_allclose(hyper.mean_scales, scales, rtol=1e-6)
    assert hyper.mean_max == pytest.approx(3.0, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_no_other_mean_is_likelier_with_this_kernel(seed):
    x, y = bent(seed, depth=0.005)
    target = target_of(x, y)
    theta = with_regressed_mean(target, target.prior.start)
    layout = target.prior.layout
    best = target.marginal.value(theta)
    assert ((theta > target.prior.lower) & (theta < target.prior.upper)).all()
    rng = np.random.default_rng(seed)
    for size in (1e-3, 1e-2, 0.1):
        other = theta.copy()
        part = np.zeros(layout.size, dtype=bool)
        part[layout.mean_function] = True
        step = rng.standard_normal(layout.size) * size
        other[part] += step[part]
        assert target.marginal.value(other) < best + 1e-6
    unchanged = np.ones(layout.size, dtype=bool)
    unchanged[layout.mean_function] = False
    np.testing.assert_array_equal(theta[unchanged], target.prior.start[unchanged])


def test_it_is_generalised_least_squares():
    """The residual is orthogonal, in the metric of the covariance, to what the mean is made of."""
    x, y = bent(1, depth=0.005)
    target = target_of(x, y)
    theta = with_regressed_mean(target, target.prior.start)
    hyper = target.prior.layout.unpack(theta)
    covariance = target.marginal.pairs.covariance(hyper, target.marginal.data.variance)
    covariance = np.tril(covariance) + np.tril(covariance, -1).T
    residual = cho_solve(cho_factor(covariance), y - mean_function(hyper, x))
    curved = hyper.mean_scales < 0.99 * np.exp(target.prior.upper[target.prior.layout.mean_scales])
    assert curved.any()
    terms = np.column_stack([np.ones(len(x)), x, x[:, curved] ** 2])
    size = np.linalg.norm(terms, axis=0) * np.linalg.norm(residual)
    assert np.abs(terms.T @ residual / size).max() < 1e-6


def test_a_mean_that_would_curve_upwards_is_as_flat_as_it_may_be():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 2))
    target = target_of(x, -(x[:, 0] ** 2) + 2 * x[:, 1] ** 2)
    layout, prior = target.prior.layout, target.prior
    theta = with_regressed_mean(target, prior.start)
    scales = theta[layout.mean_scales]
    assert scales[1] == pytest.approx(prior.upper[layout.mean_scales][1])
    assert scales[0] < prior.upper[layout.mean_scales][0] - 1
    assert np.isfinite(theta).all()


@pytest.mark.parametrize("seed", range(5))
def test_least_squares_with_a_floor_beside_a_solver(seed):
    """Against SciPy's bounded least squares, where only one coefficient is on its floor."""
    from scipy.optimize import lsq_linear

    rng = np.random.default_rng(seed)
    terms = rng.normal(size=(30, 5))
    truth = np.array([1.0, -2.0, 0.5, -0.7, 2.0])
    values = terms @ truth + 0.1 * rng.normal(size=30)
    least = np.array([0.1, 0.2])
    found = _least_squares(terms, values, least)
    low = np.r_[np.full(3, -np.inf), least]
    expected = lsq_linear(terms, values, (low, np.full(5, np.inf)), tol=1e-12).x
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert found[3] == least[0]


def test_the_scale_of_what_is_left_over_is_found_on_the_ladder():
    """A ridge that bends leaves thousands of nats to the kernel; a quadratic leaves nothing."""
    x, y = bent(2)
    target = target_of(x, y)
    entry = target.prior.layout.output_scale
    straight = target_of(x, quadratic(x, np.zeros(3), np.ones(3)))
    low, high = (
        one.prior.constrain(fresh_start(one))[entry] - one.prior.start[entry]
        for one in (straight, target)
    )
    assert low == pytest.approx(0.0, abs=0.1)
    assert high > 0.9
    assert target(fresh_start(target))[0] > target(target.prior.unconstrain(target.prior.start))[0]


def test_where_what_is_known_fits_nothing_the_search_begins_afresh():
    """It costs less then, and ends no lower in most of ten cases; there are many modes."""
    gains, costs = [], []
    for seed in range(10):
        x, y = bent(seed)
        target, again = target_of(x, y), target_of(x, y)
        useless = target.prior.start.copy()
        scales = target.prior.layout.mean_scales
        useless[scales] = target.prior.lower[scales] + 4
        known = target.prior.unconstrain(useless)
        assert target(known)[0] < -1e5
        mode = climb_from_known(target, known, None)
        assert mode[1] == pytest.approx(maximise(target, fresh_start(target))[1], abs=1e-6)
        gains.append(mode[1] - maximise(again, known)[1])
        costs.append(target.evaluations / again.evaluations)
    assert np.median(gains) > -0.5
    assert np.median(costs) < 0.8


def test_where_what_is_known_is_better_it_is_the_start():
    x, y = bent(4)
    target = target_of(x, y)
    mode = maximise(target, fresh_start(target))
    assert climb_from_known(target, mode[0], None)[1] >= mode[1] - 1e-6
    again = target_of(x, y)
    climb_from_known(again, mode[0], None)
    assert again.evaluations < 60


def test_a_rung_without_a_factor_is_left_out(monkeypatch):
    x, y = bent(5)
    target = target_of(x, y)
    expected = fresh_start(target)
    calls = []

    def fails_once(*args):
        calls.append(args)
        if len(calls) == 1:
            raise FactorisationError
        return with_regressed_mean(*args)

    monkeypatch.setattr("quell.gp.fresh.with_regressed_mean", fails_once)
    np.testing.assert_array_equal(fresh_start(target), expected)
    monkeypatch.setattr(
        "quell.gp.fresh.with_regressed_mean", lambda *_: (_ for _ in ()).throw(FactorisationError)
    )
    assert fresh_start(target) is None
    known = target.prior.unconstrain(target.prior.start)
    assert np.isfinite(climb_from_known(target, known, None)[1])


@pytest.mark.parametrize(("n", "d"), [(3, 1), (5, 4), (12, 10)])
def test_few_observations(n, d):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d))
    target = target_of(x, rng.normal(size=n))
    start = fresh_start(target)
    assert np.isfinite(start).all()
    assert np.isfinite(target(start)[0])
