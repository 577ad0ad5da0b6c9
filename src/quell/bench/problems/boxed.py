"""Functions of one point, made into those a model offers: defined on the model's box only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from quell.bench.problems.base import BenchError
from quell.bench.problems.model import Estimator, Likelihood
from quell.checks import FloatArray

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
