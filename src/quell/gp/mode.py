"""The mode of the hyperposterior: L-BFGS from remembered vectors, and a search for other modes."""

from dataclasses import dataclass

import numpy as np

from quell.arrays import FloatArray
from quell.gp.descent import descend
from quell.gp.fresh import fresh_start
from quell.gp.hyperposterior import Hyperposterior, laplace_approximation
from quell.gp.marginal import MarginalLikelihood

#: Random vectors scored by a global search.
DESIGN_SIZE = 200
#: Of more observations than this a global search looks at a random part first.
SCOUTING_DATA = 150
#: Iterations after which a search from far away is looked at, and how many nats above a known
#: mode it then has to be to go on.
SCOUTING, OVERTAKEN = 40, 1.0
#: The best of some hundred noisy values is too high by about so many SDs.
NOISE_OF_THE_BEST = 3.0
_MAX_ITERATIONS = 200
#: A search ends when an iteration gains less than the first, in nats (or of the gain so far),
#: or no slope is steeper than the second. Samples around a mode need little precision of it.
_SMALLEST_STEP_GAIN, _SMALLEST_SLOPE = 1e-4, 1e-2
#: Repeats of a search, until one gains less than so many nats.
_MOST_REPEATS, _SMALL_GAIN = 3, 0.1
#: Value of the objective where the density is zero.
WALL = 1e6

#: A vector u and the log density there.
Mode = tuple[FloatArray, float]


@dataclass(frozen=True, eq=False)
class Memory:
    """What one fit leaves to the next: vectors θ (m, size), the mode first, and the metric.

    ``root`` may be None where the coordinates have changed in between.
    """

    vectors: FloatArray
    root: FloatArray | None
    step: float


def find_mode(
    rng: np.random.Generator,
    target: Hyperposterior,
    memory: Memory | None = None,
    *,
    search: bool = True,
) -> FloatArray:
    """The mode u of the hyperposterior, from an earlier fit and/or a global search."""
    if memory is None and not search:
        raise ValueError("without a previous fit the mode needs search=True")
    known = None
    if memory is not None:
        best = memory.vectors[np.argmax([target.score(theta) for theta in memory.vectors])]
        known = target.prior.unconstrain(best)
        if not search:
            return climb_from_known(target, known, memory.root)[0]
    part = _part(rng, target)
    scouts = _scouts(rng, part)
    if known is not None:
        starts = [known, *lifted(target, known)]
        scouts += [climb(part, start, max_iterations=SCOUTING) for start in starts]
    return maximise(target, _highest(scouts)[0])[0]


def climb_from_known(target: Hyperposterior, known: FloatArray, root: FloatArray | None) -> Mode:
    """The mode near a ``known`` vector, and near the same one `lifted`, whichever is higher.

    ``root`` is that of an earlier fit. It is None in coordinates that are new to it: there the
    search begins at the highest of these two and a fresh start, which costs a fraction of searches
    from all, and ends as high or higher (docs/experiments/overhead.md).
    """
    starts = [known, *lifted(target, known)]
    if root is not None:
        return _highest([climb(target, start, root) for start in starts])
    fresh = fresh_start(target)
    if fresh is not None:
        starts.append(fresh)
    return maximise(target, max(starts, key=lambda u: target(u)[0]))


def lifted(target: Hyperposterior, known: FloatArray) -> list[FloatArray]:
    """The ``known`` vector with m_0 at the best value, if that lies far above it; else nothing.

    Where the search for the posterior has climbed a thousand nats since the last fit, m_0 has to
    follow, and no search from where it was does: on the way up the mean would fit nothing. Far
    above means by more than the noise of the best value, and the height that m_0 may have above it.
    """
    prior, data = target.prior, target.marginal.data
    theta = prior.constrain(known)
    values = data.rest
    best = int(np.argmax(values))
    variance = data.variance[best]
    noise = NOISE_OF_THE_BEST * np.sqrt(variance) if np.isfinite(variance) else 0.0
    entry = prior.layout.mean_max
    margin = prior.upper[entry] - values[best]
    if theta[entry] >= values[best] - noise - margin:
        return []
    theta[entry] = values[best]
    return [prior.unconstrain(theta)]


def search_modes(rng: np.random.Generator, target: Hyperposterior, known: Mode) -> Mode:
    """A better mode than the ``known`` one, if a global search finds it.

    Searches from far away are long, and mostly end where others do, or lower: each first climbs
    a little, on a part of the data if they are many, and goes on only from above the known mode.
    """
    part = _part(rng, target)
    scout = _highest(_scouts(rng, part))
    if scout[1] < climb(part, known[0], max_iterations=SCOUTING)[1] + OVERTAKEN:
        return known
    return _highest([known, climb(target, scout[0])])


def _scouts(rng: np.random.Generator, target: Hyperposterior) -> list[Mode]:
    """Where short climbs end, from a default start and from the best of a random design."""
    prior = target.prior
    design = prior.draw(rng, DESIGN_SIZE)
    best = design[np.argmax([target.score(theta) for theta in design])]
    return [
        climb(target, prior.unconstrain(start), max_iterations=SCOUTING)
        for start in (prior.start, best)
    ]


def _part(rng: np.random.Generator, target: Hyperposterior) -> Hyperposterior:
    """The hyperposterior given at most `SCOUTING_DATA` of the observations; the same prior."""
    data = target.marginal.data
    if data.size <= SCOUTING_DATA:
        return target
    rows = np.sort(rng.choice(data.size, SCOUTING_DATA, replace=False))
    return Hyperposterior(MarginalLikelihood(data.part(rows)), target.prior)


def _highest(modes: list[Mode]) -> Mode:
    return max(modes, key=lambda mode: mode[1])


def maximise(target: Hyperposterior, start: FloatArray) -> Mode:
    """A local maximum of the hyperposterior and its value, by L-BFGS from ``start``.

    The search runs in coordinates in which the curvature at its start is one: the hyperposterior
    has ridges along which a plain one creeps. It begins again where it ends until it gains
    little, because a search that comes from far away ends too early.
    """
    mode = climb(target, start, laplace_approximation(target, start).root)
    for _ in range(_MOST_REPEATS):
        before = mode[1]
        mode = climb(target, mode[0], laplace_approximation(target, mode[0]).root)
        if mode[1] - before < _SMALL_GAIN:
            break
    return mode


def climb(
    target: Hyperposterior,
    start: FloatArray,
    root: FloatArray | None = None,
    *,
    max_iterations: int = _MAX_ITERATIONS,
) -> Mode:
    """Where L-BFGS from ``start`` ends, and the log density there.

    With ``root``, a covariance root of an earlier Laplace approximation, the search runs in
    its coordinates, where a quasi-Newton method needs few steps.
    """
    reference = target(start)[0]

    def loss(z: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = target(start + (z if root is None else root @ z))
        if not np.isfinite(value):
            return WALL, np.zeros_like(z)  # the line search turns back
        return reference - value, -(gradient if root is None else gradient @ root)

    z, lost = descend(
        loss, start.size, maxiter=max_iterations, ftol=_SMALLEST_STEP_GAIN, gtol=_SMALLEST_SLOPE
    )
    found = start + (z if root is None else root @ z)
    return found, reference - lost
