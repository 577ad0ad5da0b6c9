"""A few small runs, shared by all tests of stacking."""

import pytest
from helpers.stacking import make_problem, make_run

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
