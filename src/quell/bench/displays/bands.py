"""Quantiles over runs with bootstrap bands, for many columns at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from quell.arrays import FloatArray
from quell.bench.metrics import BOOTSTRAPS

LEVEL = 0.95
#: The seed of the resamples.
SEED = 0


@dataclass(frozen=True, eq=False)
class Band:
    """A quantile over runs in n columns, and its 95 % bootstrap interval; (n,) each."""

    middle: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, values: FloatArray, p: float = 0.5) -> Band:
        """The band of values (R, n), R runs; infinite ones are allowed.

        >>> band = Band.of(np.arange(101.0)[:, None])
        >>> float(band.middle[0]), bool(30 < band.low[0] < 50 < band.high[0] < 70)
        (50.0, True)
        """
        ordered = np.sort(values, axis=0)
        place = p * (len(values) - 1)
        first, share = int(place), place - int(place)
        below, above = _resampled_ranks(len(values), first)
        again = np.sort(_between(ordered[below], ordered[above], share), axis=0)
        ends = ((0.5 + side * LEVEL / 2) * (BOOTSTRAPS - 1) for side in (-1, 1))
        low, high = (_between(again[int(end)], again[int(end) + 1], end - int(end)) for end in ends)
        middle = _between(ordered[first], ordered[min(first + 1, len(values) - 1)], share)
        return cls(middle, low, high)


@cache
def _resampled_ranks(runs: int, first: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which of the ordered values have places ``first`` and the next in resamples of the runs.

    They are the same for all columns, so resamples are made and ordered once.
    """
    chosen = np.random.default_rng(SEED).integers(runs, size=(BOOTSTRAPS, runs))
    chosen.sort(axis=1)
    return chosen[:, first], chosen[:, min(first + 1, runs - 1)]


def _between(low: FloatArray, high: FloatArray, share: float) -> FloatArray:
    """A point between two values; that of equal or infinite ones is their own."""
    with np.errstate(invalid="ignore"):
        return np.where((low == high) | (share == 0), low, (1 - share) * low + share * high)
