"""Integrated median interquantile range (paper, Eqs. 8 and S19).

    loss_s(x) = 2 ∫ exp(f̄_s(a)) sinh(u s_x,s(a)) da / Z_s,

VIQR with the surrogate's own posterior in place of q. Points a are drawn for each
hyperparameter sample by MCMC from

    π_s(a) = exp(f̄_s(a)) 2 sinh(u s_s(a)) / Z_s,    s_s(a) the SD of f(a) now,

inside the training points' bounding box enlarged by half its width, and weighted by
exp(f̄_s)/π_s, that is by 1/(2 sinh(u s_s)). As in the reference implementation Z_s is left
unknown: each sample contributes the *fraction* of its loss that x leaves, so that none
dominates by the sheer height of its surrogate. The score is the logarithm of the weighted
average of the fractions that x removes.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from quell.acquisition.ensemble import sample_ensemble
from quell.acquisition.interquantile import ReductionScore, U, point_sds
from quell.acquisition.situation import Situation, training_box
from quell.arrays import FloatArray
from quell.gp import GaussianProcess
from quell.mixture import Mixture

#: Pilot points from the smoothed q, and as many from boxes around training points.
N_PILOT = 100
#: Fewest walkers of the ensemble; 2 (D + 1) where that is more (reference: always). Walkers of
#: a half move in one call, so that a larger ensemble is a cheaper one.
MIN_WALKERS = 20
#: Smoothed q: q and copies with this added to σ_k, in quadrature (reference implementation).
SMOOTHING = (0.05, 0.2, 1.0)
#: Half-width of the boxes around training points, in SDs of the training points.
BOX_HALF_WIDTH = 2.0


@dataclass(frozen=True)
class IMIQR:
    """Integrated median interquantile range, from ``n_points`` MCMC draws per sample.

    ``thin`` counts moves of single walkers (the paper's runs had 5); half as many moves as
    are kept and skipped in all come before as burn-in.

    >>> from quell.gp import TrainingData
    >>> data = TrainingData.from_arrays([[-1.0], [0.0], [0.8]], [-0.5, 0.0, -0.3], noise_sd=0.5)
    >>> gp = GaussianProcess.condition(data, [[0.0, 0.0, -5.0, 0.0, 0.0, 0.0]])
    >>> situation = Situation.of(gp, Mixture([1.0], [[0.0]], [1.0], [1.0]))
    >>> score = IMIQR().prepare(np.random.default_rng(0), situation)
    >>> values = score.values([[-0.5], [0.3], [1.3], [4.0]])
    >>> int(values.argmax())
    2
    """

    n_points: int = 100
    thin: int = 5

    def __post_init__(self) -> None:
        if self.n_points < 1 or self.thin < 1:
            raise ValueError(
                f"n_points and thin must be at least 1, got {self.n_points} and {self.thin}"
            )

    def prepare(self, rng: np.random.Generator, situation: Situation) -> ReductionScore:
        """Draw the points of the integral, separately for each hyperparameter sample."""
        gp = situation.gp
        points = np.stack([self._draw(rng, gp, s, situation.mixture) for s in range(gp.n_samples)])
        with np.errstate(divide="ignore"):  # a sample of weight 0 has no part
            log_weights = np.log(gp.weights / self.n_points)[:, None]
        log_weights = log_weights - log_two_sinh(U * point_sds(gp, points))
        return ReductionScore(situation, points, log_weights)

    def _draw(
        self, rng: np.random.Generator, gp: GaussianProcess, s: int, mixture: Mixture
    ) -> FloatArray:
        """Draws (n_points, D) from π_s."""
        lower, upper = training_box(gp, mixture)

        def log_target(x: FloatArray) -> FloatArray:
            mean, variance = gp.sample_moments(s, x)
            return np.asarray(mean + log_two_sinh(U * np.sqrt(variance)))

        pilot, log_density = pilot_draws(rng, gp, mixture)
        inside = ((pilot >= lower) & (pilot <= upper)).all(axis=1)
        # Distinct pilot points with probability ∝ π over the density they were drawn from.
        with np.errstate(invalid="ignore"):
            log_weight = log_target(pilot) - log_density
        log_weight = np.where(inside & np.isfinite(log_weight), log_weight, -np.inf)
        keys = log_weight + rng.gumbel(size=len(pilot))
        chosen = np.argsort(-keys, kind="stable")[: max(2 * (gp.dimension + 1), MIN_WALKERS)]
        return sample_ensemble(
            rng,
            log_target,
            np.clip(pilot[chosen], lower, upper),
            lower,
            upper,
            n_draws=self.n_points,
            thin=self.thin,
            burn_in=-(-self.thin * self.n_points // 2),
        )


def log_two_sinh(y: FloatArray) -> FloatArray:
    """log(2 sinh y) for y >= 0; -inf at 0.

    >>> log_two_sinh(np.array([0.0, 1e-9, 1.0, 1e5])).round(3)
    array([      -inf, -2.003e+01,  8.550e-01,  1.000e+05])
    """
    with np.errstate(divide="ignore"):
        return np.asarray(y + np.log(-np.expm1(-2 * y)))


def pilot_draws(
    rng: np.random.Generator, gp: GaussianProcess, mixture: Mixture
) -> tuple[FloatArray, FloatArray]:
    """Rough draws of where the surrogate may be high, (200, D), and their log density (200,).

    Half of them come from a smoothed q, half from uniform boxes around training points.
    """
    from scipy.spatial.distance import cdist  # slow to import

    q = mixture.normalised()
    copies = [np.hypot(q.scales, extra) for extra in (0.0, *SMOOTHING)]
    smooth = Mixture(
        np.tile(q.weights / len(copies), len(copies)),
        np.tile(q.means, (len(copies), 1)),
        np.concatenate(copies),
        q.lengths,
    )
    half_width = BOX_HALF_WIDTH * np.where(
        (spread := gp.x.std(axis=0)) > 0, spread, np.sqrt(q.covariance().diagonal())
    )
    centres = gp.x[rng.integers(len(gp.x), size=N_PILOT)]
    boxes = centres + half_width * rng.uniform(-1, 1, centres.shape)
    pilot = np.concatenate([smooth.sample(N_PILOT, rng, stratified=True), boxes])
    share = (cdist(pilot / half_width, gp.x / half_width, "chebyshev") <= 1).mean(axis=1)
    with np.errstate(divide="ignore"):
        log_boxes = np.log(share) - np.log(2 * half_width).sum()
    mixed = logsumexp([smooth.log_density(pilot), log_boxes], axis=0) - np.log(2)
    return pilot, np.asarray(mixed)
