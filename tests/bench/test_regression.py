import numpy as np
from scipy.stats import norm

from quell.bench import load
from quell.bench.problems.regression import NOISE_SD, PREDICTORS, design


def test_the_likelihood_is_that_of_the_observations():
    x, y = design(5)
    theta = np.array([-300.0, 0.4, -0.7, 5e-4, 2.5])
    expected = norm(x @ theta[:-1], theta[-1]).logpdf(y).sum()
    np.testing.assert_allclose(load("regression", 5).exact(theta), expected, rtol=1e-12)


def test_it_is_as_awkward_as_it_says():
    rng = np.random.default_rng(1)
    for dim in (3, 5, 8):
        problem = load("regression", dim)
        truth = problem.truth
        sd = np.sqrt(truth.covariance.diagonal())
        correlation = truth.covariance / np.outer(sd, sd)
        assert np.abs(correlation[0, 1:-1]).max() > 0.99
        assert sd[0] / sd[1:-1].min() > 1000
        # Across the ridge a hundred times narrower than along it.
        assert np.linalg.eigvalsh(correlation)[0] < 1e-4
        box = rng.uniform(problem.plausible_lower, problem.plausible_upper, (2000, dim))
        values = problem.exact(box)
        assert np.median(values) < -5e4
        assert np.isfinite(values).all()


def test_the_box_cuts_off_nothing():
    for dim in (3, 5, 8):
        problem = load("regression", dim)
        truth = problem.truth
        sd = np.sqrt(truth.covariance.diagonal())[:-1]
        room = np.minimum(truth.mean - problem.lower, problem.upper - truth.mean)[:-1]
        # A t with 30 degrees of freedom has 1e-12 of its mass beyond 12 SDs.
        assert (room / sd).min() > 12
        plausible = (truth.mean > problem.plausible_lower) & (truth.mean < problem.plausible_upper)
        assert plausible.all()


def test_estimates_are_near_what_made_the_data():
    for dim in (3, 5, 8):
        truth = load("regression", dim).truth
        sd = np.sqrt(truth.covariance.diagonal())
        made = np.array([*(p.slope for p in PREDICTORS[: dim - 2]), NOISE_SD])
        assert (np.abs(truth.mean - np.append(truth.mean[0], made)) < 4 * sd).all()


def test_no_spread_is_impossible():
    problem = load("regression")
    theta = np.append(problem.truth.mean[:-1], 0.0)
    assert problem.exact(theta) == -np.inf
    assert np.isfinite(problem.exact(np.append(theta[:-1], 1e-100)))
