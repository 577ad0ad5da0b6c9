"""Draws from priors of all kinds, within bounds and constraints."""

import numpy as np
import pytest
from scipy import stats

from quell import Problem
from quell.problem.drawing import draw_from_prior

N = 4000


def problem(dimension=2, **changes):
    d = dimension
    options = {"lower": [-3.0] * d, "upper": [3.0] * d, "plausible_lower": [-1.0] * d,
               "plausible_upper": [1.0] * d}  # fmt: skip
    return Problem(None, **(options | changes))


def draws(made):
    theta = draw_from_prior(made, N, np.random.default_rng(1))
    assert theta.shape == (N, made.dimension)
    assert (made.log_prior(theta) > -np.inf).all()
    return theta


def test_uniform_with_a_fixed_parameter():
    theta = draws(problem(lower=[-3, 1], upper=[3, 1], plausible_lower=[-1, 1],
                          plausible_upper=[1, 1]))  # fmt: skip
    assert stats.kstest(theta[:, 0], stats.uniform(-3, 6).cdf).pvalue > 1e-3
    assert (theta[:, 1] == 1).all()


@pytest.mark.filterwarnings("ignore:the prior of 'x1' has", "ignore:plausible bounds too")
def test_independent_ones_are_cut_at_the_bounds():
    theta = draws(problem(prior=[stats.norm(0, 2), stats.uniform(-1, 2)]))
    cut = stats.truncnorm(-1.5, 1.5, 0, 2)
    assert stats.kstest(theta[:, 0], cut.cdf).pvalue > 1e-3
    assert stats.kstest(theta[:, 1], stats.uniform(-1, 2).cdf).pvalue > 1e-3


@pytest.mark.parametrize("kind", ["normal", "kde"])
def test_joint_ones(kind):
    prior = stats.multivariate_normal([0, 0], [[0.2, 0.18], [0.18, 0.2]])
    if kind == "kde":
        prior = stats.gaussian_kde(prior.rvs(500, random_state=1).T)
    theta = draws(problem(prior=prior))
    assert np.corrcoef(theta.T)[0, 1] > 0.7


def test_a_constraint_holds():
    theta = draws(problem(constraint=lambda theta: theta[0] + theta[1] < 0))
    assert (theta.sum(axis=1) < 0).all()
    assert abs(theta.mean() + 1.0) < 0.1  # of a triangle


def test_integers_are_whole():
    theta = draws(problem(integer=[True, False]))
    assert (theta[:, 0] == np.round(theta[:, 0])).all()
    assert set(theta[:, 0]) == set(range(-3, 4))


@pytest.mark.filterwarnings("ignore:prior=None is uniform")
@pytest.mark.parametrize("changes", [
    {"prior": lambda _: 0.0}, {"prior": "included"}, {"lower": [-np.inf, -3]},
])  # fmt: skip
def test_where_nothing_can_be_drawn(changes):
    with pytest.raises(ValueError, match="nothing can be drawn from this prior"):
        draw_from_prior(problem(**changes), 5, np.random.default_rng(0))
