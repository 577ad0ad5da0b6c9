"""Integer parameters: their bounds in the inference space, and rounding to them.

The algorithm works with continuous coordinates. The hard bounds LB and UB of an integer parameter,
the smallest and the largest value allowed, become LB − ½ and UB + ½, and a point is rounded before
anything is evaluated there. So the target is known at whole numbers only, and only what the fitted
mixture says there counts in the end (`quell.results.parts`).
"""

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import BoolArray, FloatArray
from quell.checks import as_floats, coordinate_mask, coordinate_names, vector
from quell.space import InferenceSpace
from quell.space.bounds import Bounds, refuse

LARGEST = 2.0**51  # beyond it floating-point numbers have no halves to spare


def space_with_integers(
    box: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike],
    integer: Sequence[str] | Sequence[bool] | BoolArray | None,
    names: Sequence[str] | None,
    bounded: str | Sequence[str],
    periodic: Sequence[str] | Sequence[bool] | BoolArray | None,
) -> tuple[InferenceSpace, BoolArray]:
    """The inference space for lower, upper and plausible bounds, and the mask of integers (n,).

    >>> space, mask = space_with_integers((0, 3, 0, 2), ["k"], ["k"], "logit", None)
    >>> space.bounds.lower, space.bounds.upper
    (array([-0.5]), array([3.5]))
    """
    keys = ("lower", "upper", "plausible_lower", "plausible_upper")
    arrays = [as_floats(key, side) for key, side in zip(keys, box, strict=True)]
    for key, array in zip(keys, arrays, strict=True):
        if array.ndim > 1:
            raise ValueError(
                f"{key} must be a number or have one entry for each parameter, got an array of "
                f"shape {array.shape}"
            )
    sizes = [array.shape[0] for array in arrays if array.ndim]
    if names is None or len(set(sizes)) == 1:
        names = coordinate_names(names, sizes[0] if sizes else 1)
    else:  # they disagree with each other, or are scalars: the names decide
        names = coordinate_names(names, len(tuple(names)))
    mask = coordinate_mask("integer", integer, names)
    mask.setflags(write=False)
    if mask.any():
        sides = zip(keys, box, strict=True)
        box = cell_box(
            *(vector(key, side, len(names), names=names) for key, side in sides),
            names=names,
            integer=mask,
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        space = InferenceSpace.from_bounds(*box, names=names, bounded=bounded, periodic=periodic)
    for warning in caught:
        warnings.warn(warning.message, stacklevel=4)  # at the line where the problem is made
    both = mask & space.bounds.periodic
    if both.any():
        name = names[int(np.argmax(both))]
        raise ValueError(
            f"integer and periodic both have {name!r}; a coordinate can be only one of them"
        )
    return space, mask


def cell_box(
    lower: FloatArray,
    upper: FloatArray,
    plausible_lower: FloatArray,
    plausible_upper: FloatArray,
    *,
    names: tuple[str, ...],
    integer: BoolArray,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The bounds, with the hard ones of integer coordinates moved out by ½; fixed ones stay.

    Raises ``ValueError`` for integer coordinates whose bounds do not suit them.
    """
    demand = (
        "must be an integer (or infinite) because the coordinate is one: the bounds are the "
        "smallest and the largest value allowed (round it)"
    )
    for argument, bound in (("lower", lower), ("upper", upper)):
        finite = integer & np.isfinite(bound)
        refuse(argument, bound, finite & (bound != np.rint(bound)), demand, names)
        size = "must be at most 2**51 in size for an integer coordinate (rescale it)"
        refuse(argument, bound, finite & (np.abs(bound) > LARGEST), size, names)
    free = integer & (lower < upper)
    # A narrower box would lie within one cell or two, where all there is to see is a constant.
    demand = "must be at least 1 above plausible_lower = {!r} for an integer coordinate (widen it)"
    narrow = free & ~(plausible_upper >= plausible_lower + 1.0)
    refuse("plausible_upper", plausible_upper, narrow, demand, names, plausible_lower)
    lower, upper = np.where(free, lower - 0.5, lower), np.where(free, upper + 0.5, upper)
    return lower, upper, plausible_lower, plausible_upper


def round_to_integers(theta: ArrayLike, bounds: Bounds, integer: BoolArray) -> FloatArray:
    """θ (..., n) with integer coordinates rounded; ``bounds`` are those of the cells.

    Points out of bounds stay out of bounds.
    """
    theta = as_floats("theta", theta)
    free = integer & (bounds.lower < bounds.upper)
    low, high = bounds.lower[free] + 0.5, bounds.upper[free] - 0.5
    given = theta[..., free]
    inside = (given >= low - 0.5) & (given <= high + 0.5)
    # On the outer edge of the last cell rounding to even may leave the bounds.
    theta[..., free] = np.where(inside, np.clip(np.rint(given), low, high), np.rint(given))
    return theta + 0.0  # no negative zeros
