"""An edge of the support that only the evaluations know of: all on one side have no density.

A target may return -inf beyond an edge that nobody has told of. What a surrogate makes of such
values is bad either way: as low values they are a cliff, and it falls too early beside it; left
out, it goes on where nothing is. Where the edge is known, the density is cut off there and the
surrogate need not learn it (`quell.vbmc.support`). So it is looked for in the evaluations: a plane
with all N - m points that have density on one side, and points without on the other.

**Is it one?** Values of -inf may also come by accident, anywhere among the others. N points have at
most

    2 Σ_{k ≤ d} C(N - 1, k)

parts that a plane in d dimensions separates from the rest (Cover 1965), and if m of them were
without density by accident, a given part of b points would be so with probability C(N - b, m - b) /
C(N, m). The product bounds the probability that accidents look like an edge with b points beyond
it. An edge is believed where that is below `CHANCE`: for one plane, in practice, where a few more
than d points lie beyond.

**Where is it?** In the middle of the widest gap between the two sides: the separating plane of
largest margin, the solution w of

    min |w|²    subject to    s_i (w · φ_i) ≥ 1,

s_i = ±1 being the sides, which is found exactly, or found not to exist, by non-negative least
squares (Lawson and Hanson 1974, chapter 23). What is between the two sides is inside up to the
middle, so it is still evaluated where the posterior reaches there, and the gap closes.

φ are the parameters themselves, the coordinates of inference space, or these with their squares and
products, for an edge that is curved: whichever is the least likely by chance. There may be points
without density on the good side, accidents of a noisy target or beyond another edge; but a value
found beyond an edge says that there is none.

How this was tested: docs/experiments/runaway.md.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.special import gammaln, logsumexp

from quell.arrays import BoolArray, FloatArray
from quell.problem.constraint import Support
from quell.space import InferenceSpace

#: Largest probability of an edge by chance.
CHANCE = 1e-3
#: The constant among the features, which have an SD of one: so large that the height of a plane
#: costs next to nothing. All are multiplied by the second, for the sake of narrow gaps: the squares
#: of a gap and of one are not to be lost beside each other.
CONSTANT, SHARP = 10.0, 1e3
#: Heights of points at the sides of the gap, which are ±1, are computed to within the first of
#: these; a residual above the second, negative, is zero: there is no plane.
ROUNDING, VANISHING = 1e-3, -1e-9
#: Most edges of one support, and rounds of finding out which points lie beyond one.
MOST_EDGES, MOST_ROUNDS = 4, 20

Features = Callable[[InferenceSpace, FloatArray], FloatArray]


def _parameters(space: InferenceSpace, theta: FloatArray) -> FloatArray:
    return np.asarray(theta[:, space.free])


def _coordinates(space: InferenceSpace, theta: FloatArray) -> FloatArray:
    return space.to_inference(theta)


def _curved(space: InferenceSpace, theta: FloatArray) -> FloatArray:
    x = space.to_inference(theta)
    rows, columns = np.triu_indices(x.shape[1])
    return np.concatenate([x, x[:, rows] * x[:, columns]], axis=1)


#: Simplest first: of two that are as good that one is taken.
FEATURES: dict[str, Features] = {
    "parameters": _parameters,
    "coordinates": _coordinates,
    "curved": _curved,
}
CURVED = "curved"


@dataclass(frozen=True, eq=False)
class Edge:
    """The side h(θ) = φ(θ) · slope + offset > 0 of an edge in ``space``, φ being of this ``kind``.

    Between -1 and 1 is the gap: evaluations with density have h ≥ 1, those beyond h ≤ -1. The
    ``rival`` of a plane is a curved edge between the same evaluations.
    """

    space: InferenceSpace
    kind: str
    slope: FloatArray
    offset: float
    rival: "Edge | None" = None

    def __call__(self, theta: FloatArray) -> BoolArray:
        """Mask (n,) of the points θ (n, D) on the side that has density."""
        return self.height(theta) > 0.0

    def height(self, theta: FloatArray) -> FloatArray:
        """h (n,) at points θ (n, D)."""
        return np.asarray(FEATURES[self.kind](self.space, theta) @ self.slope + self.offset)

    def undecided(self, theta: FloatArray) -> BoolArray:
        """Mask (n,) of the points θ (n, D) in the gap, or on the other side of the rival."""
        height = self.height(theta)
        mask = np.abs(height) < 1.0
        return mask if self.rival is None else mask | (self.rival(theta) != (height > 0.0))


@dataclass(frozen=True, eq=False)
class FoundSupport:
    """Where the density is positive: on the right side of all ``edges``.

    It lies within a support that is ``given``, if there is one. ``n_left`` evaluations without
    density are not beyond any edge: accidents of a ``noisy`` target, or not explained.
    """

    edges: tuple[Edge, ...]
    given: Support | None = None
    n_left: int = 0
    noisy: bool = False

    def __call__(self, theta: FloatArray) -> BoolArray:
        """Mask (n,) of the points θ (n, D) of the support."""
        inside = np.all([edge(theta) for edge in self.edges], axis=0)
        if self.given is not None:
            inside[inside] = self.given(theta[inside])
        return inside

    def still_holds(self, good: FloatArray, zero: FloatArray) -> bool:
        """Whether all points θ with density (n, D) and without (m, D) are where they should be.

        The first inside, and the others, but for as many as before, beyond; none in a gap.
        """
        if any(edge.height(good).min() < 1.0 - ROUNDING for edge in self.edges):
            return False
        beyond = np.any([edge.height(zero) < ROUNDING - 1.0 for edge in self.edges], axis=0)
        return bool(np.sum(~beyond) == self.n_left)

    def undecided(self, theta: FloatArray) -> BoolArray:
        """Mask (n,) of the points θ (n, D) that may be on either side."""
        may_be_inside = np.all([edge.height(theta) > -1.0 for edge in self.edges], axis=0)
        mask = may_be_inside & np.any([edge.undecided(theta) for edge in self.edges], axis=0)
        if self.given is not None:
            mask[mask] = self.given(theta[mask])
        return np.asarray(mask)


def found_support(
    space: InferenceSpace, good: FloatArray, zero: FloatArray, given: Support | None = None,
    *, noisy: bool, before: FoundSupport | None = None,
) -> FoundSupport | None:  # fmt: skip
    """The support that points θ ``good`` (n, D) and those without density (m, D) tell of, if any.

    It lies within the one that is ``given``. The one from ``before`` stays while nothing was
    evaluated in its gaps. ``noisy`` is the target's.
    """
    if before is not None and before.still_holds(good, zero):
        return before
    edges: list[Edge] = []
    left = zero
    while len(left) and len(edges) < MOST_EDGES:
        edge = _found_edge(space, good, left)
        if edge is None:
            break
        edges.append(edge)
        left = left[edge(left)]
    if not edges:
        return None
    return FoundSupport(tuple(edges), given, len(left), noisy)


def _found_edge(space: InferenceSpace, good: FloatArray, zero: FloatArray) -> Edge | None:
    """The edge between points of both kinds that is the least likely by chance, if it is one."""
    n, m = len(good), len(zero)
    best, least = None, np.log(CHANCE)
    for kind in FEATURES:
        edge = _edge_of(space, kind, good, zero)
        if edge is None:
            continue
        chance = log_chance(n + m, m, int(np.sum(~edge(zero))), len(edge.slope))
        if chance < least:
            best, least = edge, chance
    if best is None or best.kind == CURVED:
        return best
    return replace(best, rival=_edge_of(space, CURVED, good, zero[~best(zero)]))


def _edge_of(space: InferenceSpace, kind: str, good: FloatArray, zero: FloatArray) -> Edge | None:
    """The edge of this kind that leaves all good points, and many of the others beyond."""
    n = len(good)
    phi = FEATURES[kind](space, np.concatenate([good, zero]))
    centre, scale = phi.mean(axis=0), phi.std(axis=0)
    if not (np.isfinite(scale).all() and scale.all()):
        return None
    phi = (phi - centre) / scale
    w = _plane(phi[:n], phi[n:])
    if w is None:
        return None
    slope = w[:-1] / scale
    return Edge(space, kind, slope, float(w[-1] - centre @ slope))


def log_chance(n: int, m: int, b: int, d: int) -> float:
    """Log of (a bound of) the chance that of m points among n some b look to be beyond an edge.

    >>> bool(log_chance(100, 10, 10, 2) < np.log(1e-3) < log_chance(100, 10, 3, 2))
    True
    """
    parts = np.log(2.0) + logsumexp(_log_choose(n - 1, np.arange(min(d, n - 1) + 1, dtype=np.intp)))
    one = _log_choose(n - b, m - b) - _log_choose(n, m)
    return float(parts + one)


def _log_choose(n: int, k: NDArray[np.intp] | int) -> FloatArray:
    return np.asarray(gammaln(n + 1) - gammaln(np.add(k, 1)) - gammaln(np.subtract(n, k) + 1))


def separating_plane(good: FloatArray, zero: FloatArray) -> FloatArray | None:
    """w (d + 1,) with w · (φ, 1) ≥ 1 for all ``good`` (n, d), ≤ -1 for all ``zero``; or None.

    >>> w = separating_plane(np.array([[0.0], [1.0]]), np.array([[3.0]]))
    >>> bool(np.isclose(-w[1] / w[0], 2.0, atol=0.1))
    True
    """
    one = np.full((len(good) + len(zero), 1), CONSTANT)
    sides = np.concatenate([np.ones(len(good)), -np.ones(len(zero))])
    rows = SHARP * sides[:, None] * np.hstack([np.concatenate([good, zero]), one])
    system = np.vstack([rows.T, np.ones(len(rows))])
    target = np.zeros(len(system))
    target[-1] = 1.0
    try:
        u, _ = nnls(system, target)
    except RuntimeError:  # too many iterations
        return None
    residual = system @ u - target
    if residual[-1] > VANISHING:
        return None
    w = -residual[:-1] / residual[-1]
    if np.any(rows @ w < 1.0 - ROUNDING):
        return None
    w *= SHARP
    w[-1] *= CONSTANT
    return np.asarray(w)


def _plane(good: FloatArray, zero: FloatArray) -> FloatArray | None:
    """w (d + 1,) of a plane that separates ``good`` (n, d) from many of ``zero``, if any.

    If not from all, then first from those that are beyond all good ones in one direction: along an
    axis or the discriminant of the two kinds, whichever has most. Others that are further out than
    all good ones, seen from the plane, are added as long as it can be laid.
    """
    w = separating_plane(good, zero)
    if w is not None:
        return w
    axes = np.eye(good.shape[1])
    directions = np.vstack([axes, -axes, _discriminant(good, zero)])
    masks = zero @ directions.T > np.max(good @ directions.T, axis=0)
    beyond = masks[:, int(masks.sum(axis=0).argmax())]
    for _ in range(MOST_ROUNDS):
        if not beyond.any():
            return None
        direction = _discriminant(good, zero[beyond])
        more = zero @ direction > np.max(good @ direction)
        if more.sum() <= beyond.sum():
            break
        beyond = more
    beyond, refused = beyond.copy(), np.zeros(len(zero), dtype=bool)
    w = separating_plane(good, zero[beyond])
    while w is not None:
        height = zero @ w[:-1] + w[-1]
        height[beyond | refused] = np.inf
        lowest = int(height.argmin())
        if height[lowest] >= 1.0:
            break
        beyond[lowest] = True
        wider = separating_plane(good, zero[beyond])
        if wider is None:
            beyond[lowest], refused[lowest] = False, True
        else:
            w = wider
    return w


def _discriminant(good: FloatArray, zero: FloatArray) -> FloatArray:
    """Direction (d,) of the linear discriminant, from good points to those without density."""
    apart = zero.mean(axis=0) - good.mean(axis=0)
    within = np.concatenate([good - good.mean(axis=0), zero - zero.mean(axis=0)])
    covariance = within.T @ within / len(within)
    return np.linalg.lstsq(covariance, apart, rcond=None)[0]
