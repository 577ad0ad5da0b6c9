"""Draws from the prior of a problem, within its bounds and its constraint."""

from typing import Any

import numpy as np

from quell.arrays import FloatArray
from quell.problem.densities import Constant, Independent, Joint, is_scipy
from quell.problem.problem import Problem

#: Rounds of drawing again what fell outside of the support.
MOST_ROUNDS = 1000


def draw_from_prior(problem: Problem, n: int, rng: np.random.Generator) -> FloatArray:
    """``n`` draws (n, dimension) from the prior, where it is positive.

    Raises
    ------
    ValueError
        If the prior is improper or a function, from which nothing can be drawn, or hardly any of
        its mass is within the bounds.

    >>> problem = Problem(None, lower=0, upper=2, plausible_lower=0.5, plausible_upper=1.5)
    >>> draws = draw_from_prior(problem, 1000, np.random.default_rng(1))
    >>> bool(abs(draws.mean() - 1) < 0.1)
    True
    """
    theta = np.empty((n, problem.dimension))
    missing = np.ones(n, dtype=bool)
    for _ in range(MOST_ROUNDS):
        theta[missing] = problem.snap(_draw(problem, int(missing.sum()), rng))
        missing[missing] = ~(problem.log_prior(theta[missing]) > -np.inf)
        if not missing.any():
            return theta
    raise ValueError(
        f"hardly any draw from the prior is within the bounds and the constraint: {missing.sum()} "
        f"of {n} draws were outside {MOST_ROUNDS} times"
    )


def _draw(problem: Problem, n: int, rng: np.random.Generator) -> FloatArray:
    """Draws (n, dimension), some of which may be out of bounds."""
    density, lower, upper = problem.prior.density, problem.lower, problem.upper
    known = problem.prior.is_proper and not problem.prior.is_included
    if isinstance(density, Constant) and known:
        return rng.uniform(lower, upper, (n, problem.dimension))
    if isinstance(density, Independent):
        columns = [
            np.full(n, low) if marginal is None else _rvs(marginal, n, rng)
            for marginal, low in zip(density.marginals, lower, strict=True)
        ]
        return np.stack(columns, axis=1)
    if isinstance(density, Joint):
        return _joint_draws(density.distribution, n, rng).reshape(n, problem.dimension)
    raise ValueError(
        "nothing can be drawn from this prior, because it is improper or a function: give a proper "
        "one made of SciPy distributions, or draws of your own"
    )


def _rvs(distribution: Any, n: int, rng: np.random.Generator) -> FloatArray:
    if hasattr(distribution, "rvs"):
        return np.asarray(distribution.rvs(size=n, random_state=rng), dtype=float)
    return np.asarray(distribution.sample(n, rng=rng), dtype=float)  # SciPy's newer kind


def _joint_draws(distribution: Any, n: int, rng: np.random.Generator) -> FloatArray:
    if is_scipy("gaussian_kde", distribution):
        return np.asarray(distribution.resample(n, seed=rng)).T
    if hasattr(distribution, "rvs"):
        return np.asarray(distribution.rvs(size=n, random_state=rng), dtype=float)
    if hasattr(distribution, "sample"):
        return np.asarray(distribution.sample(n, rng), dtype=float)
    raise ValueError(
        f"prior has no way to draw from it: {type(distribution).__name__} has no rvs or sample"
    )
