"""A posterior that ends at the edge of a support."""

import numpy as np
import pytest
from scipy.stats import norm

from quell.mixture import Mixture
from quell.results import Posterior
from quell.space import InferenceSpace

SPACE = InferenceSpace.from_bounds([-np.inf, 0], [np.inf, 4], [-1, 1], [1, 3], names=["a", "b"])
MIXTURE = Mixture([1.0], [[0.0, 0.0]], [0.5], [1.0, 0.7])


def positive(theta):
    return theta[:, 0] > 0.5


@pytest.fixture(scope="module")
def half():
    return Posterior(MIXTURE, SPACE, support=positive)


WHOLE = Posterior(MIXTURE, SPACE)


def test_draws_are_all_inside_and_as_many_as_asked_for(half):
    draws = half.sample(777, np.random.default_rng(0))
    assert draws.shape == (777, 2)
    assert (draws[:, 0] > 0.5).all()


def test_the_density_is_that_of_the_mixture_renormalised(half):
    share = norm.sf(0.5)  # a is a standard normal: the plausible box is 2 wide
    points = np.array([[0.7, 2.0], [0.2, 2.0]])
    log_density = half.log_density(points)
    whole = WHOLE.log_density(points)
    assert log_density[0] == pytest.approx(whole[0] - np.log(share), abs=0.02)
    assert log_density[1] == -np.inf
    assert half.log_density(points[0]) == log_density[0]


def test_moments_are_those_of_a_truncated_normal(half):
    ratio = norm.pdf(0.5) / norm.sf(0.5)
    assert half.mean()[0] == pytest.approx(ratio, abs=0.02)
    assert half.sd()[0] == pytest.approx(np.sqrt(1 + 0.5 * ratio - ratio**2), abs=0.02)
    assert half.mean()[1] == pytest.approx(WHOLE.mean()[1], abs=0.02)
    assert half.covariance().shape == (2, 2)


def test_marginals_follow_the_draws(half):
    marginal = half.marginal("a")
    assert marginal.cdf(0.5) == pytest.approx(0.0, abs=1e-6)
    assert float(marginal.cdf(np.inf)) == 1.0
    for p in (0.05, 0.5, 0.95):
        wanted = norm.isf((1 - p) * norm.sf(0.5))
        assert marginal.quantile(p) == pytest.approx(wanted, abs=0.03)
    grid = np.linspace(-1, 6, 2001)
    density = marginal.density(grid)
    assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=0.01)
    assert (density[grid < 0.49] == 0).all()
    assert half.marginal("b").quantile(0.5) == pytest.approx(2.0, abs=0.03)


def test_the_mode_is_inside(half):
    assert half.mode()[0] == pytest.approx(0.5, abs=0.02)


def test_a_support_that_holds_all_of_the_mixture_changes_nothing():
    posterior = Posterior(MIXTURE, SPACE, support=lambda theta: theta[:, 0] > -50)
    assert np.array_equal(posterior.mean(), WHOLE.mean())
    assert posterior.log_density([0.7, 2.0]) == WHOLE.log_density([0.7, 2.0])


def test_a_posterior_without_any_mass_in_the_support_says_so():
    lost = Posterior(MIXTURE, SPACE, support=lambda theta: theta[:, 0] > 50)
    with pytest.raises(ValueError, match="has not found the posterior there"):
        lost.sample(10, np.random.default_rng(0))


def test_draws_of_a_posterior_hardly_in_its_support_repeat():
    rare = Posterior(MIXTURE, SPACE, support=lambda theta: theta[:, 0] > 2.5)
    draws = rare.sample(20_000, np.random.default_rng(0))
    assert draws.shape == (20_000, 2)
    assert (draws[:, 0] > 2.5).all()
    assert len(np.unique(draws[:, 0])) < 20_000
    assert np.isfinite(rare.sd()).all()
