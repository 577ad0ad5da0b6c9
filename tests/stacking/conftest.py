"""A few small runs, shared by all tests of stacking."""

import pytest
from helpers.stacking import above_the_diagonal, make_problem, make_run
from scipy import stats

import quell


@pytest.fixture(scope="session")
def problem():
    return make_problem()


@pytest.fixture(scope="session")
def runs(problem):
    return [make_run(problem, seed) for seed in (1, 2, 3)]


@pytest.fixture(scope="session")
def stacked(runs):
    return quell.stack(runs)


@pytest.fixture(scope="session")
def plain():
    """A stack whose prior is made of distributions, which a file can have."""
    problem = make_problem(prior=[stats.uniform(0, 4), stats.norm(0, 2), None])
    return quell.stack([make_run(problem, seed) for seed in (1, 2, 3)])


@pytest.fixture(scope="session")
def constrained():
    """A stack whose posterior ends at a diagonal."""
    problem = make_problem(constraint=above_the_diagonal)
    return quell.stack([make_run(problem, seed, budget=20) for seed in (1, 2)])
