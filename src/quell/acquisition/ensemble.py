"""Ensemble slice sampling in a box: MCMC that needs neither gradients nor tuning.

A walker x moves along the difference of two walkers of the other half of the ensemble. Its new
place is drawn uniformly from the part of that line that lies above a random level of the
density and inside the box: a bracket of fixed length, placed around x at random, shrinks
towards x until a draw is above the level (slice sampling, Neal 2003). Directions taken from the
ensemble follow the shape of the target. All walkers of a half move at once, because given the
other half their moves are independent.
"""

from collections.abc import Callable

import numpy as np

from quell.arrays import FloatArray

#: Length of the bracket in differences of two walkers (reference implementation).
BRACKET = 5.0
#: A bracket of less than this part of its first length has shrunk to x: the walker stays.
SMALLEST_BRACKET = 1e-10
# Steps of shrinking whose density is evaluated in one call.
STEPS_AT_ONCE = 4

LogDensity = Callable[[FloatArray], FloatArray]


def sample_ensemble(
    rng: np.random.Generator,
    log_density: LogDensity,
    walkers: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    *,
    n_draws: int,
    thin: int = 1,
    burn_in: int = 0,
) -> FloatArray:
    """``n_draws`` draws (n_draws, D) of a density on the box between ``lower`` and ``upper``.

    ``log_density`` takes points (n, D) to (n,), up to a constant; ``walkers`` (W, D) start at
    W >= 4 distinct points of the box, W even. ``thin`` and ``burn_in`` count moves of single
    walkers: after ``burn_in`` of them the place after every ``thin``-th move is kept.

    >>> rng = np.random.default_rng(0)
    >>> start = rng.uniform(-1, 1, (6, 2))
    >>> x = sample_ensemble(
    ...     rng, lambda x: -0.5 * (x**2).sum(axis=1), start, np.full(2, -3.0), np.full(2, 3.0),
    ...     n_draws=1000, thin=3, burn_in=100)
    >>> bool(np.all(np.abs(x.mean(axis=0)) < 0.2)), bool(np.all(np.abs(x.std(axis=0) - 1) < 0.2))
    (True, True)
    """
    walkers = np.array(walkers)
    if len(walkers) < 4 or len(walkers) % 2:
        raise ValueError(f"walkers must be an even number of at least 4, got {len(walkers)}")
    if not ((walkers >= lower) & (walkers <= upper)).all():
        raise ValueError("walkers must start inside the box")
    half = len(walkers) // 2
    values = log_density(walkers)
    kept: list[FloatArray] = []
    moves = 0
    while len(kept) < n_draws:
        moving = slice(half, None) if (moves // half) % 2 else slice(0, half)
        resting = slice(0, half) if moving.start == half else slice(half, None)
        walkers[moving], values[moving] = _move(
            rng, log_density, walkers[moving], values[moving], walkers[resting], lower, upper
        )
        for x in walkers[moving]:
            moves += 1
            if moves > burn_in and (moves - burn_in) % thin == 0:
                kept.append(x.copy())
    return np.stack(kept[:n_draws])


def _move(
    rng: np.random.Generator,
    log_density: LogDensity,
    x: FloatArray,
    values: FloatArray,
    others: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """One slice-sampling move of every walker ``x`` (n, D) along differences of ``others``."""
    n = len(x)
    first = rng.integers(len(others), size=n)
    second = (first + rng.integers(1, len(others), size=n)) % len(others)
    direction = BRACKET * (others[first] - others[second])
    level = values - rng.exponential(size=n)
    # Places on the line are x + t direction; t = 0 is x itself.
    left = -rng.random(n)
    right = left + 1
    with np.errstate(divide="ignore", invalid="ignore"):
        # Between these t, coordinate by coordinate, the line is inside the box.
        ends = np.stack([(lower - x) / direction, (upper - x) / direction])
        ends[:, direction == 0] = np.array([[-np.inf], [np.inf]])
    left = np.maximum(left, np.minimum(ends.min(axis=0).max(axis=1), 0.0))
    right = np.minimum(right, np.maximum(ends.max(axis=0).min(axis=1), 0.0))
    new_x, new_values = x.copy(), values.copy()
    open_ = np.arange(n)
    while open_.size:
        # What is tried after a rejection does not depend on the density there, so several
        # steps of shrinking can be evaluated at once; those after the first success are void.
        t = np.empty((STEPS_AT_ONCE, open_.size))
        low, high = left[open_], right[open_]
        for j in range(STEPS_AT_ONCE):
            t[j] = low + rng.random(open_.size) * (high - low)
            below = t[j] < 0
            low, high = np.where(below, t[j], low), np.where(below, high, t[j])
        tried = np.clip(x[open_] + t[:, :, None] * direction[open_], lower, upper)
        found = log_density(tried.reshape(-1, x.shape[1])).reshape(t.shape)
        above = found > level[open_]
        success = above.any(axis=0)
        done, column = open_[success], np.flatnonzero(success)
        first = above[:, column].argmax(axis=0)
        new_x[done], new_values[done] = tried[first, column], found[first, column]
        left[open_], right[open_] = low, high
        open_ = open_[~success & (high - low > SMALLEST_BRACKET)]
    return new_x, new_values
