"""Checks of what only likelihoods are given: functions of a certain signature, and points."""

from __future__ import annotations

import inspect
from typing import Any

from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.checks import as_floats


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


def point(given: ArrayLike) -> FloatArray:
    """θ as a float vector (D,) that the caller may write into."""
    theta = as_floats("theta", given)
    if theta.ndim != 1:
        raise ValueError(f"theta must have shape (D,), one point at a time, got {theta.shape}")
    return theta
