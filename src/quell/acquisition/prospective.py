"""Prospective uncertainty sampling, exact and noisy (paper, Eqs. 3 and 6), as logarithms.

    log a_pro(x)  = log v(x) + log q(x) + f̄(x)
    log a_npro(x) = log a_pro(x) + log v(x)/(v(x) + σ²_obs(x))

f̄ and v are the surrogate's latent mean and variance pooled over hyperparameter samples, and
σ²_obs is averaged over them. Δs² = v²/(v + σ²_obs) is what an observation at x takes off the
variance at x itself, all of v when it is exact.
"""

import numpy as np

from quell.acquisition.score import SurrogateScore
from quell.acquisition.situation import Situation
from quell.arrays import FloatArray
from quell.gp.gradients import LocalPrediction
from quell.gp.pooling import between_variance, pooled_mean


class Prospective:
    """Prospective uncertainty sampling, for exact evaluations (paper, Eq. 3).

    >>> from quell.gp import GaussianProcess, TrainingData
    >>> from quell.mixture import Mixture
    >>> data = TrainingData.from_arrays([[-1.0], [0.0]], [-0.5, 0.0])
    >>> gp = GaussianProcess.condition(data, [[0.0, 0.0, -5.0, 0.0, 0.0, 0.0]])
    >>> situation = Situation.of(gp, Mixture([1.0], [[0.0]], [1.0], [1.0]))
    >>> score = Prospective().prepare(np.random.default_rng(0), situation)
    >>> values = score.values([[-0.5], [0.5], [1.0], [4.0]])
    >>> int(values.argmax())     # uncertain, but not improbable
    2
    """

    noisy = False

    def prepare(self, rng: np.random.Generator, situation: Situation) -> "ProspectiveScore":  # noqa: ARG002
        """The score of a situation; uses no random numbers."""
        return ProspectiveScore(situation, self.noisy)


class NoisyProspective(Prospective):
    """Noise-adjusted prospective uncertainty sampling (paper, Eq. 6).

    >>> NoisyProspective().noisy, Prospective().noisy
    (True, False)
    """

    noisy = True


class ProspectiveScore(SurrogateScore):
    """log a_pro, or log a_npro where ``noisy``."""

    def __init__(self, situation: Situation, noisy: bool) -> None:
        super().__init__(situation)
        self.noisy = noisy

    def _scores(
        self, x: FloatArray, noise: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        mean, variance = self.gp.predict(x)
        weights = self.gp.weights
        pooled = pooled_mean(variance, weights) + between_variance(mean, weights)
        with np.errstate(divide="ignore"):  # no variance left: -inf
            log_v = np.log(pooled)
        score = log_v + self.situation.mixture.log_density(x) + pooled_mean(mean, weights)
        if self.noisy:
            score += log_v - np.log(pooled + pooled_mean(noise, weights))
        return score, mean, variance

    def _score_and_gradient(
        self, local: LocalPrediction, noise: FloatArray
    ) -> tuple[float, FloatArray]:
        mixture = self.situation.mixture
        mean, variance, by_mean, by_variance = local.pooled()
        if variance <= 0:
            return -np.inf, np.zeros_like(local.x)
        score = float(np.log(variance) + mixture.log_density(local.x) + mean)
        slope = 1 / variance
        if self.noisy:
            total = variance + float(self.gp.weights @ noise)
            score += float(np.log(variance / total))
            slope += 1 / variance - 1 / total
        return score, slope * by_variance + mixture.log_density_gradient(local.x) + by_mean
