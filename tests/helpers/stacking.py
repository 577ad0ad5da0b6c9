"""A small problem with known answer, and quick runs of it."""

import warnings

import numpy as np

import quell

NOISE = 1.0


def log_likelihood(theta, rng):
    """A skewed density of a bounded and an unbounded parameter, with noise of SD 1."""
    value = -0.5 * (theta[1] - 0.5 * theta[0]) ** 2 - 0.5 * (theta[0] - 1.5) ** 2
    return value + NOISE * rng.standard_normal(), NOISE


def make_problem(upper=4.0, **changes):
    arguments = {
        "lower": [0, -np.inf, 3], "upper": [upper, np.inf, 3], "plausible_lower": [0.5, -2, 3],
        "plausible_upper": [3, 2, 3], "names": ["a", "b", "constant"],
        "prior": lambda theta: -np.log(4.0) - 0.125 * theta[1] ** 2 - np.log(np.sqrt(8 * np.pi)),
    }  # fmt: skip
    return quell.Problem(log_likelihood, **(arguments | changes))


def above_the_diagonal(theta):
    return bool(theta[1] > 0.5 * theta[0])


def make_run(problem, seed, budget=35):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", quell.BudgetWarning)
        settings = quell.Settings(final_components=10)
        return quell.infer(problem, budget=budget, seed=seed, progress=False, settings=settings)
