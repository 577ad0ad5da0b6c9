"""The trials of the aDDM problems: what was fixated when, what was chosen, and when."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quell.arrays import FloatArray
from quell.bench.parsing import parsing
from quell.bench.problems.model import ReadOnly

FILE = "data/krajbich2010/krajbichetal2010_2subjs.csv"
COLUMNS = ("subject", "trial", "fixdur", "leftval", "rightval", "choice", "roi")
TRIALS = 100
#: Width of a time bin (s).
STEP = 0.1
LEFT, RIGHT = 1, 2


@dataclass(frozen=True)
class Subject:
    """A subject's number in the file, and what a simulated design takes from them.

    Number B of time ``bins``, ``highest`` rating of an item, mean duration of a ``fixation`` (s)
    and the probability that the first is on the left item.
    """

    number: int
    bins: int
    highest: int
    fixation: float
    left_first: float


SUBJECTS = {
    "addm_s1": Subject(13, bins=146, highest=6, fixation=1.2, left_first=0.97),
    "addm_s2": Subject(16, bins=55, highest=10, fixation=0.45, left_first=0.5),
}


@dataclass(frozen=True, eq=False)
class Data(ReadOnly):
    """n trials of B time bins.

    ``left`` and ``right`` (n,) are the ratings a and b of the two items, ``item`` (n, B) is the
    one fixated in each bin (1 left, 2 right), ``choice`` (n,) the one chosen, and ``bin`` (n,) the
    bin of the response, 1 .. B.
    """

    left: FloatArray
    right: FloatArray
    item: NDArray[np.int64]
    choice: NDArray[np.int64]
    bin: NDArray[np.int64]

    @property
    def bins(self) -> int:
        """B."""
        return self.item.shape[1]


def drift(
    theta: FloatArray, left: FloatArray, right: FloatArray, item: NDArray[np.int64]
) -> FloatArray:
    """μ, the mean step in a bin, at θ = (σ_ε, d, β, λ); ratings and item of any one shape."""
    _, d, beta, _ = theta
    return d * STEP * np.where(item == LEFT, left - beta * right, beta * left - right)


def read(key: str) -> Data:
    """The trials of a subject, from the data folder."""
    with parsing(FILE) as path:
        rows = _rows(path)
        rows = rows[rows[:, 0] == SUBJECTS[key].number]
        number, trial = np.unique(rows[:, 1], return_inverse=True)
        if len(number) != TRIALS:
            raise ValueError(f"it has {len(number)} trials of the subject, expected {TRIALS}")
        return _data([rows[trial == i] for i in range(TRIALS)])


def _rows(path: Path) -> FloatArray:
    """The file's fixations (rows) in terms of COLUMNS, checked."""
    with path.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    rows = np.array([[float(line[name]) for name in COLUMNS] for line in lines])
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise ValueError("it has no rows, or a value that is not a finite number")
    if (rows[:, 2] <= 0).any():
        raise ValueError("a fixation has no positive duration")
    if not (np.isin(rows[:, 5], (0, 1)).all() and np.isin(rows[:, 6], (LEFT, RIGHT)).all()):
        raise ValueError("choice must be 0 or 1, and roi 1 or 2")
    return rows


def _data(trials: list[FloatArray]) -> Data:
    """The data from the rows (fixations, columns) of each trial."""
    # The order of these operations decides ties between bins, so they stay as they are.
    durations = [rows[:, 2] for rows in trials]
    time = np.array([ms.sum() / 1000 for ms in durations])
    bins = int(np.ceil(time.max() / STEP))
    middle = np.cumsum(np.r_[STEP / 2, np.full(bins - 1, STEP)])
    item = np.full((len(trials), bins), LEFT)
    for row, rows, ms in zip(item, trials, durations, strict=True):
        # The first fixation that ends after the middle of the bin.
        current = np.searchsorted(np.cumsum(ms / 1000), middle, side="right")
        during = current < len(ms)
        row[during] = rows[current[during], 6]
    response = np.floor(time / STEP + 0.5).astype(np.int64)
    if response.min() < 1:
        raise ValueError("a trial is shorter than half a time bin")
    left, right, chosen = np.array([rows[0, 3:6] for rows in trials]).T.copy()
    return Data(left, right, item, np.where(chosen == 1, LEFT, RIGHT), response)


def design(key: str, rng: np.random.Generator) -> Data:
    """Trials like the subject's, without responses (choice and bin are 0).

    Ratings are uniform on the integers up to the highest. Fixations go from one item to the
    other; their durations are gamma distributed with shape 2.
    """
    subject = SUBJECTS[key]
    ratings = rng.integers(0, subject.highest, (2, TRIALS), endpoint=True).astype(np.float64)
    start = np.where(rng.random(TRIALS) < subject.left_first, LEFT, RIGHT)
    # Far more fixations than fit: those after the last bin do not matter.
    ends = np.cumsum(rng.gamma(2, subject.fixation / 2, (TRIALS, 8 * subject.bins)), axis=1)
    middle = STEP * (np.arange(subject.bins) + 0.5)
    current = np.array([np.searchsorted(end, middle) for end in ends])
    item = np.where((current + start[:, None]) % 2 == 1, LEFT, RIGHT)
    none = np.zeros(TRIALS, dtype=np.int64)
    left, right = ratings
    return Data(left, right, item, none, none.copy())
