"""Input checks shared by every room: a bad value fails at once, by name.

Each function returns the checked float array (a copy the caller owns) or raises a
``ValueError`` that names the argument, the offending coordinate and its value.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import BoolArray, FloatArray

#: A larger noise SD than this says nothing, and its square would soon overflow.
LARGEST_NOISE_SD = 1e100


def coordinate_names(names: Sequence[str] | None, dimension: int) -> tuple[str, ...]:
    """Names of the coordinates; ``x1 .. xD`` where the caller gave none."""
    if names is None:
        return tuple(f"x{i + 1}" for i in range(dimension))
    if isinstance(names, str):
        raise ValueError(f"names must be a sequence of strings, got the single string {names!r}")
    if not isinstance(names, Sequence | np.ndarray):
        raise ValueError(
            f"names must be a sequence of strings, whose order counts, got a {type(names).__name__}"
        )
    names = tuple(names)
    if not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"names must be non-empty strings, got {list(names)!r}")
    if len(names) != dimension:
        raise ValueError(f"names has {len(names)} entries, expected {dimension}")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"names must differ from each other, but {repeated[0]!r} appears twice")
    return names


def as_floats(argument: str, value: ArrayLike) -> FloatArray:
    """A float64 copy of ``value``; complex, text and ragged input is refused."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            objects = np.asarray(value, dtype=object)
            text = [entry for entry in objects.flat if isinstance(entry, str | bytes)]
            if text:
                raise ValueError(f"got the text {text[0]!r}")
            array = objects.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{argument} must be an array of real numbers: {error}") from None
    return np.array(array, dtype=np.float64)


def vector(
    argument: str, value: ArrayLike, size: int, *, names: Sequence[str] | None = None
) -> FloatArray:
    """A vector of length ``size``; a scalar is repeated."""
    array = as_floats(argument, value)
    if array.ndim == 0:
        array = np.full(size, float(array))
    if array.shape != (size,):
        raise ValueError(f"{argument} must have shape ({size},), got {array.shape}")
    if np.isnan(array).any():
        raise_at(argument, array, np.isnan(array), "must not be nan", names)
    return array


def matrix(
    argument: str,
    value: ArrayLike,
    columns: int | None = None,
    *,
    names: Sequence[str] | None = None,
) -> FloatArray:
    """A finite matrix with the given number of columns."""
    array = as_floats(argument, value)
    if array.ndim != 2 or (columns is not None and array.shape[1] != columns):
        wanted = f"(n, {columns})" if columns is not None else "(n, D)"
        raise ValueError(f"{argument} must have shape {wanted}, got {array.shape}")
    bad = ~np.isfinite(array)
    if bad.any():
        raise_at(argument, array, bad, "must be finite", names)
    return array


def raise_at(
    argument: str,
    array: FloatArray,
    bad: BoolArray,
    demand: str,
    names: Sequence[str] | None = None,
) -> None:
    """Raise for the first ``bad`` entry of a vector (D,) or of a matrix (n, D)."""
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    where = f"{argument}[{', '.join(map(str, index))}]"
    if names is not None:
        where += f" ({names[index[-1]]!r})"
    raise ValueError(f"{where} {demand}, got {array[index]:g}")


def coordinate_mask(
    argument: str,
    given: Sequence[str] | Sequence[bool] | BoolArray | None,
    names: tuple[str, ...],
) -> BoolArray:
    """Mask (n,) of coordinates chosen by their names or by a mask; all False for None.

    >>> coordinate_mask("integer", ["b"], ("a", "b"))
    array([False,  True])
    """
    wanted = f"{argument} must be a sequence of coordinate names or a mask of booleans"
    if isinstance(given, str):
        raise ValueError(f"{wanted}, got the single string {given!r} (put it in a list)")
    if given is not None and np.ndim(given) != 1:
        raise ValueError(f"{wanted}, got {given!r} (put it in a list)")
    entries = [] if given is None else list(given)
    if all(isinstance(entry, str) for entry in entries):
        for entry in entries:
            if entry not in names:
                raise ValueError(
                    f"{argument} has the unknown name {entry!r}; the names are {list(names)}"
                )
        return np.array([name in entries for name in names])
    if not all(isinstance(entry, bool | np.bool_) for entry in entries):
        raise ValueError(f"{wanted}, got {entries!r}")
    if len(entries) != len(names):
        raise ValueError(f"{argument} has {len(entries)} entries, expected {len(names)}")
    return np.array(entries, dtype=bool)
