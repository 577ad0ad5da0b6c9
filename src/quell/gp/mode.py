"""The mode of the hyperposterior: L-BFGS from remembered vectors, and a search for other modes."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from quell.checks import FloatArray
from quell.gp.hyperposterior import Hyperposterior

#: Random vectors scored by a global search, for up to the second number of observations; fewer
#: of them for more, where each costs more and a mode is known, but not below the third.
DESIGN_SIZE, DESIGN_DATA, SMALLEST_DESIGN = 200, 100, 50
#: Iterations after which a search from far away is looked at, and how many nats below a known
#: mode it may then be to go on.
SCOUTING, PROMISING = 40, 10.0
_MAX_ITERATIONS = 200
#: A search ends when an iteration gains less than the first, in nats (or of the gain so far),
#: or no slope is steeper than the second. Samples around a mode need little precision of it.
_GOOD_ENOUGH, _PRECISE = (1e-4, 1e-2), (1e-6, 1e-3)
#: Repeats of a search, until one gains less than so many nats.
_MOST_REPEATS, _SMALL_GAIN = 3, 0.01
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
        known = climb(target, target.prior.unconstrain(best), memory.root)
    if search:
        return search_modes(rng, target, known)[0]
    assert known is not None
    return known[0]


def search_modes(rng: np.random.Generator, target: Hyperposterior, known: Mode | None) -> Mode:
    """The best mode found from a default start and the best of a random design, or ``known``.

    Searches from far away are long, and mostly end where others do, or lower: each first
    climbs a little, and the best of them goes on if it may yet overtake the known mode.
    """
    prior = target.prior
    size = DESIGN_SIZE
    if known is not None:
        n = max(DESIGN_DATA, target.marginal.data.size)
        size = max(SMALLEST_DESIGN, DESIGN_SIZE * DESIGN_DATA // n)
    design = prior.draw(rng, size)
    best = design[np.argmax([target.score(theta) for theta in design])]
    scouts = [
        climb(target, prior.unconstrain(start), max_iterations=SCOUTING)
        for start in (prior.start, best)
    ]
    scout = max(scouts, key=lambda mode: mode[1])
    if known is None:
        return maximise(target, scout[0])
    if scout[1] < known[1] - PROMISING:
        return known
    return max(known, climb(target, scout[0]), key=lambda mode: mode[1])


def maximise(target: Hyperposterior, start: FloatArray) -> Mode:
    """A local maximum of the hyperposterior and its value, by L-BFGS from ``start``.

    From far away a search may gain thousands of nats, a tiny part of which, where it ends, is
    still many; so it begins again there until it gains nothing.
    """
    mode = climb(target, start, tolerance=_PRECISE)
    for _ in range(_MOST_REPEATS):
        before = mode[1]
        mode = climb(target, mode[0], tolerance=_PRECISE)
        if mode[1] - before < _SMALL_GAIN:
            break
    return mode


def climb(
    target: Hyperposterior,
    start: FloatArray,
    root: FloatArray | None = None,
    *,
    max_iterations: int = _MAX_ITERATIONS,
    tolerance: tuple[float, float] = _GOOD_ENOUGH,
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

    gain, slope = tolerance
    result = minimize(
        loss,
        np.zeros_like(start),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iterations, "ftol": gain, "gtol": slope},
    )
    found = start + (result.x if root is None else root @ result.x)
    return found, reference - float(result.fun)
