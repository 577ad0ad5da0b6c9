"""Discrete responses: what can be one, and when a simulated one equals an observed one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quell.arrays import BoolArray, FloatArray
from quell.checks import as_floats, raise_at


def discrete(argument: str, given: ArrayLike) -> NDArray[Any]:
    """Observed responses (n,) or (n, features), read-only; what could never be hit is refused.

    >>> discrete("responses", ["left", "right"])
    array(['left', 'right'], dtype='<U5')
    """
    array = _plain(argument, given)
    if array.ndim not in (1, 2) or array.size == 0:
        raise ValueError(
            f"{argument} must have shape (n,), or (n, features), with at least one trial, got "
            f"{array.shape}"
        )
    if array.dtype.kind == "f" and np.isnan(array).any():
        first = int(np.argwhere(np.isnan(array))[0, 0])
        raise ValueError(
            f"{argument} has nan in trial {first}, which no simulated response can equal (leave "
            "out trials without a response)"
        )
    array = array.copy()
    array.setflags(write=False)
    return array


def matches(simulated: ArrayLike, observed: NDArray[Any]) -> BoolArray:
    """Whether each row of what ``simulate`` returned equals its observed response, (k,).

    >>> matches([[1, 2], [1, 3]], np.array([[1, 2], [1, 2]]))
    array([ True, False])
    """
    array = _plain("what simulate returns", simulated)
    if array.shape != observed.shape:
        raise ValueError(
            f"simulate must return one response for each of the {len(observed)} trials it is "
            f"given, as an array of shape {observed.shape}, but it returned shape {array.shape}"
        )
    if (array.dtype.kind == "U") != (observed.dtype.kind == "U"):
        text, numbers = "text", "numbers"
        ours, theirs = (text, numbers) if observed.dtype.kind == "U" else (numbers, text)
        raise TypeError(
            f"the observed responses are {ours}, but simulate returns {theirs}: they can never be "
            "equal"
        )
    equal = array == observed
    return equal if equal.ndim == 1 else equal.all(axis=1)


def design(given: ArrayLike | None, n: int) -> NDArray[Any]:
    """The design with its n rows, read-only; the numbers of the trials for None.

    >>> design(None, 3)
    array([0, 1, 2])
    """
    array = np.arange(n) if given is None else np.array(given)
    if array.ndim == 0 or len(array) != n:
        raise ValueError(
            f"trials must have one row for each of the {n} responses, got shape {array.shape}"
        )
    array.setflags(write=False)
    return array


def trial_weights(given: ArrayLike | None, n: int) -> FloatArray:
    """Weights (n,), finite, not negative, not all 0; ones for None.

    >>> trial_weights([1.0, -1.0], 2)
    Traceback (most recent call last):
        ...
    ValueError: weights[1] must be finite and not negative, got -1
    """
    array = np.ones(n) if given is None else as_floats("weights", given)
    if array.shape != (n,):
        raise ValueError(
            f"weights must have shape ({n},), one for each response, got {array.shape}"
        )
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        raise_at("weights", array, bad, "must be finite and not negative")
    if not array.any():
        raise ValueError("weights must not all be 0")
    array.setflags(write=False)
    return array


def _plain(argument: str, given: ArrayLike) -> NDArray[Any]:
    """An array of truth values, integers, floats or text; objects are converted if they are."""
    try:
        array = np.asarray(given)
        if array.dtype.kind == "U" and not hasattr(given, "dtype"):
            array = np.asarray(given, dtype=object)  # numbers may have been made into text
    except ValueError as error:
        raise ValueError(f"{argument} must be an array with one row per trial: {error}") from None
    if np.ma.is_masked(given):
        raise ValueError(f"{argument} has masked entries (leave out trials without a response)")
    kind = str(array.dtype)
    if array.dtype.kind == "O":
        entries = array.ravel().tolist()
        if all(isinstance(entry, str) for entry in entries):
            array = array.astype(np.str_)
        elif all(isinstance(entry, int | float | np.number | np.bool_) for entry in entries):
            array = np.array(entries).reshape(array.shape)
        kind = " and ".join(sorted({type(entry).__name__ for entry in entries}))
    if array.dtype.kind not in "biufU":
        raise TypeError(f"{argument} must be integers, truth values, floats or text, got {kind}")
    return array
