"""The last fit of a posterior with integers: at whole numbers, where alone it counts."""

from dataclasses import replace

import numpy as np
import pytest

import quell
from quell.mixture import Mixture
from quell.results import Posterior
from quell.run.whole_numbers import _Whole, at_whole_numbers

#: Probabilities of 0, 1 and 2.
SHARES = np.array([0.2, 0.5, 0.3])
INTEGER = np.array([True, False])


def log_likelihood(theta):
    return float(np.log(SHARES[int(theta[0])]) - 0.5 * (theta[1] - theta[0]) ** 2)


def make_solution(integer=("k",)):
    problem = quell.Problem(
        log_likelihood if integer else lambda theta: -0.5 * float(theta @ theta),
        lower=[0, -10], upper=[2, 12], plausible_lower=[0.2, -3], plausible_upper=[1.8, 4],
        names=["k", "x"], integer=list(integer), noise="exact",
    )  # fmt: skip
    return quell.infer(problem, budget=60, seed=1, progress=False).iterations[-1].solution


@pytest.fixture(scope="module")
def solution():
    return make_solution()


def probabilities(solution):
    posterior = Posterior(solution.mixture, solution.space, tuple(map(bool, INTEGER)))
    return posterior.marginal("k").density(np.arange(3.0))


def lost(solution):
    """The solution with a narrow mixture around k = 1."""
    centre = solution.space.to_inference(np.array([1.0, 1.0]))
    sds = np.sqrt(np.diag(solution.mixture.covariance()))
    return replace(solution, mixture=Mixture([1.0], centre[None], [0.35], sds))


def test_integers_that_the_mixture_has_lost_come_back(solution):
    alone = lost(solution)
    assert probabilities(alone)[1] > 0.99
    found = alone
    for seed in range(3):
        found = at_whole_numbers(np.random.default_rng(seed), found, INTEGER, 30)
    np.testing.assert_allclose(probabilities(found), SHARES, atol=0.1)


def test_what_is_right_stays_right(solution):
    found = at_whole_numbers(np.random.default_rng(0), solution, INTEGER, 30)
    np.testing.assert_allclose(probabilities(found), SHARES, atol=0.05)


def test_without_integers_nothing_changes():
    smooth = make_solution(integer=())
    nothing = np.zeros(2, dtype=bool)
    assert at_whole_numbers(np.random.default_rng(0), smooth, nothing, 30) is smooth


def test_weights_that_are_no_numbers_cost_no_answer(solution, monkeypatch):
    monkeypatch.setattr(_Whole, "claimed", lambda _, x: np.full(len(x), np.nan))
    with np.errstate(all="ignore"):
        assert at_whole_numbers(np.random.default_rng(0), solution, INTEGER, 30) is solution


def test_a_posterior_that_ends_somewhere_is_left_alone(solution):
    cut = replace(solution, support=lambda theta: theta[:, 1] > 0)
    assert at_whole_numbers(np.random.default_rng(0), cut, INTEGER, 30) is cut


def test_the_density_of_the_draws_is_that_of_the_formula(solution):
    whole = _Whole(solution, solution.surrogate(), solution.mixture, INTEGER)
    x = np.linspace(-10, 12, 4001)[1:-1]
    total = 0.0
    for k in range(3):
        theta = np.column_stack([np.full(len(x), float(k)), x])
        steps = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
        here, *around = (whole.posterior.log_density(theta + step) for step in steps)
        expected = 0.5 * np.exp(here) + 0.25 * sum(map(np.exp, around))
        density = np.exp(whole.log_proposal(theta))
        np.testing.assert_allclose(density, expected, rtol=1e-9)
        total += np.trapezoid(density, x)
    # What is moved beyond the bounds is not drawn.
    kept = 1 - 0.25 * probabilities(solution)[[0, 2]].sum()
    assert total == pytest.approx(kept, abs=1e-3)
    drawn = len(whole.draws(np.random.default_rng(0))) / 4096
    assert drawn == pytest.approx(kept, abs=0.03)
