"""Inverse binomial sampling of a whole data set at a fixed number of repeats, in rounds.

In round j every repeat that has had no hit yet simulates its trial once more. If N_j of them miss,

    value = −(1/R) Σ_j N_j / j,    variance = (1/R²) Σ_j N_j / j²

(`quell.likelihoods.ibs_law`): the total needs no account of single trials. That makes it fit for
simulators that cost no more than the account would.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quell.arrays import BoolArray
from quell.likelihoods.ibs_law import sd_or_one_miss

#: Draws simulated at a time: what they need stays in the processor's cache.
BLOCK = 1 << 15


def ibs_in_rounds(
    miss: Callable[[NDArray[np.int32]], BoolArray], counts: ArrayLike, *, repeats: int
) -> tuple[float, float]:
    """An IBS estimate of the log-likelihood and the SD it reports.

    ``miss`` simulates a trial of each of the given groups (m,) of equal trials once and says
    whether the response differs from the observed one (m,); ``counts`` (g,) are the sizes of the
    groups. There is no limit on the number of draws: every trial needs a positive probability.

    >>> rng, p = np.random.default_rng(1), np.array([0.5, 0.9])
    >>> def miss(group):
    ...     return rng.random(len(group)) >= p[group]
    >>> value, sd = ibs_in_rounds(miss, [6, 4], repeats=100)
    >>> bool(abs(value - (6 * np.log(0.5) + 4 * np.log(0.9))) < 3 * sd)
    True
    """
    open_repeats = np.asarray(counts, dtype=np.intp) * repeats
    group = np.repeat(np.arange(len(open_repeats), dtype=np.int32), open_repeats)
    first, second, level = 0.0, 0.0, 0
    while group.size:
        blocks = [group[i : i + BLOCK] for i in range(0, group.size, BLOCK)]
        group = np.concatenate([block[miss(block)] for block in blocks])
        level += 1
        first += group.size / level
        second += group.size / level**2
    return 0.0 - first / repeats, sd_or_one_miss(second / repeats**2, repeats)
