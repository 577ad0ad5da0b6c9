"""Evaluations that were contradicted when their point was evaluated again.

A value that nobody expected is either wrong or news, and one evaluation cannot tell which: but the
target can be asked again at the very same point (`Origin.AGAIN`). Of two values that agree within
their noise both stand. Where they do not agree a third decides: the values that most others agree
with stand, and the rest is *set aside*. Values that no other one agrees with say nothing, so as
long as there are two that contradict each other, or three, all of them are set aside.

Where SDs are stated too small by a factor nothing would agree. So the typical difference of two
repeats says how large the noise is, if it is larger than stated.

What is set aside follows from the table alone (and the size of the noise, where that is fitted):
it is the same in a run, its journal and its file.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quell.arrays import BoolArray, FloatArray
from quell.evaluations.origin import Origin
from quell.evaluations.table import Evaluations

#: Two values agree if they differ by no more than this many SDs of their difference: normal noise
#: alone does so in all but one in 370 pairs.
AGREE = 3.0
#: Points from which the size of the noise can be told, and the median of the absolute value of a
#: standard normal.
FEWEST_POINTS, NORMAL_MEDIAN = 5, 0.6745


def set_aside(table: Evaluations, unknown_sd: float = np.nan) -> BoolArray:
    """Mask (N,) of the evaluations that others at the same point contradict.

    Only at points that were evaluated again for it. ``unknown_sd`` is the SD of noise of unknown
    size; without it such values are not judged.

    >>> values = [0.4, -99.0, -0.3]
    >>> set_aside(Evaluations.from_arrays(np.zeros((3, 1)), values, 1.0, origin=Origin.AGAIN))
    array([False,  True, False])
    """
    mask = np.zeros(len(table), dtype=bool)
    known = np.where(np.isnan(table.sd), unknown_sd, table.sd)
    points = [rows for rows in rows_again(table) if np.all(known[rows] > 0)]
    scale = larger_than_stated([(table.value[rows], known[rows]) for rows in points])
    for rows in points:
        mask[rows] = ~standing(table.value[rows], scale * known[rows])
    return mask


def larger_than_stated(points: Sequence[tuple[FloatArray, FloatArray]]) -> float:
    """How much larger than stated the noise is, from values and SDs, each (n,), of some points.

    By the median over the points of the smallest difference of two values there, so that single
    wrong ones have no say; at least 1, and 1 where there are too few points.

    >>> pairs = [(np.array([0.0, d]), np.ones(2)) for d in (3.0, -4.0, 5.0, 1.0, 90.0)]
    >>> round(larger_than_stated(pairs), 1), larger_than_stated(pairs[:4])
    (4.2, 1.0)
    """
    if len(points) < FEWEST_POINTS:
        return 1.0
    smallest = []
    for value, sd in points:
        i, j = np.triu_indices(len(value), 1)
        smallest.append(float(np.min(np.abs(value[i] - value[j]) / np.hypot(sd[i], sd[j]))))
    return max(1.0, float(np.median(smallest)) / NORMAL_MEDIAN)


def disagreement(table: Evaluations) -> tuple[int, float]:
    """How many evaluations are repeats of another one, and their χ² by the stated SDs.

    That is, of n values of one point n - 1, and the weighted sum of squares around their mean.

    >>> disagreement(Evaluations.from_arrays(np.zeros((8, 1)), [1.0, -1.0] * 4, 1.0))
    (7, 8.0)
    """
    ok = table.ok & (np.nan_to_num(table.sd) > 0)
    group = table.merge_duplicates().group
    total, n_repeats = 0.0, 0
    for g in np.unique(group[ok & (group >= 0)]):
        rows = np.flatnonzero(ok & (group == g))
        if len(rows) < 2:
            continue
        weights = table.sd[rows] ** -2
        mean = float(weights @ table.value[rows] / weights.sum())
        total += float(weights @ (table.value[rows] - mean) ** 2)
        n_repeats += len(rows) - 1
    return n_repeats, total


@dataclass(frozen=True)
class SetAside:
    """An evaluation that others at the same point contradict, and that counts for nothing.

    Attributes
    ----------
    row
        Its row in the table of evaluations.
    off
        By how many nats it is above the mean of those that stand; nan if none of them does,
        because all contradict each other.

    Examples
    --------
    >>> table = Evaluations.from_arrays(
    ...     np.zeros((3, 1)), [0.4, -99.0, -0.4], 1.0, origin=Origin.AGAIN
    ... )
    >>> what_is_set_aside(table)
    (SetAside(row=1, off=-99.0),)
    """

    row: int
    off: float


def what_is_set_aside(table: Evaluations, unknown_sd: float = np.nan) -> tuple[SetAside, ...]:
    """The evaluations of `set_aside`, each with how far it is off."""
    mask = set_aside(table, unknown_sd)
    found = []
    for rows in rows_again(table):
        stand = rows[~mask[rows]]
        others = float(table.value[stand].mean()) if len(stand) else np.nan
        found += [SetAside(int(row), float(table.value[row]) - others) for row in rows[mask[rows]]]
    return tuple(sorted(found, key=lambda one: one.row))


def rows_again(table: Evaluations) -> list[NDArray[np.intp]]:
    """Rows without failure of each point that was evaluated again, if there are two or more."""
    again = np.array([origin == Origin.AGAIN for origin in table.origin], dtype=bool)
    if not again.any():
        return []
    group = table.merge_duplicates().group
    points = np.unique(group[again & (group >= 0)])
    found = [np.flatnonzero(group == point) for point in points]
    return [rows for rows in found if len(rows) > 1]


def standing(value: FloatArray, sd: FloatArray) -> BoolArray:
    """Which of n values of one point, with their SDs (n,), are to be believed: a mask.

    Those that agree with the one that most others agree with, and of several such with the one
    in the middle of the closest; none where all contradict each other.

    >>> standing(np.array([0.0, 1.0]), np.ones(2)), standing(np.array([0.0, 30.0]), np.ones(2))
    (array([ True,  True]), array([False, False]))
    """
    difference = np.abs(value[:, None] - value)
    agree = difference <= AGREE * np.hypot(sd[:, None], sd)
    supporters = agree.sum(axis=1)
    if supporters.max() < 2:
        return np.zeros(len(value), dtype=bool)
    apart = np.where(agree, difference, 0.0).sum(axis=1)
    most = np.flatnonzero(supporters == supporters.max())
    return np.asarray(agree[most[apart[most].argmin()]])
