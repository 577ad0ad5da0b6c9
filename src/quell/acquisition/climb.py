"""Upwards: the point where the surrogate may be highest, to find the bulk of the posterior.

    a(x) = f̄(x) + β √v(x)

The other functions ask which point will tell most about a posterior that has been found. Before
that, with the mass a thousand nats above all that was seen, they ask about the wrong place. f̄ and v
are pooled over hyperparameter samples; β = 1 looks at what is likely to be higher, rather than at
what might be anything.
"""

from dataclasses import dataclass

import numpy as np

from quell.acquisition.score import SurrogateScore
from quell.acquisition.situation import Situation
from quell.arrays import FloatArray
from quell.gp.gradients import LocalPrediction
from quell.gp.pooling import between_variance, pooled_mean


@dataclass(frozen=True)
class Climb:
    """The upper end of what the surrogate expects, ``beta`` SDs above its mean.

    >>> from quell.gp import GaussianProcess, TrainingData
    >>> from quell.mixture import Mixture
    >>> data = TrainingData.from_arrays([[-1.0], [0.0]], [-9.0, -5.0])
    >>> gp = GaussianProcess.condition(data, [[0.0, 0.0, -5.0, 0.0, 2.0, 0.0]])
    >>> situation = Situation.of(gp, Mixture([1.0], [[0.0]], [1.0], [1.0]))
    >>> score = Climb().prepare(np.random.default_rng(0), situation)
    >>> int(score.values([[-1.0], [0.0], [2.0], [6.0]]).argmax())
    2
    """

    beta: float = 1.0

    def prepare(self, rng: np.random.Generator, situation: Situation) -> "ClimbScore":  # noqa: ARG002
        """The score of a situation; uses no random numbers."""
        return ClimbScore(situation, self.beta)


class ClimbScore(SurrogateScore):
    """f̄ + β √v."""

    def __init__(self, situation: Situation, beta: float) -> None:
        super().__init__(situation)
        self.beta = beta

    def _scores(
        self,
        x: FloatArray,
        noise: FloatArray,  # noqa: ARG002
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        mean, variance = self.gp.predict(x)
        weights = self.gp.weights
        pooled = pooled_mean(variance, weights) + between_variance(mean, weights)
        return pooled_mean(mean, weights) + self.beta * np.sqrt(pooled), mean, variance

    def _score_and_gradient(
        self,
        local: LocalPrediction,
        noise: FloatArray,  # noqa: ARG002
    ) -> tuple[float, FloatArray]:
        mean, variance, by_mean, by_variance = local.pooled()
        if variance <= 0:
            return mean, by_mean
        sd = float(np.sqrt(variance))
        return mean + self.beta * sd, by_mean + 0.5 * self.beta / sd * by_variance
