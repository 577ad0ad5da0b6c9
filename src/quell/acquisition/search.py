"""The search for the next point: candidates from several sources, then a local search.

The reference implementation scores 8192 random candidates and polishes the best with CMA-ES.
Scores here come with gradients, so a few hundred quasi-random candidates and a quasi-Newton
search from the best of them do.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quell.acquisition.draws import mixture_draws, normal_draws
from quell.acquisition.regularise import Allowed, vetoed_scores
from quell.acquisition.situation import Score, Situation, training_box
from quell.arrays import FloatArray
from quell.checks import as_floats, matrix, vector
from quell.gp.descent import descend
from quell.mixture.quasirandom import uniform_points

#: Moves points (n, D) to the nearest admissible ones.
Snap = Callable[[FloatArray], FloatArray]

#: Candidates scored before the local search.
N_CANDIDATES = 512
#: Local searches, from the best candidates that are distinct.
N_STARTS = 2
#: Starts are distinct if they differ by this many interquartile ranges of the candidates
#: (root mean square over coordinates).
DISTINCT = 0.25
#: Degrees of freedom of the heavy tails (reference implementation).
TAIL_DF = 3.0
#: A local search ends after this many iterations, or when one gains less than TOLERANCE: the
#: score is a logarithm, so that is a part of the acquisition function.
MAX_ITERATIONS = 20
TOLERANCE = 1e-3
#: Places on the way from a start (0) to where its local search ended (1), at which noise and
#: veto are looked up: the end may lie in a noisier cell, or not be allowed.
PATH = 0.6 ** np.arange(10)
#: Step of the central differences of scores without gradient, in interquartile ranges.
DIFFERENCE_STEP = 1e-4
#: A side of the box closer to a new point than this part of the width moves out by as much.
EXPANSION = 0.05


@dataclass(frozen=True, eq=False)
class SearchBox:
    """Where the next point may lie: between ``lower`` and ``upper`` (D,), in inference space.

    >>> box = SearchBox([-2.5, -2.5], [2.5, 2.5])
    >>> box.clip(np.array([[0.0, 9.0]]))
    array([[0. , 2.5]])
    """

    lower: FloatArray
    upper: FloatArray

    def __post_init__(self) -> None:
        lower = as_floats("lower", self.lower)
        upper = as_floats("upper", self.upper)
        if lower.ndim != 1 or lower.shape != upper.shape:
            raise ValueError(
                f"lower and upper must be vectors of one length, got {lower.shape} and "
                f"{upper.shape}"
            )
        if not (np.isfinite(lower).all() and np.isfinite(upper).all() and (lower < upper).all()):
            raise ValueError(f"lower must be below upper, both finite, got {lower} and {upper}")
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @property
    def dimension(self) -> int:
        """Number of coordinates D."""
        return len(self.lower)

    def clip(self, x: FloatArray) -> FloatArray:
        """Points (..., D) moved to the nearest place in the box."""
        return np.clip(x, self.lower, self.upper)


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The point found, ``x`` (D,), and its score."""

    x: FloatArray
    value: float


def expand_box(box: SearchBox, x: ArrayLike) -> SearchBox:
    """The box after a point ``x`` (D,) was taken: sides too close to it move outwards.

    A side closer to x than 5 % of the width moves out by 5 %, or, if that is not enough, to 5 % of
    the width beyond x.

    >>> wider = expand_box(SearchBox([0.0, 0.0], [1.0, 1.0]), [0.5, 0.98])
    >>> wider.lower, wider.upper
    (array([0., 0.]), array([1.  , 1.05]))
    """
    x = vector("x", x, box.dimension)
    step = EXPANSION * (box.upper - box.lower)
    lower = np.where(x - box.lower < step, box.lower - step, box.lower)
    upper = np.where(box.upper - x < step, box.upper + step, box.upper)
    return SearchBox(np.where(x < lower, x - step, lower), np.where(x > upper, x + step, upper))


