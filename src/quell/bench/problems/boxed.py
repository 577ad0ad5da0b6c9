"""Functions of one point, made into those a model offers: defined on the model's box only."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.bench.problems.base import BenchError
from quell.bench.problems.model import Estimator, Likelihood, Model, Parameter

#: A point this far outside the box, in units of its width, is taken to lie on its face.
ROUNDING = 1e-9


class Box:
    """The box ``lower`` to ``upper``, (D,) each, on which a likelihood is defined.

    >>> box = Box(np.zeros(2), np.ones(2))
    >>> box.likelihood(np.sum)([[0.5, 0.25], [0.5, 1.5]])
    array([0.75, -inf])
    """

    def __init__(self, lower: FloatArray, upper: FloatArray) -> None:
        self.lower, self.upper = lower, upper

    def _inside(self, points: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which of the points (n, D) lie in the box; those with nan do not."""
        slack = ROUNDING * (self.upper - self.lower)
        within = (points >= self.lower - slack) & (points <= self.upper + slack)
        return np.asarray(within.all(-1))

    def likelihood(self, at: Callable[[FloatArray], float]) -> Likelihood:
        """``at``, a function of one point (D,), for points (..., D); −∞ outside the box."""

        def values(theta: ArrayLike) -> FloatArray:
            theta = self._points(theta)
            points = theta.reshape(-1, len(self.lower))
            result = np.full(len(points), -np.inf)
            for i in np.flatnonzero(self._inside(points)):
                result[i] = at(points[i].clip(self.lower, self.upper))
            return result.reshape(theta.shape[:-1])

        return values

    def estimator(
        self, at: Callable[[FloatArray, np.random.Generator], tuple[float, float]]
    ) -> Estimator:
        """``at(theta, rng)`` for θ (D,) in the box; :class:`BenchError` outside of it."""

        def value(theta: ArrayLike, rng: np.random.Generator) -> tuple[float, float]:
            theta = self._points(theta)
            if theta.ndim != 1:
                raise BenchError(f"theta must be one point ({len(self.lower)},), got {theta.shape}")
            if not self._inside(theta[None])[0]:
                raise BenchError(f"theta must lie in the box of the problem, got {theta.tolist()}")
            return at(theta.clip(self.lower, self.upper), rng)

        return value

    def _points(self, theta: ArrayLike) -> FloatArray:
        theta = np.asarray(theta, dtype=np.float64)
        if theta.shape[-1:] != self.lower.shape:
            raise BenchError(f"theta must have shape (..., {len(self.lower)}), got {theta.shape}")
        return theta


def boxed_model(
    parameters: Sequence[Parameter],
    *,
    exact: Callable[[FloatArray], float] | None = None,
    simulator: Callable[[FloatArray, np.random.Generator], tuple[float, float]] | None = None,
    fast: Callable[[FloatArray, np.random.Generator], tuple[float, float]] | None = None,
    emulated_sd: float | None = None,
) -> Model:
    """A model on the box of its ``parameters`` from functions of one point in it.

    >>> model = boxed_model([Parameter("a", 0.0, 0.2, 0.8, 1.0)], exact=lambda theta: theta[0])
    >>> model.exact([[0.5], [2.0]])
    array([ 0.5, -inf])
    """
    names, *sides = zip(*parameters, strict=True)
    lower, plausible_lower, plausible_upper, upper = (
        np.array(side, dtype=np.float64) for side in sides
    )
    box = Box(lower, upper)
    return Model(
        names,
        lower,
        upper,
        plausible_lower,
        plausible_upper,
        exact=None if exact is None else box.likelihood(exact),
        simulator=None if simulator is None else box.estimator(simulator),
        fast=None if fast is None else box.estimator(fast),
        emulated_sd=emulated_sd,
    )
