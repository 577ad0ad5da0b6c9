"""A mixture that ends at the edge of a support: what has no closed form there, from draws.

Draws beyond the edge are rejected. The share that is kept normalises the density, and moments and
marginals are those of draws kept, always the same ones.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from quell.arrays import FloatArray
from quell.problem.constraint import Support
from quell.results.marginal import Marginal

#: Draws θ (n, D) of the mixture, given n and where the randomness comes from.
Draw = Callable[[int, np.random.Generator], FloatArray]

#: Draws behind moments and marginals, whose errors are then 1 % of an SD; and draws that show
#: whether any of the mixture is outside.
N_DRAWS, FEW_DRAWS = 20_000, 1_000
#: Bins of equal probability in which the density of a marginal is corrected.
N_BINS = 40
#: SDs beyond which a normal distribution has nothing.
FAR = 40.0
#: Rounds of drawing before giving up, and before there must be something; and draws that will do
#: where they are hard to find.
MOST_ROUNDS, FIRST_ROUNDS, FEWEST_DRAWS = 50, 5, 100


@dataclass(frozen=True, eq=False)
class Kept:
    """Draws ``theta`` (n, D) in the support, and the ``share`` of all draws that they are."""

    theta: FloatArray
    share: float


def draw_inside(n: int, rng: np.random.Generator, draw: Draw, support: Support) -> Kept:
    """``n`` draws in the support, or as many as a few rounds give, but at least a hundred.

    ``ValueError`` if next to nothing of the mixture is there.
    """
    parts, found, tried = [np.empty((0, draw(1, rng).shape[1]))], 0, 0
    size = max(n, FEW_DRAWS)
    for i in range(MOST_ROUNDS):
        theta = draw(size, rng)
        theta = theta[support(theta)]
        parts.append(theta)
        found, tried = found + len(theta), tried + size
        late = i + 1 >= FIRST_ROUNDS
        if found >= n or (late and found >= FEWEST_DRAWS):
            return Kept(np.concatenate(parts)[:n], found / tried)
        if late and not found:
            break
    raise ValueError(
        f"only {found} of {tried} draws of the posterior are where the prior is positive and the "
        "constraint holds: the run has not found the posterior there"
    )


@dataclass(frozen=True, eq=False, repr=False)
class CutMarginal(Marginal):
    """The marginal of one parameter of a posterior that ends at the edge of a support.

    That of the mixture, times a ``factor`` (B,) between neighbouring ``ends`` (B + 1,) in v, by
    which every one of the B bins has the probability that the draws in the support say. ``centre``
    and ``spread`` are mean and SD of these draws.
    """

    ends: FloatArray
    factor: FloatArray
    centre: float
    spread: float

    @classmethod
    def of(cls, whole: Marginal, values: FloatArray) -> "CutMarginal":
        """The marginal of the draws' values (n,), given that of the ``whole`` mixture."""
        v = np.sort(whole.space.standard_coordinate(whole.parameter, values)[1])
        ends = np.unique(np.quantile(v, np.linspace(0.0, 1.0, N_BINS + 1)))
        ends[0], ends[-1] = v[0] - 1e-9 * (1 + abs(v[0])), v[-1] + 1e-9 * (1 + abs(v[-1]))
        if whole.integer:
            ends = _between_integers(whole, values)
        counts = np.diff(np.searchsorted(v, ends, side="right"))
        below = whole._standard_cdf(ends)
        factor = counts / len(v) / np.maximum(np.diff(below), np.finfo(np.float64).tiny)
        same = {field.name: getattr(whole, field.name) for field in fields(whole)}
        centre, spread = float(np.mean(values)), float(np.std(values, ddof=1))
        return cls(**same, ends=ends, factor=factor, centre=centre, spread=spread)

    def support(self) -> tuple[float, float]:
        """The ends of the values of positive density, as far as the draws tell."""
        if self.space.bounds.periodic[self.parameter]:
            return super().support()
        low, high = self.space.coordinate(self.parameter).value(self.ends[[0, -1]])
        return float(low), float(high)

    def _moments(self) -> tuple[float, float]:
        return self.centre, self.spread

    def _corrected(self, density: FloatArray, v: FloatArray) -> FloatArray:
        bins = np.searchsorted(self.ends, v, side="right") - 1
        known = (bins >= 0) & (bins < len(self.factor))
        factor = self.factor[np.clip(bins, 0, len(self.factor) - 1)]
        return np.where(known, factor * density, 0.0)

    def _standard_cdf(self, v: FloatArray) -> FloatArray:
        below = super()._standard_cdf(self.ends)
        steps = np.concatenate([[0.0], np.cumsum(self.factor * np.diff(below))])
        bins = np.clip(np.searchsorted(self.ends, v, side="right") - 1, 0, len(self.factor) - 1)
        at = super()._standard_cdf(np.clip(v, self.ends[0], self.ends[-1]))
        return np.minimum(steps[bins] + self.factor[bins] * (at - below[bins]), 1.0)


def _between_integers(whole: Marginal, values: FloatArray) -> FloatArray:
    """Ends of bins in v that lie between integers: a value k stands for k - ½ to k + ½."""
    tops = np.unique(np.rint(np.quantile(values, np.linspace(0.0, 1.0, N_BINS + 1))))
    theta = np.concatenate([[values.min() - 0.5], tops + 0.5])
    inside, v, _ = whole.space.standard_coordinate(whole.parameter, theta)
    # Beyond the bounds there is nothing, and no coordinate either: as far as the mixture reaches.
    reach = FAR * whole.sds
    far = np.where(theta < values.mean(), np.min(whole.means - reach), np.max(whole.means + reach))
    return np.asarray(np.where(inside & np.isfinite(v), v, far))
