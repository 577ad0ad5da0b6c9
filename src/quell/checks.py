"""Input checks shared by every room: a bad value fails at once, by name.

Each function returns the checked value, or raises an exception that names the argument, what it
must be and what it is. Single values first: `integer`, `number`, `seconds`, `flag`, `function`,
`choice` and `generator`. Then arrays, which are returned as float arrays that the caller owns;
their errors name the offending coordinate.
"""

from collections.abc import Iterable, Sequence
from math import inf, isfinite, nan
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import BoolArray, FloatArray

#: A larger noise SD than this says nothing, and its square would soon overflow.
LARGEST_NOISE_SD = 1e100
#: Names less similar than this (`difflib`, 0 to 1) are not suggested for each other.
SIMILAR = 0.5

Name = TypeVar("Name", bound=str)


def integer(argument: str, value: Any, *, least: int) -> int:
    """``value`` as an integer of at least ``least``; True and 2.0 are refused.

    >>> integer("repeats", 0, least=1)
    Traceback (most recent call last):
        ...
    ValueError: repeats must be a positive integer, got 0
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least:
        words = {0: "a non-negative integer", 1: "a positive integer"}
        wanted = words.get(least, f"an integer of at least {least}")
        raise ValueError(f"{argument} must be {wanted}, got {value!r}")
    return int(value)


def number(
    argument: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
) -> float:
    """``value`` as a float: a real number, or an array with one entry.

    Without limits nan and infinity pass; with any limit only finite numbers do. Anything else
    than a number is a ``TypeError``.

    >>> number("the value", np.array([[1.5]]))
    1.5
    >>> number("sd", -1.0, above=0)
    Traceback (most recent call last):
        ...
    ValueError: sd must be positive and finite, got -1.0
    """
    found = _real(argument, value)
    limits = (above, least, below, at_most)
    if all(limit is None for limit in limits):
        return found
    low = (above is None or found > above) and (least is None or found >= least)
    high = (below is None or found < below) and (at_most is None or found <= at_most)
    if not (isfinite(found) and low and high):
        raise ValueError(f"{argument} must be {_range_text(*limits)}, got {found!r}")
    return found


def seconds(argument: str, value: Any, *, or_infinite: bool = False) -> float:
    """``value`` as a positive number of seconds.

    >>> seconds("timeout", "1")
    Traceback (most recent call last):
        ...
    ValueError: timeout must be a positive number of seconds, got '1'
    """
    try:
        found = _real(argument, value)
    except (TypeError, ValueError):
        found = nan
    if not (0.0 < found < inf or (or_infinite and found == inf)):
        raise ValueError(f"{argument} must be a positive number of seconds, got {value!r}")
    return found


def flag(argument: str, value: Any) -> bool:
    """``value`` if it is True or False; else ``TypeError``.

    >>> flag("vectorised", 1)
    Traceback (most recent call last):
        ...
    TypeError: vectorised must be True or False, got 1
    """
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{argument} must be True or False, got {value!r}")
    return bool(value)


def function(argument: str, value: Any) -> None:
    """``TypeError`` for what cannot be called.

    >>> function("simulate", 3)
    Traceback (most recent call last):
        ...
    TypeError: simulate must be a function, got an object of type int
    """
    if not callable(value):
        raise TypeError(
            f"{argument} must be a function, got an object of type {type(value).__name__}"
        )


def choice(argument: str, value: Any, options: Sequence[Name]) -> Name:
    """``value`` if it is one of the options; else ``ValueError`` that suggests the nearest.

    >>> choice("noise", "exakt", ["reported", "exact"])
    Traceback (most recent call last):
        ...
    ValueError: noise must be one of 'reported', 'exact', got 'exakt'; did you mean 'exact'?
    """
    for option in options:
        if isinstance(value, str) and value == option:
            return option
    wanted, hint = ", ".join(map(repr, options)), did_you_mean(value, options)
    raise ValueError(f"{argument} must be one of {wanted}, got {value!r}{hint}")


def did_you_mean(value: Any, options: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest that is known, "" if none is near.

    >>> did_you_mean("Bananna", ["banana", "ricker"]), did_you_mean("zzz", ["banana"])
    ("; did you mean 'banana'?", '')
    """
    from difflib import get_close_matches  # only where there is an error to report

    name = value.lower() if isinstance(value, str) else ""
    near = get_close_matches(name, options, n=1, cutoff=SIMILAR)
    return f"; did you mean {near[0]!r}?" if near else ""


def generator(value: Any) -> np.random.Generator:
    """The argument ``rng`` if it is a random generator; else ``TypeError``."""
    if not isinstance(value, np.random.Generator):
        raise TypeError(
            "rng must be a numpy.random.Generator (numpy.random.default_rng(seed)), got an object "
            f"of type {type(value).__name__}"
        )
    return value


def _real(argument: str, given: Any) -> float:
    """A real number, or an array with one entry, as a float; nan and infinity pass."""
    if isinstance(given, str | bytes | bytearray) or given is None:
        raise TypeError(f"{argument} must be a real number, got {given!r:.100}")
    if np.ma.is_masked(given):
        raise ValueError(f"{argument} must be a real number, got a masked entry")
    array = np.asarray(given)
    if array.size != 1:
        raise ValueError(f"{argument} must be a single number, got an array of shape {array.shape}")
    entry = array.reshape(-1)[0]
    if array.dtype.kind == "c" or isinstance(entry, complex):
        raise ValueError(f"{argument} must be real, got the complex number {complex(entry)}")
    if array.dtype.kind == "b" or isinstance(entry, bool):
        raise TypeError(f"{argument} must be a real number, got the truth value {bool(entry)}")
    if array.dtype.kind not in "iufO" or isinstance(entry, str | bytes):
        raise TypeError(f"{argument} must be a real number, got {given!r:.100}")
    try:
        return float(entry)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            f"{argument} must be a real number, got an object of type {type(given).__name__} "
            f"({error})"
        ) from None


def _range_text(
    above: float | None, least: float | None, below: float | None, at_most: float | None
) -> str:
    """What a number within these limits is called.

    >>> _range_text(None, 0, None, 1), _range_text(0, None, None, 1)
    ('from 0 to 1', 'positive and at most 1')
    """
    if least is not None and at_most is not None:
        return f"from {least:g} to {at_most:g}"
    words = []
    if above is not None:
        words.append("positive" if above == 0 else f"above {above:g}")
    if least is not None:
        words.append("0 or positive" if least == 0 else f"at least {least:g}")
    if below is not None:
        words.append("negative" if below == 0 else f"below {below:g}")
    if at_most is not None:
        words.append(f"at most {at_most:g}")
    return " and ".join(words if len(words) > 1 else [*words, "finite"])


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
    if not all(isinstance(name, str) and name.strip() for name in names):
        raise ValueError(f"names must be non-empty strings, got {list(names)!r}")
    if len(names) != dimension:
        raise ValueError(f"names has {len(names)} entries, expected {dimension}")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"names must differ from each other, but {repeated[0]!r} appears twice")
    return names


def as_floats(argument: str, value: ArrayLike) -> FloatArray:
    """A float64 copy of ``value``; complex, text, masked and ragged input is refused."""
    try:
        if np.ma.is_masked(value):
            raise ValueError("got masked entries")
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            objects = np.asarray(value, dtype=object)
            text = [entry for entry in objects.flat if isinstance(entry, str | bytes)]
            if text:
                raise ValueError(f"got the text {text[0]!r}")
            array = objects.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
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
