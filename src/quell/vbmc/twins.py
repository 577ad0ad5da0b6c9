"""Where a posterior would have its twins.

Many models do not know their parameters apart: two components of a mixture may change places, an
axis has no sign, an angle is as good as the opposite one. Their posterior has twins, of the same
mass, far away, and if the first evaluations did not happen to meet them nothing in hand speaks of
them. But where they would be is known: a symmetry of the model is one of its bounds as well. So
once the posterior is found, the images of its best point under the symmetries of the bounds are
looked at, each once, with no evaluation wasted where another one would have shown the twin already.

The symmetries (`symmetries`) are those that swap parameters with the same bounds: all that belongs
to one label with all that belongs to another, or two alone; and those that turn parameters around
the middle of their bounds, one or all, or by half a circle where they are periodic.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from quell.arrays import FloatArray
from quell.problem import Problem
from quell.space.bounds import Bounds
from quell.variational.islands import within_reach
from quell.vbmc.centre import is_possible, mode_of
from quell.vbmc.state import State

#: Pairs of parameters that change places.
Swaps = tuple[tuple[int, int], ...]

#: Symmetries looked at, at most, in units of D + 1.
MOST_PER_DIMENSION = 2
#: Bounds are symmetric about the middle of the plausible box to this part of its width.
TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Symmetry:
    """A map of the parameters θ (n,) onto themselves: ``order`` of places, ``turned`` ones (n,)."""

    bounds: Bounds
    order: tuple[int, ...]
    turned: tuple[bool, ...]

    def image(self, theta: FloatArray) -> FloatArray:
        """The images (..., n) of points (..., n); twice is the point itself."""
        theta = theta[..., list(self.order)]
        low, high = self.bounds.lower, self.bounds.upper
        middle = 0.5 * (self.bounds.plausible_lower + self.bounds.plausible_upper)
        period = np.where(self.bounds.periodic, high - low, 1.0)
        start = np.where(self.bounds.periodic, low, 0.0)
        around = start + np.mod(theta + 0.5 * period - start, period)
        image = np.where(self.bounds.periodic, around, 2.0 * middle - theta)
        return np.where(self.turned, image, theta)


def symmetries(bounds: Bounds) -> list[Symmetry]:
    """The symmetries of bounds, the likelier ones first.

    >>> from quell.space.bounds import check_bounds
    >>> pair = check_bounds([0, 0, -5], [9, 9, 5], [1, 1, -2], [2, 2, 2])
    >>> [symmetry.image(np.array([1.5, 2.5, 1.0])).tolist() for symmetry in symmetries(pair)]
    [[1.5, 2.5, -1.0], [2.5, 1.5, 1.0]]
    """
    n = len(bounds.names)
    free = [i for i, kind in enumerate(bounds.kinds) if kind != "fixed"]
    groups = _alike(bounds, free)
    turns = [i for i in free if _can_turn(bounds, i)]
    swaps = [*_swaps_of_labels(groups), *(swap for group in groups for swap in _pairs([group]))]
    found: list[tuple[Swaps, tuple[int, ...]]] = [(swap, ()) for swap in swaps if len(swap) > 1]
    found += [((), tuple(turns))] if len(turns) > 1 else []
    found += [((), (i,)) for i in turns]
    found += [(swap, ()) for swap in swaps if len(swap) == 1]
    made = (_symmetry(bounds, n, swap, turned) for swap, turned in dict.fromkeys(found))
    return list(made)[: MOST_PER_DIMENSION * (len(free) + 1)]


def next_twin(problem: Problem, state: State, pending: FloatArray) -> FloatArray | None:
    """The point θ (D_full,) where a twin would be best seen; None if all have been looked for.

    ``pending`` (n, D_full) are under evaluation. The posterior has to be found.
    """
    if state.warmup or state.is_searching or state.mixture is None or state.fit is None:
        return None
    gp = state.fit.gp
    best = gp.data.x[int((gp.weights @ gp.predict_mean(gp.data.x)).argmax())]
    mode = mode_of(state.mixture, best)
    top = problem.snap(state.space.to_original(best[None]))[0]
    seen = np.concatenate([state.evaluations.theta, pending])
    for symmetry in symmetries(state.space.bounds):
        twin = problem.snap(symmetry.image(top)[None])
        if (
            is_possible(problem, state, twin)
            and not within_reach(state.mixture, state.space.to_inference(twin)).any()
            and not within_reach(mode, state.space.to_inference(symmetry.image(seen))).any()
        ):
            return np.asarray(twin[0])
    return None


def _alike(bounds: Bounds, free: list[int]) -> list[tuple[int, ...]]:
    """Groups of parameters with the same bounds, of two and more."""
    groups: dict[tuple[float, ...], list[int]] = {}
    sides = bounds.lower, bounds.upper, bounds.plausible_lower, bounds.plausible_upper
    for i in free:
        key = (*(float(side[i]) for side in sides), float(bounds.periodic[i]))
        groups.setdefault(key, []).append(i)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def _swaps_of_labels(groups: list[tuple[int, ...]]) -> Iterator[Swaps]:
    """All that belongs to one label changes places with all that belongs to another.

    Parameters of as many labels are as many with the same bounds, so a group for each kind; or all
    kinds have the same bounds, and are in one group, label by label or kind by kind.
    """
    for size in dict.fromkeys(map(len, groups)):
        yield from _pairs([group for group in groups if len(group) == size])
    for group in groups:
        for kinds in range(2, len(group) // 2 + 1):
            labels, rest = divmod(len(group), kinds)
            if not rest:
                yield from _pairs([group[kind::kinds] for kind in range(kinds)])
                yield from _pairs([group[k * labels : (k + 1) * labels] for k in range(kinds)])


def _pairs(groups: list[tuple[int, ...]]) -> Iterator[Swaps]:
    for first, second in combinations(range(len(groups[0])), 2):
        yield tuple((group[first], group[second]) for group in groups)


def _can_turn(bounds: Bounds, i: int) -> bool:
    """Whether the bounds of a parameter are symmetric about the middle of its plausible box."""
    if bounds.periodic[i] or bounds.kinds[i] == "unbounded":
        return True
    width = bounds.plausible_upper[i] - bounds.plausible_lower[i]
    below = bounds.plausible_lower[i] - bounds.lower[i]
    above = bounds.upper[i] - bounds.plausible_upper[i]
    return bool(abs(below - above) <= TOLERANCE * width)


def _symmetry(bounds: Bounds, n: int, swaps: Swaps, turns: tuple[int, ...]) -> Symmetry:
    order = list(range(n))
    for i, j in swaps:
        order[i], order[j] = j, i
    return Symmetry(bounds, tuple(order), tuple(i in turns for i in range(n)))
