"""The frame of the built-in scores: noise look-up, blocks of candidates, variance penalty."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from quell.acquisition.regularise import V_REG, variance_penalty, variance_penalty_slope
from quell.acquisition.situation import Situation
from quell.arrays import FloatArray
from quell.checks import matrix, vector
from quell.gp.gradients import LocalPrediction
from quell.gp.pooling import between_variance, pooled_mean

# Candidates times training points worked on at once: the arrays stay in the processor's cache.
BLOCK_ELEMENTS = 65_536


class SurrogateScore(ABC):
    """A score that is a function of the surrogate's predictions and of the noise at x.

    A subclass gives the logarithm of its acquisition function; the variance penalty is added
    here. ``values`` looks the noise of each point up, unless it is frozen; in
    ``value_and_gradient`` it is a constant.
    """

    def __init__(self, situation: Situation) -> None:
        self.situation = situation
        self.gp = situation.gp
        self._fixed_noise: FloatArray | None = None

    def frozen_at(self, x: ArrayLike) -> Self:
        """The same score with the noise of every point taken to be that at ``x`` (D,)."""
        x = vector("x", x, self.gp.dimension)
        frozen = copy(self)
        frozen._fixed_noise = self._noise(x[None])
        return frozen

    def values(self, x: ArrayLike) -> FloatArray:
        """Scores (n,) of points (n, D)."""
        x = matrix("x", x, self.gp.dimension)
        out = np.empty(len(x))
        for block in self._blocks(len(x)):
            score, mean, variance = self._scores(x[block], self._noise(x[block]))
            weights = self.gp.weights
            pooled = pooled_mean(variance, weights) + between_variance(mean, weights)
            out[block] = score + variance_penalty(pooled)
        return out

    def value_and_gradient(self, x: ArrayLike) -> tuple[float, FloatArray]:
        """Score and gradient (D,) at ``x`` (D,), the noise held at its value there."""
        local = LocalPrediction.at(self.gp, x)
        score, gradient = self._score_and_gradient(local, self._noise(local.x[None])[:, 0])
        variance = local.pooled_variance()
        if variance < V_REG:
            _, _, _, variance_gradient = local.pooled()
            score += float(variance_penalty(np.asarray(variance)))
            gradient = gradient + variance_penalty_slope(variance) * variance_gradient
        return score, gradient

    @abstractmethod
    def _scores(
        self, x: FloatArray, noise: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Scores (n,) of points (n, D) with noise variances (S, n); latent means, variances."""

    @abstractmethod
    def _score_and_gradient(
        self, local: LocalPrediction, noise: FloatArray
    ) -> tuple[float, FloatArray]:
        """Score and gradient (D,) at one point with noise variances (S,)."""

    def _noise(self, x: FloatArray) -> FloatArray:
        """What an observation at each point adds to the latent variance, (S, n)."""
        if self._fixed_noise is not None:
            return np.broadcast_to(self._fixed_noise, (self.gp.n_samples, len(x)))
        return self.gp.new_observation_variance(self.situation.noise.sd_at(x), len(x))

    def _blocks(self, n: int) -> Iterator[slice]:
        step = max(1, BLOCK_ELEMENTS // len(self.gp.x))
        return (slice(start, start + step) for start in range(0, n, step))
