"""Where the density is known to be zero: a constraint across parameters, a prior with a support.

Edges that evaluations tell of (`quell.vbmc.found_edge`) are used in the same way.

Nothing is evaluated there, and nothing of it enters the surrogate: a stationary process cannot
follow a cliff, and falls too early beside one. The surrogate goes on smoothly beyond the edge
instead, and the posterior is cut off there exactly: draws, moments, and evidence (`results`,
`vbmc.evidence`).

What the surrogate promises beyond the edge is an extrapolation, and may be high. So that the
mixture does not run after it, the known part of the log joint falls off there: by planes, one for
each piece of the boundary that the mixture reaches over, each a soft edge (`quell.space.edges`)
that begins a little outside,

    log σ(BEYOND + d/s),

d being the distance from the plane, positive inside, and s a small part of the posterior's SD
across it. A plane touches the boundary where a line from an evaluation to a draw beyond the edge
crosses it, and is moved out until it cuts off none of the points that are known to be inside: so a
region of any shape loses nothing.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from quell.acquisition.draws import mixture_draws
from quell.arrays import BoolArray, FloatArray
from quell.mixture import Mixture
from quell.problem.constraint import Support
from quell.space import InferenceSpace
from quell.space.edges import Edges

#: Softness of a plane in SDs of the posterior across it, given its other directions; this and the
#: next were set before any run (docs/experiments/constraints.md).
SOFTNESS = 0.1
#: A plane that has become so many times softer, beside the posterior of today, is laid again; not
#: varied either.
TOO_SOFT = 2.0
#: It is felt from so many softnesses outside: on the boundary itself it takes 2 % of the density.
BEYOND = 4.0
#: Draws that look for density out of bounds, lines to those found there, and halvings of each line.
N_DRAWS, N_LINES, N_HALVINGS = 256, 32, 40
#: Most planes, and how far the lines that tell a plane's tilt are apart, as a part of their length.
MOST_PLANES, TILT = 16, 0.05


def inside(support: Support, space: InferenceSpace, x: FloatArray) -> BoolArray:
    """Which of the points x (n, D) are in the support."""
    return support(space.to_original(x))


def cutting_planes(
    rng: np.random.Generator,
    support: Support,
    space: InferenceSpace,
    mixture: Mixture,
    known: FloatArray,
    before: Edges | None = None,
) -> Edges | None:
    """Planes beside the support where the mixture reaches over its boundary, if it does.

    ``known`` (n, D) are points of the support, as evaluations are. Planes from ``before``, in the
    same space, stay as far as they cut off nothing inside, and are still sharp beside the mixture.
    ``ValueError`` if no points are known.
    """
    if not len(known):
        raise ValueError(
            "the prior or the constraint is zero, or fails, at every point that was evaluated, "
            "although it was positive there before: it has to give the same every time"
        )
    draws = mixture_draws(rng, N_DRAWS, mixture)
    is_inside = inside(support, space, draws)
    within = np.concatenate([known, draws[is_inside]])
    outside = draws[~is_inside]
    # In coordinates z in which the posterior is round, distances are in SDs given the others.
    centre, root = mixture.mean(), mixture.covariance_root()
    to_z = np.linalg.inv(root).T

    def z_of(x: FloatArray) -> FloatArray:
        return np.asarray((x - centre) @ to_z)

    kept: list[tuple[FloatArray, float]] = []
    if before is not None:
        for slope, offset in zip(before.slopes, before.offsets, strict=True):
            # One from when the posterior was much wider is too soft to hold what rises behind it.
            if np.linalg.norm(root.T @ slope) < 1.0 / (TOO_SOFT * SOFTNESS):
                continue
            # It begins where u = BEYOND; points inside must not lie further out.
            if (within @ slope + offset).min() >= BEYOND - 1e-6:
                kept.append((slope, float(offset)))
                outside = outside[outside @ slope + offset >= BEYOND]
    z_within = z_of(within)
    while len(outside) and len(kept) < MOST_PLANES:
        lines = outside[:N_LINES]
        starts = _nearest(z_of(lines), z_of(known), known)
        edges = _boundary(support, space, starts, lines)
        # The draw furthest beyond the boundary first: its plane will cut off most others.
        first = int(np.argmax(np.linalg.norm(z_of(lines) - z_of(edges), axis=1)))
        normal = _normal(support, space, starts[first], lines[first], z_of, root)
        height = min(float(normal @ z_of(edges[first])), float((z_within @ normal).min()))
        slope = to_z @ normal / SOFTNESS
        offset = BEYOND - height / SOFTNESS - float(centre @ slope)
        kept.append((slope, offset))
        cut = outside @ slope + offset < BEYOND
        cut[first] = True  # where the region bends inwards no plane may cut anything off
        outside = outside[~cut]
    if not kept:
        return None
    slopes, offsets = zip(*kept, strict=True)
    return Edges(np.array(slopes), np.array(offsets))


def _nearest(z: FloatArray, z_known: FloatArray, known: FloatArray) -> FloatArray:
    """For each of the points z (n, D) the known one (n, D) that is nearest to it."""
    distances = ((z[:, None, :] - z_known) ** 2).sum(axis=2)
    return np.asarray(known[distances.argmin(axis=1)])


def _boundary(
    support: Support, space: InferenceSpace, start: FloatArray, end: FloatArray
) -> FloatArray:
    """Points (n, D) just inside the boundary on the lines from ``start`` inside to ``end``."""
    low, high = np.zeros(len(end)), np.ones(len(end))
    for _ in range(N_HALVINGS):
        middle = 0.5 * (low + high)
        is_inside = inside(support, space, start + middle[:, None] * (end - start))
        low, high = np.where(is_inside, middle, low), np.where(is_inside, high, middle)
    return np.asarray(start + low[:, None] * (end - start))


def _normal(
    support: Support,
    space: InferenceSpace,
    start: FloatArray,
    end: FloatArray,
    z_of: Callable[[FloatArray], FloatArray],
    root: NDArray[np.floating],
) -> FloatArray:
    """Unit normal (D,) in z, towards the inside, of the boundary where a line crosses it.

    From where lines to points beside ``end`` cross it; the line's own direction where they do not.
    """
    length = float(np.linalg.norm(z_of(end) - z_of(start)))
    steps = TILT * length * root.T  # rows: a step along each axis of z
    ends = np.concatenate([end + steps, end - steps])
    ends = ends[~inside(support, space, ends)]
    inwards = z_of(start) - z_of(end)
    crossings = z_of(_boundary(support, space, np.broadcast_to(start, (len(ends) + 1, len(end))),
                               np.vstack([end, ends])))  # fmt: skip
    offsets = crossings[1:] - crossings[0]
    if len(ends) < len(end):
        return np.asarray(inwards / np.linalg.norm(inwards))
    normal = np.linalg.svd(offsets)[2][-1]
    return np.asarray(normal if normal @ inwards > 0 else -normal)
