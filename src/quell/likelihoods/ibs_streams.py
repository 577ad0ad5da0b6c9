"""Inverse binomial sampling as streams of draws: few, large calls of a simulator.

Each trial has a stream of independent draws, hits and misses. The gaps between its hits are the
numbers of draws K_1, K_2, ... of successive repeats (`quell.likelihoods.ibs_law`), so a block of
draws can finish many repeats at once and nothing drawn is wasted but the end of the last block.
How many draws to ask for next may depend on everything seen so far: what has not been drawn yet
does not know about it, and the gaps stay independent and geometric.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from quell.arrays import BoolArray, FloatArray
from quell.likelihoods.ibs_law import IntArray, harmonic_sums

#: Trial numbers (rows,) to whether a new draw for each is a hit (rows,).
Draw = Callable[[IntArray], BoolArray]


@dataclass(frozen=True, eq=False)
class TrialEstimates:
    """Estimates of n trials: ``value`` (n,) of log p, ``variance`` (n,), ``censored`` (n,).

    ``censored`` is 0 for a trial that has all its repeats, else the share of the one that was cut
    off before its hit.
    """

    value: FloatArray
    variance: FloatArray
    censored: FloatArray


class Streams:
    """The state of n streams: at most ``limit`` hits of each are used.

    ``rows`` is the most draws asked for at a time (more only where there are more streams).
    """

    def __init__(self, draw: Draw, n: int, *, limit: int, rows: int) -> None:
        self._draw = draw
        self._limit, self._rows = limit, rows
        self._hits = np.zeros(n, dtype=np.int64)
        self._draws = np.zeros(n, dtype=np.int64)
        self._misses = np.zeros(n, dtype=np.int64)  # since the last hit
        self._sums = np.zeros(n)  # of Σ 1/j over the finished repeats
        self._squares = np.zeros(n)  # of Σ 1/j² over them

    @property
    def drawn(self) -> int:
        """Draws made so far, in all streams."""
        return int(self._draws.sum())

    def run(self, goal: int, budget: int) -> bool:
        """Draw until each stream has ``goal`` hits; False if ``budget`` draws end it before.

        ``budget`` counts all draws of these streams, earlier ones too. All open streams take part
        in every block, so that none starves if the budget ends.
        """
        while (open_ := np.flatnonzero(self._hits < goal)).size:
            room = min(max(self._rows, open_.size), budget - self.drawn)
            if room < open_.size:
                return False
            sizes = self._block(open_, goal)
            if (excess := int(sizes.sum()) - room) > 0:
                spare = int(sizes.sum()) - open_.size
                sizes = 1 + ((sizes - 1) * ((spare - excess) / spare)).astype(np.int64)
            self._extend(open_, sizes)
        return True

    def _block(self, open_: IntArray, goal: int) -> IntArray:
        """Draws to ask for next: a little fewer than the missing hits are expected to take."""
        missing = goal - self._hits[open_]
        draws_per_hit = (self._draws[open_] + 1) / (self._hits[open_] + 1)
        expected = (missing - 0.5 * np.sqrt(missing)) * draws_per_hit
        return np.maximum(missing, np.ceil(expected).astype(np.int64))

    def _extend(self, open_: IntArray, sizes: IntArray) -> None:
        """Draw a block of ``sizes`` (k,) for the streams ``open_`` (k,), and read off the gaps."""
        ends = np.cumsum(sizes)
        hit = np.flatnonzero(self._draw(np.repeat(open_, sizes)))
        block = np.searchsorted(ends, hit, side="right")  # of each hit, 0 .. k−1
        found = np.bincount(block, minlength=len(open_))
        rank = np.arange(len(hit)) - (np.cumsum(found) - found)[block]

        starts = ends - sizes
        previous = np.empty_like(hit)
        previous[1:] = hit[:-1]
        opens = rank == 0  # the first hit of a block ends the run of misses before it
        previous[opens] = (starts - 1 - self._misses[open_])[block[opens]]
        used = rank < (self._limit - self._hits[open_])[block]
        first, second = harmonic_sums((hit - previous - 1)[used])
        k = len(open_)
        self._sums[open_] += np.bincount(block[used], first, minlength=k)
        self._squares[open_] += np.bincount(block[used], second, minlength=k)

        self._hits[open_] = np.minimum(self._hits[open_] + found, self._limit)
        self._draws[open_] += sizes
        last = starts - 1 - self._misses[open_]
        last[block] = hit  # where a block has several hits, the last one stays
        self._misses[open_] = ends - 1 - last

    def estimates(self, goal: int) -> TrialEstimates:
        """The average over the repeats of each trial.

        In a trial with fewer than ``goal`` hits the repeat that is under way counts as if its
        next draw were a hit, which makes the value too high.
        """
        censored = self._hits < goal
        repeats = self._hits + censored
        first, second = harmonic_sums(np.where(censored, self._misses, 0))
        return TrialEstimates(
            value=0.0 - (self._sums + first) / repeats,
            variance=(self._squares + second) / repeats**2,
            censored=censored / repeats,
        )
