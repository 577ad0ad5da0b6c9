"""Values so low that only their order matters.

A surrogate is to be accurate where the posterior has its mass. Of a normal posterior in D
dimensions all but a share ε of the mass lies where the log density is less than

    t(D) = ½ χ²_D quantile at 1 − ε

below its top. What happens further down is worth knowing only as a direction: towards the mass, or
away from it. At face value, such values set the scale of the surrogate instead: a log joint that
goes down by 10⁵ in the plausible box makes the surrogate uncertain by thousands of nats between its
points, and it promises what is not there. So while the mass is still searched for, in warm-up, the
distance d below the best may be compressed beyond t,

    c(d) = d                              for d ≤ t,
    c(d) = t (1 + ((d/t)^λ - 1) / λ)      beyond, or t (1 + log(d/t)) for λ = 0,

which keeps the order and is smooth. The power λ is chosen by the observations: see
`quell.vbmc.compression`. At the end of warm-up the lowest values are dropped, and what is evaluated
later counts as it is: it says how steep the sides are.

Points of zero density have no distance. They are entered below all that is known around them, and
never much higher than t below the best: an edge of the support is a cliff of that depth, and where
the density is hopeless anyway it goes on falling. Some targets return a huge negative number for
zero density: values further down than `HOPELESS` are taken as that.

**Zero density by accident.** A noisy target may return -inf now and then where the density is fine:
a particle filter loses all its particles, a simulator never hits the data. Such a value says
nothing of the density, and as a fact it would dig a hole of depth t into the posterior. A noisy
-inf is taken for an accident, and left out, where a value was found at the very same point, or
where fewer than half of the 2D + 1 evaluations around it have no density or a hopelessly low one
(deeper than t). This is decided anew with every evaluation: beyond an edge of the support the first
few are left out, until they have each other for neighbours. Where the prior is zero, and beyond an
edge that was found (`quell.vbmc.found_edge`), there is nothing to decide, and an exact target means
what it says.

How this was tested, and what did not work: docs/experiments/runaway.md.
"""

import numpy as np
from scipy.special import boxcox, gammainccinv

from quell.arrays import BoolArray, FloatArray
from quell.distances import squared_distances

#: Share ε of the mass of a normal that is given up.
NEGLIGIBLE_MASS = 1e-12
#: A value this many nats below the best says that the density is zero.
HOPELESS = 1e8


def resolved_depth(dimension: int) -> float:
    """t(D): how far below the best value differences are worth resolving, in nats.

    >>> [round(resolved_depth(d)) for d in (1, 2, 5, 10, 20)]
    [25, 28, 33, 39, 50]
    """
    return float(gammainccinv(0.5 * dimension, NEGLIGIBLE_MASS))


def compressed(y: FloatArray, depth: float, power: float = 0.0) -> FloatArray:
    """Values (n,) with those more than ``depth`` below the best moved up, order kept.

    >>> compressed(np.array([0.0, -20.0, -1e5]), 25.0).round(1)
    array([   0. ,  -20. , -232.4])
    >>> compressed(np.array([0.0, -20.0, -1e5]), 25.0, power=0.5).round(1)
    array([    0. ,   -20. , -3137.3])
    """
    folds = _folds(y, depth)
    beyond = boxcox(np.exp(folds), power)
    return np.where(folds > 0.0, y.max() - depth * (1.0 + beyond), y)


def log_slopes(y: FloatArray, depth: float, power: float) -> FloatArray:
    """log c'(d) of values (n,): what the compression does to their densities.

    >>> y = np.array([0.0, -20.0, -1e3, -1e4])
    >>> moved = [compressed(y + h, 25.0, 0.5) for h in np.eye(4)[2:] * 1e-4]
    >>> numerically = sum(np.log((m - compressed(y, 25.0, 0.5)).max() / 1e-4) for m in moved)
    >>> bool(np.isclose(log_slopes(y, 25.0, 0.5).sum(), numerically, rtol=1e-4))
    True
    """
    return (power - 1.0) * _folds(y, depth)


def _folds(y: FloatArray, depth: float) -> FloatArray:
    """log(d/t) of values (n,), 0 where nothing changes."""
    return np.log(np.maximum((y.max() - y) / depth, 1.0))


def is_hopeless(log_joint: FloatArray) -> BoolArray:
    """Mask (N,) of values so far below the best that they must stand for zero density.

    >>> is_hopeless(np.array([-2.0, np.nan, -1e300, -9.0]))
    array([False, False,  True, False])
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(log_joint < np.fmax.reduce(log_joint, initial=-np.inf) - HOPELESS)


def are_accidents(zero: FloatArray, x: FloatArray, y: FloatArray, depth: float) -> BoolArray:
    """Mask (m,) of those points ``zero`` (m, D) of no density that have good points around them.

    ``x`` (n, D) are all other evaluations, with values y (n,); good are those at most ``depth``
    below the best.

    >>> x, y = np.linspace(0, 9, 10)[:, None], np.r_[np.zeros(6), np.full(4, -99.0)]
    >>> are_accidents(np.array([[2.5], [8.5], [20.0], [21.0]]), x, y, depth=25.0)
    array([ True, False, False, False])
    """
    places = np.concatenate([x, zero])
    good = np.concatenate([y >= y.max() - depth, np.zeros(len(zero), dtype=bool)])
    distance = squared_distances(zero, places)
    repeated = np.any(distance[:, : len(x)] == 0.0, axis=1)
    distance[np.arange(len(zero)), len(x) + np.arange(len(zero))] = np.inf  # not its own neighbour
    nearest = min(2 * zero.shape[1] + 1, len(places) - 1)
    order = np.argpartition(distance, nearest - 1, axis=1)[:, :nearest]
    return np.asarray(repeated | (good[order].mean(axis=1) > 0.5))


def without_density(x: FloatArray, near: FloatArray, y: FloatArray, depth: float) -> FloatArray:
    """Values (m,) for points x (m, D) of zero density, among points ``near`` (n, D) of values y.

    ``depth`` below the best, or below the lowest of the D + 1 nearest points where that is lower.

    >>> near, y = np.array([[0.0], [1.0], [9.0], [10.0]]), np.array([0.0, -1.0, -60.0, -70.0])
    >>> without_density(np.array([[0.5], [9.5]]), near, y, depth=25.0)
    array([-25., -70.])
    """
    nearest = min(x.shape[1] + 1, len(near))
    order = np.argpartition(squared_distances(x, near), nearest - 1, axis=1)[:, :nearest]
    return np.minimum(y.max() - depth, y[order].min(axis=1))
