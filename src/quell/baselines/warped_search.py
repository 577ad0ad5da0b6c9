"""WSABI's view of the evaluations, and where it looks for the next one."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quell.acquisition.search import SearchBox
from quell.arrays import FloatArray
from quell.baselines.noise import known_sds
from quell.baselines.warped import Measure, SquareRootSurrogate, Warped
from quell.evaluations import Evaluations
from quell.problem import Problem

#: SDs of the measure π, in widths of the plausible box (reference implementation).
MEASURE_SD = 0.5
#: Candidates for the next point; the share of them from π; and the size of steps around known
#: points, as a part of the covariance of the better ones (reference implementation).
N_CANDIDATES, MEASURE_SHARE, STEP_SHARE = 1024, 0.1, 0.01
#: The next point lies in the plausible box and so many SDs of π around it, or next to known ones.
BOX_SDS, BOX_MARGIN = 6.0, 0.1
#: While there are fewer points, candidates are spread over the box and no fit is made.
FEW = 4


@dataclass(frozen=True, eq=False)
class Known:
    """The evaluations as WSABI sees them.

    ``x`` (N, D) in inference space; ``log_weight`` (N,) the log joint there, -inf for zero
    density; ``warped`` the square roots.
    """

    x: FloatArray
    log_weight: FloatArray
    warped: Warped
    measure: Measure

    @classmethod
    def of(cls, problem: Problem, table: Evaluations, noise_aware: bool) -> "Known":
        """The evaluations of a table; failed ones are left out, zero density is a value."""
        space = problem.space
        merged = table.merge_duplicates()
        zero = table.theta[table.zero_density]
        x = space.to_inference(np.concatenate([merged.theta, zero]))
        y = np.concatenate([merged.log_joint, np.full(len(zero), -np.inf)]) + space.log_jacobian(x)
        measure = Measure(np.zeros(space.dimension), np.full(space.dimension, MEASURE_SD**2))
        sd = None
        if noise_aware:
            sd = np.append(known_sds(merged.sd), np.zeros(len(zero)))
        return cls(x, y, Warped.of(y - measure.log_density(x), sd), measure)

    def surrogate(self, h: FloatArray, pending: FloatArray | None = None) -> SquareRootSurrogate:
        """The surrogate with these hyperparameters, and points (n, D) under evaluation."""
        return SquareRootSurrogate.of(self.x, self.warped, self.measure, h, pending)

    def box(self) -> SearchBox:
        """Where points are searched for, and draws made."""
        reach = 0.5 + BOX_SDS * MEASURE_SD
        low, high = self.x.min(axis=0), self.x.max(axis=0)
        margin = BOX_MARGIN * (high - low)
        return SearchBox(np.minimum(low - margin, -reach), np.maximum(high + margin, reach))


class Uncertainty:
    """The score of the search for the next point."""

    def __init__(self, surrogate: SquareRootSurrogate) -> None:
        self._surrogate = surrogate

    def values(self, x: ArrayLike) -> FloatArray:
        """Scores (n,) at points (n, D)."""
        return self._surrogate.uncertainty(np.asarray(x, dtype=np.float64))


def candidates(rng: np.random.Generator, known: Known, box: SearchBox) -> FloatArray:
    """Points (n, D) to begin the search from, around what is known and from the measure.

    A tenth from π; half of the rest around known points, chosen with probability ∝ the root of
    their weight; the others from a normal with the moments of the better half of them, or uniform
    in the box while there are few.
    """
    n, dimension = known.x.shape
    n_measure = round(MEASURE_SHARE * N_CANDIDATES)
    n_around = (N_CANDIDATES - n_measure) // 2 if n >= FEW else 0
    n_rest = N_CANDIDATES - n_measure - n_around
    parts = [
        known.measure.centre
        + np.sqrt(known.measure.variance) * rng.standard_normal((n_measure, dimension))
    ]
    centre, covariance = better_half(known)
    if n_around:
        share = np.exp(0.5 * (known.log_weight - known.log_weight.max()))
        around = known.x[rng.choice(n, size=n_around, p=share / share.sum())]
        _, about_first = better_half(known, about=known.x[0])
        root = np.linalg.cholesky(STEP_SHARE * about_first)
        parts.append(around + rng.standard_normal((n_around, dimension)) @ root.T)
    if n <= max(FEW, dimension):
        parts.append(rng.uniform(box.lower, box.upper, (n_rest, dimension)))
    else:
        root = np.linalg.cholesky(covariance)
        parts.append(centre + rng.standard_normal((n_rest, dimension)) @ root.T)
    return np.concatenate(parts)


def better_half(known: Known, about: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Mean (D,) and covariance (D, D), ``about`` a point or the mean, of the better points.

    Their weights fall with the rank as log((n + 1)/2) − log(rank), as those of CMA-ES.
    """
    n, dimension = known.x.shape
    best = np.argsort(-known.log_weight, kind="stable")[: max(1, (n + 1) // 2)]
    weight = np.log(0.5 * n + 0.5) - np.log(np.arange(1, len(best) + 1))
    weight = np.maximum(weight, 0.0) if n > 1 else np.ones(1)
    weight = weight / weight.sum()
    mean = weight @ known.x[best]
    offsets = known.x[best] - (mean if about is None else about)
    covariance = (weight[:, None] * offsets).T @ offsets
    # Fewer points than dimensions span no volume.
    return mean, covariance + 1e-6 * np.eye(dimension)
