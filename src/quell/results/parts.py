"""A posterior as normal distributions in the standardised coordinates v, and on whole numbers.

Component k of a mixture is N(m_k, σ_k² C) in v, C being common to all. With integers I among the
parameters the posterior is what the mixture says at whole numbers, and nowhere else: the target is
known there only, and between them the mixture is a smooth line drawn through points. At n, whole
numbers for all of I, component k has the density N(v_I(n); m_kI, σ_k² C_II) Π_I dv_i/dn, and the
others are normal given that. So the posterior is again a sum of normal distributions, one for each
component and each n; `log_mass` is the logarithm of what their weights sum to. Multiplied by it,
the integral of the mixture's log joint over v_I becomes the sum over n.
"""

from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from quell.arrays import BoolArray, FloatArray
from quell.mixture import Mixture
from quell.mixture.mixture import even_components
from quell.space import InferenceSpace

#: SDs of a component in which whole numbers are looked for.
REACH = 6.0
#: An integer of which every component has an SD of at least this is as good as continuous: the
#: sum over whole numbers is the integral to all digits, and rounding a draw adds 1 % to the
#: variance.
WIDE = 3.0
#: Normal distributions at most; the widest integers are taken as continuous until there are so few.
MOST_PARTS = 4096
#: Logarithm of the share below which a part is left out.
NEGLIGIBLE = -30.0


