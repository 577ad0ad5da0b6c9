"""Floating-point numbers strictly within bounds: what keeps every map off its hard bounds."""

import numpy as np

from quell.arrays import FloatArray

LARGEST = float(np.finfo(np.float64).max)
SMALLEST = float(np.finfo(np.float64).tiny)  # smallest float with full precision


def between(theta: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """θ (..., d), at least one floating-point spacing inside both bounds, (d,) each.

    >>> between(np.array([0.5, 2.0, 1.0]), np.zeros(3), np.ones(3)) < 1
    array([ True,  True,  True])
    """
    with np.errstate(under="ignore"):  # what is next to 0 is too small for all digits
        return np.clip(theta, np.nextafter(lower, np.inf), np.nextafter(upper, -np.inf))


def beyond(theta: FloatArray, bound: FloatArray, side: FloatArray) -> FloatArray:
    """θ (..., d), finite and at least one spacing above (side = +1) or below (−1) the bound (d,).

    >>> beyond(np.array([0.5, np.inf]), np.ones(2), np.ones(2)) > 1
    array([ True,  True])
    """
    with np.errstate(under="ignore"):  # as above
        nearest = np.nextafter(bound, side * np.inf)
    is_lower = side > 0.0
    return np.clip(
        theta, np.where(is_lower, nearest, -LARGEST), np.where(is_lower, LARGEST, nearest)
    )


def distance_beyond(theta: FloatArray, bound: FloatArray, side: FloatArray) -> FloatArray:
    """|θ − bound| (..., d), positive and finite, of θ taken inside as in `beyond`."""
    with np.errstate(over="ignore"):
        return np.minimum(np.abs(beyond(theta, bound, side) - bound), LARGEST)
