"""Inverse binomial sampling (IBS) by simulation, with one stream of draws for equal trials.

For a trial and a repeat, responses are drawn until one equals the observed response: a *hit*, after
K − 1 misses. Trials with the same stimulus and the same observed response have draws with the same
law. They and their repeats can take turns at one endless stream of independent draws: each takes
draws up to and including its first hit, and the next goes on with the draw after. Where one stops
depends on draws already taken only, so what follows is a fresh stream, independent of the past:
all K are independent, and each is distributed as if it had a simulator of its own. No draw
serves twice. Nor does it matter in how large batches the stream is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from quell.likelihoods.ibs_law import harmonic_sums, sd_or_one_miss

Positions = NDArray[np.intp]
#: Simulates the next n draws of a stream and returns the places 0 .. n − 1 of the hits, in order.
Stream = Callable[[int], Positions]

#: Draws in the smallest and in the largest batch; the arrays of the largest still fit in a cache.
SMALLEST, LARGEST = 1 << 8, 1 << 16


def ibs_from_streams(streams: Iterable[tuple[Stream, int]], repeats: int) -> tuple[float, float]:
    """The IBS estimate of a log-likelihood and its SD, from (stream, number of equal trials).

    >>> rng = np.random.default_rng(1)
    >>> heads = lambda n: np.flatnonzero(rng.random(n) < 0.5)
    >>> value, sd = ibs_from_streams([(heads, 3)], repeats=1000)
    >>> bool(abs(value - 3 * np.log(0.5)) < 4 * sd), round(sd, 2)
    (True, 0.04)
    """
    value = variance = 0.0
    for stream, trials in streams:
        first, second = harmonic_sums(misses_before_hits(stream, trials * repeats))
        value -= float(first.sum()) / repeats
        variance += float(second.sum()) / repeats**2
    return value, sd_or_one_miss(variance, repeats)


def misses_before_hits(stream: Stream, hits: int) -> NDArray[np.int64]:
    """The number of misses before each of the first ``hits`` hits, since the hit before."""
    places: list[Positions] = []
    found = drawn = 0
    while found < hits:
        # About as many as are still needed, by the rate of hits so far.
        needed = (hits - found) * (drawn + 1) // (found + 1)
        n = min(max(needed, SMALLEST), LARGEST)
        new = stream(n)
        places.append(new + drawn)
        found, drawn = found + len(new), drawn + n
    return np.diff(np.concatenate(places)[:hits], prepend=-1) - 1


def with_lapses(stream: Stream, rate: float, responses: int, rng: np.random.Generator) -> Stream:
    """The stream of one who, at this rate, gives one of so many responses blindly instead.

    All ``responses`` are equally likely then, and the observed one is among them.
    """

    def lapsing(n: int) -> Positions:
        hit = np.zeros(n, dtype=bool)
        hit[stream(n)] = True
        lapses = successes(n, rate, rng)
        hit[lapses] = rng.integers(responses, size=len(lapses)) == 0
        return np.flatnonzero(hit)

    return lapsing


def successes(n: int, p: float, rng: np.random.Generator) -> Positions:
    """The places of the successes among n independent tries with probability p."""
    places = np.empty(0, dtype=np.intp)
    last = -1
    while last < n:
        gaps = rng.geometric(p, int((n - last) * p) + 32)
        places = np.concatenate([places, last + np.cumsum(gaps)])
        last = int(places[-1])
    return places[: np.searchsorted(places, n)]
