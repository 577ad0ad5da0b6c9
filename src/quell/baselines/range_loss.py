"""What GP-IMIQR expects of an evaluation: its loss, and the points that is summed over.

The loss is the integrated median interquantile range (paper, Eq. 8; Järvenpää et al. 2021).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quell.acquisition.ensemble import LogDensity, sample_ensemble
from quell.acquisition.imiqr import log_two_sinh
from quell.acquisition.interquantile import U
from quell.acquisition.noise import NoiseTable
from quell.arrays import FloatArray
from quell.baselines.basis_process import BasisProcess
from quell.baselines.noise import known_sds
from quell.baselines.places import Places
from quell.evaluations import Evaluations
from quell.problem import Problem
from quell.vbmc.low_values import resolved_depth

#: Variance of the noise of a new evaluation, as the authors' code looks ahead.
NEXT_TO_NOTHING = 1e-4
#: SD of values without noise.
EXACT_SD = float(max(np.sqrt(1e-5), 1e-3))
#: Points per side of the grid that the loss is summed over, in one dimension and in two.
GRID = {1: 100, 2: 50}
#: Points of the grid with less than e to the minus this of the largest term are left out.
NEGLIGIBLE = 25.0
#: Points of the loss in more dimensions, and the moves of walkers before and between them.
N_POINTS, POINTS_BURN_IN, POINTS_THIN = 500, 2000, 4
#: Walkers, and the spread with which they start around the best point, in widths of the box.
N_WALKERS, WALKER_SPREAD = 100, 0.02


@dataclass(frozen=True, eq=False)
class Known:
    """The evaluations as GP-IMIQR sees them.

    ``x`` (N, D); log-likelihoods ``y`` (N,) with SDs ``sd`` (N,); ``single_sd`` those of one
    evaluation, where several were made at a point.
    """

    places: Places
    x: FloatArray
    y: FloatArray
    sd: FloatArray
    single_sd: FloatArray

    @classmethod
    def of(cls, problem: Problem, table: Evaluations, fair: bool) -> "Known":
        """The evaluations of a table; failed ones are left out.

        Where the likelihood is zero, and its logarithm has no value, it is taken for lower than
        anything that matters.
        """
        places = Places.of(problem, own=not fair)
        merged = table.merge_duplicates()
        sd = np.full(len(merged), EXACT_SD)
        if problem.noise != "exact":
            sd = np.maximum(known_sds(merged.sd), EXACT_SD)
        single_sd = sd * np.sqrt(merged.count)
        zero = table.theta[table.zero_density & (table.log_prior > -np.inf)]
        y = merged.value
        depth = resolved_depth(problem.space.dimension)
        low = np.full(len(zero), min(float(y.min()), float(y.max()) - depth))
        typical = np.full(len(zero), np.median(sd))
        return cls(
            places,
            places.to_x(np.concatenate([merged.theta, zero])),
            np.concatenate([y, low]),
            np.append(sd, typical),
            np.append(single_sd, typical),
        )

    def surrogate(self, h: FloatArray, pending: FloatArray | None = None) -> BasisProcess:
        """The surrogate with these hyperparameters; ``pending`` (n, D_full) have no value yet."""
        out = self.places.to_x(pending) if pending is not None and len(pending) else None
        expected = float(np.median(self.single_sd))
        return BasisProcess.of(self.x, self.y, self.sd**2, h, out, expected)

    def noise_table(self, surrogate: BasisProcess) -> NoiseTable:
        """The noise of a new evaluation: that of the nearest one (paper, Eq. S13)."""
        return NoiseTable(self.x, self.single_sd, surrogate.z.hyper[0].lengths)


def loss_points(
    rng: np.random.Generator, surrogate: BasisProcess, known: Known
) -> tuple[FloatArray, FloatArray]:
    """Points (A, D) that the loss is summed over, and their log weights (A,).

    A grid in one or two dimensions; else draws of prior · e^f̄ · sinh(u s), each weighing one over
    that density (Järvenpää et al. 2021, section 4).
    """
    box = known.places.box

    def log_terms(x: FloatArray) -> FloatArray:
        mean, variance = surrogate.predict(x)
        return np.asarray(mean + log_two_sinh(U * np.sqrt(variance)) + known.places.log_prior(x))

    if box.dimension in GRID:
        side = (np.arange(GRID[box.dimension]) + 0.5) / GRID[box.dimension]
        unit = np.stack(np.meshgrid(*[side] * box.dimension, indexing="ij"), axis=-1)
        points = box.lower + known.places.width * unit.reshape(-1, box.dimension)
        terms = log_terms(points)
        counts = terms > terms.max() - NEGLIGIBLE
        points, terms = points[counts], terms[counts]
    else:
        points = walk(rng, log_terms, known, N_POINTS, burn_in=POINTS_BURN_IN, thin=POINTS_THIN)
        terms = np.zeros(len(points))
    _, variance = surrogate.predict(points)
    return points, terms - log_two_sinh(U * np.sqrt(variance))


class RangeReduction:
    """By how much an evaluation at x lowers the loss: log Σ_a W_a 2 [sinh(u s_a) − sinh(u s'_a)].

    s_a is the SD of f at the point a now and s'_a(x) that after an evaluation at x (paper, Eqs. 5
    and 8). ``noise`` says how noisy that is expected to be; None for next to nothing.
    """

    def __init__(
        self, surrogate: BasisProcess, points: FloatArray, log_weights: FloatArray,
        noise: NoiseTable | None = None,
    ) -> None:  # fmt: skip
        self._surrogate, self._points, self._noise = surrogate, points, noise
        self._features = surrogate.features(points)
        self._variance = surrogate.variance(self._features)
        self._sd = np.sqrt(self._variance)
        exponents = log_weights + U * self._sd
        self._scale = float(exponents.max())
        self._terms = np.exp(exponents - self._scale)

    def values(self, x: ArrayLike) -> FloatArray:
        """Scores (n,) at points (n, D)."""
        x = np.asarray(x, dtype=np.float64)
        features = self._surrogate.features(x)
        noise = NEXT_TO_NOTHING if self._noise is None else self._noise.sd_at(x) ** 2
        total = self._surrogate.variance(features) + noise
        covariance = self._surrogate.covariance(x, features, self._points, self._features)
        gained = np.minimum(covariance**2 / total[:, None], self._variance)
        total_sd = self._sd + np.sqrt(self._variance - gained)
        # 2 [sinh us − sinh us'] = e^us (1 + e^{−u(s + s')}) (1 − e^{−u(s − s')})
        reduction = (1 + np.exp(-U * total_sd)) * -np.expm1(-U * gained / total_sd)
        with np.errstate(divide="ignore"):
            return np.asarray(self._scale + np.log(reduction @ self._terms))


def walk(
    rng: np.random.Generator, log_density: LogDensity, known: Known, n: int, *, burn_in: int,
    thin: int = 1,
) -> FloatArray:  # fmt: skip
    """``n`` draws (n, D) of a density in the box, by walkers from the best known point on."""
    box, width = known.places.box, known.places.width
    inside = box.clip(known.x)
    values = log_density(inside)
    best = inside[np.argmax(np.where(np.isnan(values), -np.inf, values))]
    walkers = box.clip(best + WALKER_SPREAD * width * rng.standard_normal((N_WALKERS, len(best))))
    lost = ~np.isfinite(log_density(walkers))  # where the prior is zero
    close = best + 1e-6 * width * rng.standard_normal((int(lost.sum()), len(best)))
    walkers[lost] = box.clip(close)
    return sample_ensemble(
        rng, log_density, walkers, box.lower, box.upper, n_draws=n, burn_in=burn_in, thin=thin
    )
