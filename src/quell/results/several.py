"""Several runs of one problem: whether they are, and their log evidences as one.

Errors of the log evidence have two parts. One is the noise of the evaluations, which every run has
its own of. The other is what the surrogate does to a posterior of this shape (heavy tails that it
smooths away, say): it is the same in all runs, and no number of them averages it out. On twenty-one
sets of 10 to 40 noisy runs with known answers the error of their mean was 0.55 of the SD that one
run reports, in the median (docs/experiments/combining.md), where a normal error of 0.82 of it would
be. So a share c = ⅔ of a run's variance is taken to be common to all runs:

    V = c s̄² + Σ w_i² v_i,     v_i = (1 − c) s_i² + τ²,     w_i ∝ 1 / v_i,     s̄² = Σ w_i s_i²,

with τ² what the runs differ by beyond their SDs (DerSimonian and Laird's estimate from the whole
variances s_i², so that runs which agree have none).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincc

from quell.arrays import FloatArray

#: Share of the variance of a run's log evidence that all runs of its problem have in common.
COMMON_SHARE = 2 / 3
#: Runs whose differences are less likely than this, by their SDs, are said to disagree.
DISAGREEMENT = 0.01
#: The smallest SD that is divided by: an evidence given as exact must not make infinite weights.
LEAST_SD = 1e-6
#: What two runs of one problem may differ in: guesses of where to begin, not the problem itself.
#: How parameters are mapped for the algorithm is no part of the problem either.
BOX = ("plausible_lower", "plausible_upper")
GUESSES = (*BOX, "noise", "noise_guess", "bounded")


@dataclass(frozen=True)
class Together:
    """The log evidence of several runs, its SD, and how likely their differences are.

    ``between_sd`` is τ; ``p_value`` is nan for one run.
    """

    value: float
    sd: float
    between_sd: float
    p_value: float

    @property
    def disagree(self) -> bool:
        """Whether the runs differ by more than their SDs allow."""
        return self.p_value < DISAGREEMENT


def together(log_evidences: ArrayLike, sds: ArrayLike) -> Together:
    """The log evidences (n,) of n runs of one problem, with these SDs (n,), as one.

    >>> pair = together([-3.0, -3.0], [0.2, 0.2])
    >>> round(pair.value, 3), round(pair.sd, 3), pair.disagree
    (-3.0, 0.183, False)
    >>> pair = together([-3.0, -5.0], [0.2, 0.2])
    >>> round(pair.value, 3), round(pair.sd, 2), pair.disagree
    (-4.0, 1.01, True)
    """
    values, sds = np.asarray(log_evidences, dtype=float), np.asarray(sds, dtype=float)
    n = len(values)
    if n == 1:
        return Together(float(values[0]), float(sds[0]), 0.0, np.nan)
    variances = np.maximum(sds, LEAST_SD) ** 2
    between, excess = _between(values, variances)
    own = (1 - COMMON_SHARE) * variances + between
    weights = 1 / own / np.sum(1 / own)
    common = COMMON_SHARE * float(weights @ variances)
    return Together(
        value=float(weights @ values),
        sd=float(np.sqrt(common + np.sum(weights**2 * own))),
        between_sd=float(np.sqrt(between)),
        p_value=float(gammaincc(0.5 * (n - 1), 0.5 * excess)),  # of a χ² with n − 1 degrees
    )


def _between(values: FloatArray, variances: FloatArray) -> tuple[float, float]:
    """τ², and the sum of squared differences in units of the variances."""
    precision = 1 / variances
    mean = precision @ values / precision.sum()
    excess = float(precision @ (values - mean) ** 2)
    scale = precision.sum() - precision @ precision / precision.sum()
    return max(0.0, (excess - (len(values) - 1)) / scale), excess


def first_difference(problems: Sequence[dict[str, Any]]) -> tuple[int, str] | None:
    """The first problem that is not the one at place 0, and in what; None if all are.

    What differs is in words, such as "lower: [0.0] and [1.0]". Plausible boxes may differ.

    >>> first_difference([{"names": ["a"], "lower": [0]}, {"names": ["a"], "lower": [1]}])
    (1, 'lower: [0] and [1]')
    """
    for i, problem in enumerate(problems[1:], start=1):
        keys = [*problems[0], *(key for key in problem if key not in problems[0])]
        same_box = all(problems[0].get(key) == problem.get(key) for key in BOX)
        for key in keys:
            a, b = problems[0].get(key), problem.get(key)
            if key == "prior" and not same_box:  # it was tried out at points of the box
                a, b = _without_probe(a), _without_probe(b)
            if key not in GUESSES and a != b:
                return i, f"{key}: {_short(a)} and {_short(b)}"
    return None


def _without_probe(prior: Any) -> Any:
    return {key: entry for key, entry in dict(prior or {}).items() if key != "probe"}


def _short(value: Any) -> str:
    text = "none" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."
