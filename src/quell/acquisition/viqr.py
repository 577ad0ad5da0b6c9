"""Variational interquantile range (paper, Eq. 9).

    loss(x) = 2 ∫ q(a) sinh(u s_x(a)) da,   s_x(a) the SD of f(a) after an observation at x,

averaged over hyperparameter samples. The integral is a mean over draws from q, the same for
all samples and candidates; the score is the logarithm of the loss's reduction.
"""

from dataclasses import dataclass

import numpy as np

from quell.acquisition.draws import mixture_draws
from quell.acquisition.interquantile import ReductionScore
from quell.acquisition.situation import Situation, only_within


@dataclass(frozen=True)
class VIQR:
    """Variational interquantile range, from ``n_points`` quasi-random draws of q.

    The paper has 100 plain draws; quasi-random ones, with their shares of the components
    fixed, estimate the same integral with less noise.

    >>> from quell.gp import GaussianProcess, TrainingData
    >>> from quell.mixture import Mixture
    >>> data = TrainingData.from_arrays([[-1.0], [0.0]], [-0.5, 0.0], noise_sd=0.5)
    >>> gp = GaussianProcess.condition(data, [[0.0, 0.0, -5.0, 0.0, 0.0, 0.0]])
    >>> situation = Situation.of(gp, Mixture([1.0], [[0.0]], [1.0], [1.0]))
    >>> score = VIQR().prepare(np.random.default_rng(0), situation)
    >>> values = score.values([[-0.5], [0.3], [1.0], [4.0]])
    >>> int(values.argmax())
    2
    """

    n_points: int = 100

    def __post_init__(self) -> None:
        if self.n_points < 1:
            raise ValueError(f"n_points must be at least 1, got {self.n_points}")

    def prepare(self, rng: np.random.Generator, situation: Situation) -> ReductionScore:
        """Draw the points of the integral."""
        points = mixture_draws(rng, self.n_points, situation.mixture)
        points = points[only_within(situation, points)]
        with np.errstate(divide="ignore"):  # a sample of weight 0 has no part
            log_weights = np.log(situation.gp.weights / len(points))
        shape = (situation.gp.n_samples, len(points))
        return ReductionScore(situation, points, np.broadcast_to(log_weights[:, None], shape))