@dataclass(frozen=True, eq=False)
class Parts:
    """M normal distributions in v: v = ``means`` + ``scales`` ``factor`` z, with z standard normal.

    ``weights`` (M,) sum to one, ``means`` are (M, D), ``scales`` (M,), and ``factor`` (D, R) is
    common to all. ``whole`` (D,) marks the coordinates that are whole numbers, whose rows of the
    factor are zero; ``integers`` (M, D) has these numbers, and nan elsewhere.
    """

    weights: FloatArray
    means: FloatArray
    scales: FloatArray
    factor: FloatArray
    whole: BoolArray
    integers: FloatArray
    log_mass: float = 0.0

    @classmethod
    def of(
        cls, mixture: Mixture, space: InferenceSpace, integer: BoolArray,
        columns: NDArray[np.intp] | None = None,
    ) -> "Parts":  # fmt: skip
        """The posterior with this mixture; ``integer`` (n,) marks parameters among all.

        Integers that are as good as continuous are taken as such, unless ``columns`` says which of
        the free coordinates are whole numbers.
        """
        used = mixture.weights > 0
        to_v = space.rotation * space.scales  # for column vectors: v = (R diag(s)) x
        parts = cls(
            mixture.weights[used],
            mixture.means[used] @ to_v.T,
            mixture.scales[used],
            to_v * mixture.lengths,
            np.zeros(space.dimension, bool),
            np.full((int(used.sum()), space.dimension), np.nan),
        )
        if columns is None:
            columns = parts._few(space, np.flatnonzero(integer[space.free]))
        return parts._on(space, columns)

    def along(self, column: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Weights, means and SDs, (M,) each, in one coordinate."""
        spread = np.sqrt((self.factor[column] ** 2).sum())
        return self.weights, self.means[:, column], self.scales * spread

    @cached_property
    def correlation(self) -> FloatArray:
        """Correlations (D, D) within any part; 0 of what does not vary there."""
        size = np.sqrt((self.factor**2).sum(axis=1))
        factor = self.factor / np.where(size > 0, size, 1.0)[:, None]
        return np.clip(factor @ factor.T, -1.0, 1.0)

    def sample(self, n: int, rng: np.random.Generator, space: InferenceSpace) -> FloatArray:
        """Draws θ (n, n_parameters); shares of the parts vary as little as n allows."""
        part = even_components(n, self.weights, rng)
        z = rng.standard_normal((n, self.factor.shape[1]))
        v = self.means[part] + self.scales[part, None] * (z @ self.factor.T)
        return self._put_back(space, part, v)

    def centres(self, space: InferenceSpace) -> FloatArray:
        """The middle θ (M, n_parameters) of each part."""
        return self._put_back(space, np.arange(len(self.weights)), self.means)

    def _put_back(self, space: InferenceSpace, part: NDArray[np.intp], v: FloatArray) -> FloatArray:
        theta = space.to_original((v @ space.rotation) / space.scales)
        columns = np.flatnonzero(space.free)[self.whole]
        theta[:, columns] = self.integers[np.ix_(part, np.flatnonzero(self.whole))]
        return theta

    def probabilities(self, column: int) -> tuple[FloatArray, FloatArray]:
        """The values (n,) of one of the ``whole`` coordinates, and their probabilities (n,)."""
        values, at = np.unique(self.integers[:, column], return_inverse=True)
        return values, np.asarray(np.bincount(at, self.weights), dtype=np.float64)

    def _few(self, space: InferenceSpace, columns: NDArray[np.intp]) -> NDArray[np.intp]:
        """Those of the integer ``columns`` that count as whole numbers."""
        sizes: dict[int, FloatArray] = {}
        for column in columns:
            _, means, sds = self.along(int(column))
            one = space.coordinate(int(np.flatnonzero(space.free)[column]))
            wide = one.value(means + sds) - one.value(means - sds) >= 2.0 * WIDE
            if not wide.all():
                low, high = (one.value(means + side * REACH * sds) for side in (-1.0, 1.0))
                sizes[int(column)] = np.rint(high) - np.rint(low) + 1.0
        while sizes and np.prod(list(sizes.values()), axis=0).sum() > MOST_PARTS:
            sizes.pop(max(sizes, key=lambda column: float(sizes[column].sum())))
        return np.array(list(sizes), dtype=np.intp)

    def _on(self, space: InferenceSpace, columns: NDArray[np.intp]) -> "Parts":
        """The same where these coordinates are whole numbers."""
        if not len(columns):
            return self
        part, numbers, v, log_slope = self._numbers(space, columns)
        rest = np.setdiff1d(np.arange(len(self.whole)), columns)
        covariance = self.factor @ self.factor.T
        own = np.linalg.cholesky(covariance[np.ix_(columns, columns)])
        away = (v - self.means[:, columns][part]).T
        z = solve_triangular(own, away / self.scales[part], lower=True)
        log = np.log(self.weights[part]) - 0.5 * (z**2).sum(axis=0) - log_slope
        log -= len(columns) * (np.log(self.scales[part]) + 0.5 * np.log(2 * np.pi))
        log -= np.log(np.diag(own)).sum()
        kept = log > log.max() + NEGLIGIBLE
        part, numbers, v, z, log = part[kept], numbers[kept], v[kept], z[:, kept], log[kept]
        weights = np.exp(log - log.max())
        means, integers = self.means[part], np.full((len(part), len(self.whole)), np.nan)
        means[:, columns], integers[:, columns] = v, numbers
        # The others given these: their part of the factor that is orthogonal to that of these.
        factor = np.zeros_like(self.factor)
        line = solve_triangular(own, covariance[np.ix_(columns, rest)], lower=True)  # (I, J)
        means[:, rest] += self.scales[part, None] * (z.T @ line)
        basis = solve_triangular(own, self.factor[columns], lower=True)  # orthonormal rows
        factor[rest] = self.factor[rest] - line.T @ basis
        whole = np.isin(np.arange(len(self.whole)), columns)
        return Parts(
            weights / weights.sum(), means, self.scales[part], factor, whole, integers,
            float(np.log(weights.sum()) + log.max()),
        )  # fmt: skip

    def _numbers(
        self, space: InferenceSpace, columns: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], FloatArray, FloatArray, FloatArray]:
        """The part of each entry, its whole numbers (N, I), these in v, and the log slopes (N,)."""
        parts, rows = [], []
        free = np.flatnonzero(space.free)
        ones = [space.coordinate(int(free[column])) for column in columns]
        lower, upper = space.bounds.lower[free[columns]], space.bounds.upper[free[columns]]
        reach = [self.along(int(column)) for column in columns]
        for k in range(len(self.weights)):
            within = []
            for one, (_, means, sds), low, high in zip(ones, reach, lower, upper, strict=True):
                ends = one.value(means[k] + np.array([-1.0, 1.0]) * REACH * sds[k])
                first, last = np.clip(np.rint(ends), low + 0.5, high - 0.5)
                within.append(np.arange(first, last + 1.0))
            grid = np.stack(np.meshgrid(*within, indexing="ij"), axis=-1).reshape(-1, len(columns))
            parts.append(np.full(len(grid), k))
            rows.append(grid)
        numbers = np.concatenate(rows)
        v = np.stack([one.standard(numbers[:, i]) for i, one in enumerate(ones)], axis=1)
        slopes = [one.log_slope(v[:, i]) for i, one in enumerate(ones)]
        return np.concatenate(parts), numbers, v, reduce(np.add, slopes)