def candidates(
    rng: np.random.Generator,
    situation: Situation,
    box: SearchBox,
    n: int = N_CANDIDATES,
) -> FloatArray:
    """``n`` candidates (n, D) in the box, quasi-random, a quarter from each of four sources.

    q with Student-t tails of 3 degrees of freedom; the Gaussian with q's moments; uniform in
    the part of the box around the training points; q itself.

    >>> from quell.gp import GaussianProcess, TrainingData
    >>> from quell.mixture import Mixture
    >>> data = TrainingData.from_arrays([[-1.0], [0.0]], [-0.5, 0.0])
    >>> gp = GaussianProcess.condition(data, [[0.0, 0.0, -5.0, 0.0, 0.0, 0.0]])
    >>> situation = Situation.of(gp, Mixture([1.0], [[0.0]], [1.0], [1.0]))
    >>> candidates(np.random.default_rng(0), situation, SearchBox([-2.0], [2.0]), 40).shape
    (40, 1)
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    heavy, normal, uniform, plain = (n + 3) // 4, (n + 2) // 4, (n + 1) // 4, n // 4
    mixture = situation.mixture
    lower, upper = (box.clip(corner) for corner in training_box(situation.gp, mixture))
    parts = [
        mixture_draws(rng, heavy, mixture, TAIL_DF),
        normal_draws(rng, normal, mixture.mean(), mixture.covariance()),
        lower + (upper - lower) * uniform_points(rng, uniform, box.dimension),
        mixture_draws(rng, plain, mixture),
    ]
    return box.clip(np.concatenate(parts))


def maximise(
    score: Score,
    box: SearchBox,
    candidates: ArrayLike,
    *,
    n_starts: int = N_STARTS,
    allowed: Allowed | None = None,
    snap: Snap | None = None,
) -> SearchResult:
    """The best point found from ``candidates`` (n, D) on.

    All candidates are scored; a local search (L-BFGS-B, in the box enlarged to contain its
    start) sets out from the best ``n_starts`` distinct ones. Its gradient is the score's own,
    with the observation noise held at its value at the start, or else central differences of
    ``values``. Where it ends, and on the way, the score is taken again with the true noise;
    the best point seen is returned.

    ``allowed`` maps points (n, D) to a mask (n,): others are never returned. ``snap`` maps
    points to the nearest admissible ones (for integer parameters): candidates and the ends of
    local searches go through it before they are scored. A non-finite score counts as -inf. If
    no candidate is allowed that is an error.

    >>> class Bump:
    ...     def values(self, x):
    ...         return -((x - 0.3) ** 2).sum(axis=1)
    >>> grid = np.linspace(-1, 1, 9)[:, None]
    >>> maximise(Bump(), SearchBox([-1.0], [1.0]), grid).x.round(3)
    array([0.3])
    >>> left = maximise(Bump(), SearchBox([-1.0], [1.0]), grid, allowed=lambda x: x[:, 0] < 0)
    >>> bool(-0.1 < left.x[0] < 0)
    True
    """
    x = matrix("candidates", candidates, box.dimension)
    if len(x) == 0:
        raise ValueError("candidates must have at least one row")
    x = _snapped(x, snap)
    values, mask = vetoed_scores(score, x, allowed)
    if not mask.any():
        raise ValueError(
            f"none of the {len(x)} candidates is allowed: is the search box outside the region "
            f"where points may lie? box from {box.lower} to {box.upper}"
        )
    x, values = x[mask], values[mask]
    scale = _spread(x, box)
    best = int(values.argmax())
    result = SearchResult(x[best], float(values[best]))
    for start in _distinct_best(x, values, scale, n_starts):
        end = _climb(score, box, start, scale)
        path = start + PATH[:, None] * (end - start)
        path = _snapped(path, snap)
        path_values, _ = vetoed_scores(score, path, allowed)
        best = int(path_values.argmax())
        if path_values[best] > result.value:
            result = SearchResult(path[best], float(path_values[best]))
    return result


def _snapped(x: FloatArray, snap: Snap | None) -> FloatArray:
    if snap is None:
        return x
    snapped = matrix("snap(x)", snap(x), x.shape[1])
    if len(snapped) != len(x):
        raise ValueError(f"snap must return as many points as it is given, {len(x)}")
    return snapped


def _spread(x: FloatArray, box: SearchBox) -> FloatArray:
    """Interquartile range of points per coordinate, (D,); part of the box where that is zero."""
    quarter, three = np.quantile(x, [0.25, 0.75], axis=0)
    return np.where(three > quarter, three - quarter, 0.1 * (box.upper - box.lower))


def _distinct_best(
    x: FloatArray, values: FloatArray, scale: FloatArray, n: int
) -> list[FloatArray]:
    """The best ``n`` points of finite score that are not close to a better one among them."""
    chosen: list[FloatArray] = []
    for i in np.argsort(-values, kind="stable"):
        if len(chosen) >= n or not np.isfinite(values[i]):
            break
        offsets = [np.sqrt(np.mean(((x[i] - other) / scale) ** 2)) for other in chosen]
        if all(offset > DISTINCT for offset in offsets):
            chosen.append(x[i])
    return chosen


def _climb(score: Score, box: SearchBox, start: FloatArray, scale: FloatArray) -> FloatArray:
    """Where L-BFGS-B from ``start`` (D,) ends, the noise held at its value there."""
    freeze = getattr(score, "frozen_at", None)
    local = score if freeze is None else freeze(start)
    analytic = getattr(local, "value_and_gradient", None)
    # Relative to the start: the tolerance of L-BFGS-B is in parts of large values.
    base = float(np.asarray(local.values(start[None]))[0])

    def objective(z: FloatArray) -> tuple[float, FloatArray]:
        x = start + scale * z
        value, slope = _central_differences(local, x, scale) if analytic is None else analytic(x)
        slope = scale * slope
        if not (np.isfinite(value) and np.isfinite(slope).all()):
            return _REFUSED, np.zeros_like(z)
        return base - float(value), -slope

    lower, upper = np.minimum(box.lower, start), np.maximum(box.upper, start)
    z, _ = descend(
        objective,
        start.size,
        ((lower - start) / scale, (upper - start) / scale),
        maxiter=MAX_ITERATIONS,
        ftol=TOLERANCE,
        gtol=TOLERANCE,
    )
    return np.clip(start + scale * z, lower, upper)


# A step to where the score is not finite is refused: the line search sees a high wall.
_REFUSED = 1e10


def _central_differences(
    score: Score, x: FloatArray, scale: FloatArray
) -> tuple[float, FloatArray]:
    """Value and gradient (D,) of a score at ``x`` (D,) from one call of ``values``."""
    steps = np.diag(DIFFERENCE_STEP * scale)
    values = np.asarray(score.values(np.concatenate([x[None], x + steps, x - steps])))
    forward, backward = np.split(values[1:], 2)
    with np.errstate(invalid="ignore"):  # inf - inf: the caller refuses what is not finite
        return float(values[0]), (forward - backward) / (2 * DIFFERENCE_STEP * scale)
