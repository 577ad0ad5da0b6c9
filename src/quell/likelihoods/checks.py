"""Input checks shared by the estimators: a bad argument fails at once, by name."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.checks import as_floats
from quell.problem.outcome import number

Name = TypeVar("Name", bound=str)


def function(argument: str, given: Any, *parameters: str) -> None:
    """``TypeError`` unless ``given`` can be called with these positional arguments.

    >>> function("simulate", lambda theta: 0, "theta", "rng")
    Traceback (most recent call last):
        ...
    TypeError: simulate must be callable as simulate(theta, rng), but its signature is (theta)
    """
    usage = f"{argument} must be callable as {argument}({', '.join(parameters)})"
    if not callable(given):
        raise TypeError(f"{usage}, got an object of type {type(given).__name__}")
    try:
        signature = inspect.signature(given)
    except (TypeError, ValueError):
        return  # Python does not know it, as for some functions in C
    try:
        signature.bind(*parameters)
    except TypeError:
        raise TypeError(f"{usage}, but its signature is {signature}") from None


def positive_integer(argument: str, given: Any, least: int = 1) -> int:
    """``given`` as an integer of at least ``least``.

    >>> positive_integer("repeats", 0)
    Traceback (most recent call last):
        ...
    ValueError: repeats must be an integer of at least 1, got 0
    """
    whole = isinstance(given, int | np.integer) and not isinstance(given, bool)
    if not whole or given < least:
        raise ValueError(f"{argument} must be an integer of at least {least}, got {given!r}")
    return int(given)


def positive_number(argument: str, given: Any, *, or_zero: bool = False) -> float:
    """``given`` as a finite float above 0, or from 0 on.

    >>> positive_number("sd", -1.0)
    Traceback (most recent call last):
        ...
    ValueError: sd must be positive and finite, got -1.0
    """
    value = number(argument, given)
    if not np.isfinite(value) or value < 0 or (value == 0 and not or_zero):
        raise ValueError(
            f"{argument} must be {'0 or ' if or_zero else ''}positive and finite, got {value!r}"
        )
    return value


def one_of(argument: str, given: Any, names: Sequence[Name]) -> Name:
    """``given`` if it is one of the names.

    >>> one_of("sd", "exact", ["jackknife", "bootstrap"])
    Traceback (most recent call last):
        ...
    ValueError: sd must be one of 'jackknife', 'bootstrap', got 'exact'
    """
    for name in names:
        if isinstance(given, str) and given == name:
            return name
    raise ValueError(f"{argument} must be one of {', '.join(map(repr, names))}, got {given!r}")


def generator(given: Any) -> np.random.Generator:
    """``given`` if it is a random generator; else ``TypeError``."""
    if not isinstance(given, np.random.Generator):
        raise TypeError(
            "rng must be a numpy.random.Generator (numpy.random.default_rng(seed)), got an object "
            f"of type {type(given).__name__}"
        )
    return given


def point(given: ArrayLike) -> FloatArray:
    """θ as a float vector (D,) that the caller may write into."""
    theta = as_floats("theta", given)
    if theta.ndim != 1:
        raise ValueError(f"theta must have shape (D,), one point at a time, got {theta.shape}")
    return theta
