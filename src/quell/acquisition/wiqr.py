"""Weighted interquantile range: the loss of IMIQR by importance sampling from around q.

    loss_s(x) = 2 ∫ exp(f̄_s(a)) sinh(u s_x,s(a)) da / Z_s,    Z_s = ∫ exp(f̄_s(a)) da

VIQR asks only where q is high, so a q that has lost part of the mass, the far end of a ridge for
one, is not found out. IMIQR asks where the surrogate is high, at the price of MCMC. Here the
points come from q and from a copy of q spread out around its mean, and are weighted by exp(f̄_s)
over their density: where q is right the weights are about even among its own draws and next to
nothing outside. Weights above 1/√n are cut to that. The loss is Eqs. 8 and S19 of the paper; the
share and reach of the far draws come from docs/experiments/ridges.md.

The loss is not averaged over hyperparameter samples as in the paper: each point is chosen for one
sample, drawn at random, so that over a few points all of them have their say. That makes the search
as cheap as with a single sample.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from quell.acquisition.draws import mixture_draws
from quell.acquisition.interquantile import ReductionScore
from quell.acquisition.situation import Situation, only_within
from quell.arrays import FloatArray
from quell.mixture import Mixture


@dataclass(frozen=True)
class WIQR:
    """Weighted interquantile range, from ``n_points`` quasi-random draws.

    A share ``far`` of them is spread ``reach`` times as far from the mean of q as q is.

    >>> from quell.gp import GaussianProcess, TrainingData
    >>> data = TrainingData.from_arrays([[-1.0], [0.0]], [-0.5, 0.0], noise_sd=0.5)
    >>> gp = GaussianProcess.condition(data, [[0.0, 0.0, -5.0, 0.0, 0.0, 0.0]])
    >>> situation = Situation.of(gp, Mixture([1.0], [[0.0]], [1.0], [1.0]))
    >>> score = WIQR().prepare(np.random.default_rng(0), situation)
    >>> values = score.values([[-0.5], [0.3], [1.3], [4.0]])
    >>> int(values.argmax())
    2
    """

    n_points: int = 150
    far: float = 0.5
    reach: float = 2.0

    def __post_init__(self) -> None:
        if self.n_points < 1:
            raise ValueError(f"n_points must be at least 1, got {self.n_points}")
        if not 0 < self.far < 1:
            raise ValueError(f"far must be between 0 and 1, got {self.far}")
        if not self.reach > 1:
            raise ValueError(f"reach must be more than 1, got {self.reach}")

    def prepare(self, rng: np.random.Generator, situation: Situation) -> ReductionScore:
        """Draw the points of the integral, and weigh them for one hyperparameter sample."""
        points, log_density = self._draw(rng, situation.mixture)
        used = only_within(situation, points)
        points, log_density = points[used], log_density[used]
        gp = situation.gp.only(int(rng.choice(situation.gp.n_samples, p=situation.gp.weights)))
        log_weights = _normalised(gp.predict_mean(points) - log_density)
        log_weights = _normalised(np.minimum(log_weights, -0.5 * np.log(len(points))))
        return ReductionScore(replace(situation, gp=gp), points, log_weights)

    def _draw(self, rng: np.random.Generator, q: Mixture) -> tuple[FloatArray, FloatArray]:
        """Points (n, D) from q and its wider copy, and the log density (n,) of both together."""
        centre = q.mean()
        points = mixture_draws(rng, self.n_points, q)
        is_far = rng.random(self.n_points) < self.far
        points[is_far] = centre + self.reach * (points[is_far] - centre)
        near = q.log_density(points)
        wide = q.log_density(centre + (points - centre) / self.reach)
        wide = wide - q.dimension * np.log(self.reach)
        return points, np.logaddexp(np.log1p(-self.far) + near, np.log(self.far) + wide)


def _normalised(log_weights: FloatArray) -> FloatArray:
    return log_weights - np.asarray(logsumexp(log_weights, axis=1, keepdims=True))
