"""Upwards: the point where the surrogate may be highest, to find the bulk of the posterior.

    a(x) = f̄(x) + β √v(x)

The other functions ask which point will tell most about a posterior that has been found. Before
that, with the mass a thousand nats above all that was seen, they ask about the wrong place. β = 1
looks at what is likely to be higher, rather than at what might be anything.

f̄ and v are those of one hyperparameter sample, drawn at random for each point. Far out, samples
differ by thousands of nats, for so do their quadratics; but each of them knows that it is low
there. Pooled, they would take the difference for a chance of something high, and climbs would go to
the corners of the box (docs/experiments/searching.md).
"""

from dataclasses import dataclass, replace

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

    def prepare(self, rng: np.random.Generator, situation: Situation) -> "ClimbScore":
        """The score of a situation, for one hyperparameter sample drawn at random."""
        gp = situation.gp.only(int(rng.choice(situation.gp.n_samples, p=situation.gp.weights)))
        return ClimbScore(replace(situation, gp=gp), self.beta)


class ClimbScore(SurrogateScore):
    """f̄ + β √v; ``top`` is the largest f̄ at a point that was evaluated."""

    def __init__(self, situation: Situation, beta: float) -> None:
        super().__init__(situation)
        self.beta = beta
        self.top = float(self.gp.predict_mean(self.gp.data.x).max())

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
