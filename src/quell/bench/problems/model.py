"""A model of the benchmark bound to one data set: its likelihood, exact and noisy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray

Likelihood = Callable[[ArrayLike], FloatArray]
Estimator = Callable[[ArrayLike, np.random.Generator], tuple[float, float]]


class Parameter(NamedTuple):
    """A parameter of a model: its hard bounds and, within them, where it plausibly is."""

    name: str
    lower: float
    plausible_lower: float
    plausible_upper: float
    upper: float


class ReadOnly:
    """A base of dataclasses that hold data: their arrays cannot be written to."""

    def __post_init__(self) -> None:
        for array in vars(self).values():
            array.setflags(write=False)


@dataclass(frozen=True, eq=False)
class Model:
    """The log-likelihood of D parameters given one data set, and their box.

    ``exact`` maps points (..., D) to noiseless values (...), or is None where none exists.
    ``simulator(theta, rng)`` estimates the value at θ (D,), with the SD of its noise, by
    simulating the model; ``fast`` draws from the same law by a shortcut. ``emulated_sd`` is the
    noise of one evaluation in the paper, for emulation on top of the exact value.
    """

    names: tuple[str, ...]
    lower: FloatArray
    upper: FloatArray
    plausible_lower: FloatArray
    plausible_upper: FloatArray
    exact: Likelihood | None = field(default=None, repr=False)
    simulator: Estimator | None = field(default=None, repr=False)
    fast: Estimator | None = field(default=None, repr=False)
    emulated_sd: float | None = None
