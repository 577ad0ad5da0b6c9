"""Has the answer stopped moving?

The paper's rule by which a run stops (`quell.vbmc.reliability`) asks of every iteration how much it
differs from the one before. Here the question is put to the answer: for how long has it been the
same? A run goes on until both say yes. Two solutions agree if their ELBOs and their posteriors
differ by less than half of what makes an answer unusable: half a nat, and a gsKL of one half. ELBOs
that differ by less than a nat also agree if it is no more than two of their SDs together: noise
moves them by as much, and their SDs say so. The answer is stable if all solutions over the last 10
(D + 2) evaluations agree with it, those after it too: a fifth of the paper's budget. How this was
chosen: docs/experiments/honesty.md.

An iteration that promises more than was ever seen is no solution, and does not count. Nor do
evaluations that failed, for whatever reason other than zero density: of a simulator that has broken
down nothing is learnt, and no answer moves.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quell.evaluations import Evaluations
from quell.mixture.divergence import gaussian_skl
from quell.vbmc import Iteration
from quell.vbmc.coordinates import Carried

#: Nats and gsKL below which two solutions agree: half of the paper's limits of a usable answer.
LARGEST_ELBO_CHANGE = 0.5
LARGEST_GSKL = 0.5
#: Nats by which ELBOs may differ where that is within so many of their SDs.
LARGEST_ELBO_NOISE, LARGEST_Z = 1.0, 2.0
#: Evaluations over which they have to, in units of D + 2.
STABLE_FOR = 10


@dataclass(frozen=True)
class Stability:
    """For how many evaluations the answer has been the same.

    ``evaluations`` are those over which all solutions agree with it, of ``needed``, and
    ``possible`` those since the first solution. ``elbo_change`` (nats) and ``gskl`` are the largest
    differences among these solutions and the first that does not agree, if that is in the last
    ``needed`` evaluations.
    """

    evaluations: int
    needed: int
    possible: int
    elbo_change: float
    gskl: float

    @property
    def is_stable(self) -> bool:
        """Whether that is enough."""
        return self.evaluations >= self.needed

    @property
    def is_too_short(self) -> bool:
        """Whether the run was too short for any answer to be stable."""
        return self.possible < self.needed


def evaluations_needed(dimension: int) -> int:
    """Evaluations over which an answer with so many parameters has to be the same.

    >>> evaluations_needed(2)
    40
    """
    return STABLE_FOR * (dimension + 2)


def stability(
    chosen: Iteration, history: Sequence[Iteration], evaluations: Evaluations
) -> Stability:
    """How long the answer has been the same, if the ``chosen`` iteration is returned.

    ``evaluations`` are those of the whole run.
    """
    needed = evaluations_needed(chosen.solution.space.dimension)
    failed = np.flatnonzero(~evaluations.ok & ~evaluations.zero_density)
    rows = [iteration.n_evaluations for iteration in history]
    counts = [n - int(np.searchsorted(failed, n)) for n in rows]
    last = agreed = counts[-1]
    differences = [(0.0, 0.0)]
    for iteration, count in zip(reversed(history), reversed(counts), strict=True):
        if not iteration.believable and iteration is not chosen:
            continue
        differences.append(difference(iteration, chosen))
        if not agree(iteration, chosen, *differences[-1]):
            break
        agreed = count
        if last - agreed >= needed:
            break
    changes, gskls = zip(*differences, strict=True)
    return Stability(last - agreed, needed, last - counts[0], max(changes), max(gskls))


def agree(one: Iteration, other: Iteration, elbo_change: float, gskl: float) -> bool:
    """Whether two iterations whose solutions differ by so much agree."""
    noise = LARGEST_Z * float(np.hypot(one.elbo_sd, other.elbo_sd))
    allowed = max(LARGEST_ELBO_CHANGE, min(noise, LARGEST_ELBO_NOISE))
    return elbo_change < allowed and gskl < LARGEST_GSKL


def difference(one: Iteration, other: Iteration) -> tuple[float, float]:
    """|Δ ELBO| and gsKL between the solutions of two iterations; infinite where not a number."""
    if one is other:
        return 0.0, 0.0
    carried = Carried.of(one.solution.mixture, one.solution.space, other.solution.space)
    q = other.solution.mixture
    gskl = gaussian_skl(carried.mean(), carried.covariance(), q.mean(), q.covariance())
    change = abs(one.elbo - other.elbo)
    return (change if np.isfinite(change) else np.inf, gskl if np.isfinite(gskl) else np.inf)
