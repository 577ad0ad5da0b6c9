"""Expected information gain about the expected log joint (paper, Eqs. 7 and S14 to S18).

Per hyperparameter sample, with G = ∫ q f dx and an observation y at x,

    I[G; y] = -½ log(1 - ρ²(x)),   ρ²(x) = Cov[G, f(x)]² / ((v(x) + σ²_obs(x)) V[G]),

that is -½ log of the fraction of V[G] which the observation leaves. Gains are averaged over
the samples; the score is the logarithm of the average, because gains span orders of magnitude.
"""

import numpy as np

from quell.acquisition.lookahead import Lookahead
from quell.acquisition.score import SurrogateScore
from quell.acquisition.situation import Situation
from quell.arrays import FloatArray
from quell.gp.gradients import LocalPrediction
from quell.mixture import Mixture
from quell.quadrature import Quadrature

# 1 - ρ² is not taken to be smaller: V[G] after an exact observation is zero up to rounding.
_REMAINDER = 1e-12


class ExpectedInformationGain:
    """Mutual information of a new observation and the expected log joint (paper, Eq. 7).

    >>> from quell.gp import GaussianProcess, TrainingData
    >>> data = TrainingData.from_arrays([[-1.0], [0.0]], [-0.5, 0.0])
    >>> gp = GaussianProcess.condition(data, [[0.0, 0.0, -5.0, 0.0, 0.0, 0.0]])
    >>> situation = Situation.of(gp, Mixture([1.0], [[0.0]], [1.0], [1.0]))
    >>> score = ExpectedInformationGain().prepare(np.random.default_rng(0), situation)
    >>> values = score.values([[-0.5], [0.3], [1.3], [4.0]])
    >>> int(values.argmax())
    2
    """

    def prepare(self, rng: np.random.Generator, situation: Situation) -> "InformationScore":  # noqa: ARG002
        """The score of a situation; uses no random numbers."""
        return InformationScore(situation)


class InformationScore(SurrogateScore):
    """log Σ_s w_s I_s[G; y]."""

    def __init__(self, situation: Situation) -> None:
        super().__init__(situation)
        gp, mixture = situation.gp, situation.mixture
        quadrature = Quadrature(gp)
        self.ahead = Lookahead(gp, Integral(quadrature, mixture))
        self.integral_variance = quadrature.moments(mixture).sample_variances

    def _scores(
        self, x: FloatArray, noise: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        mean, variance = np.empty_like(noise), np.empty_like(noise)
        gain = np.zeros(len(x))
        for s, (mean_s, variance_s, covariance) in enumerate(self.ahead.samples(x)):
            mean[s], variance[s] = mean_s, variance_s
            total = variance_s + noise[s]
            rho_squared = covariance[:, 0] ** 2 / (total * self.integral_variance[s])
            gain -= 0.5 * self.gp.weights[s] * np.log1p(-np.minimum(rho_squared, 1 - _REMAINDER))
        with np.errstate(divide="ignore"):
            return np.log(gain), mean, variance

    def _score_and_gradient(
        self, local: LocalPrediction, noise: FloatArray
    ) -> tuple[float, FloatArray]:
        prior, covariance = self.ahead.local(local)
        covariance = covariance[:, 0]
        total = local.variance + noise
        rho_squared = np.minimum(covariance**2 / (total * self.integral_variance), 1 - _REMAINDER)
        gain = -0.5 * float(self.gp.weights @ np.log1p(-rho_squared))
        if not gain > 0:
            return -np.inf, np.zeros_like(local.x)
        by_rho_squared = 0.5 * self.gp.weights / (1 - rho_squared) / gain
        by_covariance = by_rho_squared * 2 * covariance / (total * self.integral_variance)
        by_variance = -by_rho_squared * rho_squared / total
        gradient = self.ahead.local_gradient(local, prior, by_covariance[:, None], by_variance)
        return float(np.log(gain)), gradient


class Integral:
    """The one target G = ∫ q f dx, whose prior covariance with f(x) is (paper, Eq. S18)

    c(x) = Σ_k w_k E_k[κ(·, x)].
    """

    def __init__(self, quadrature: Quadrature, mixture: Mixture) -> None:
        self.kernel_means = quadrature.kernel_means(mixture)
        self.weights = mixture.weights

    def prior(self, s: int, x: FloatArray) -> FloatArray:
        """c at points (n, D) under sample ``s``, (n, 1)."""
        return (self.weights @ self.kernel_means.at(x, slice(s, s + 1))[0])[:, None]

    def local_prior(self, x: FloatArray) -> FloatArray:
        """c at one point (D,) under all samples, (S, 1)."""
        return self.kernel_means.at(x[None])[..., 0] @ self.weights[:, None]

    def local_prior_gradient(
        self,
        x: FloatArray,
        prior: FloatArray,  # noqa: ARG002 - the sum over k, of no use here
        coefficients: FloatArray,
    ) -> FloatArray:
        """Σ_s g_s ∂c/∂x, (D,)."""
        return self.kernel_means.gradient(x, coefficients * self.weights)
