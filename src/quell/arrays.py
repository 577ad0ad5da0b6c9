"""Types of arrays, as they stand in every signature, and peace for what is computed with them."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Class = TypeVar("Class", bound=type)


def at_peace(kind: Class) -> Class:
    """A class whose public methods ignore how NumPy treats numbers that overflow or underflow.

    For methods that a user calls: in a tail every density underflows, and that is no error where
    the user's program has made all of them errors (``np.seterr``).

    >>> @at_peace
    ... class Tail:
    ...     def density(self, z):
    ...         return np.exp(-0.5 * z**2)
    >>> with np.errstate(all="raise"):
    ...     float(Tail().density(np.array(100.0)))
    0.0
    """
    for name, method in list(vars(kind).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(kind, name, _at_peace(method))
    return kind


def _at_peace(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*arguments: Any, **named: Any) -> Any:
        with np.errstate(all="ignore"):
            return method(*arguments, **named)

    return call
