"""Rodent two-alternative choice (Akrami et al. 2018): logistic regression on a long history.

A rat compares two stimuli s1 and s2 in 10 000 trials. With nine regressors X_t of the present and
past trials, rescaled to [−1, 1], and a lapse rate λ = 0.02,

    P(y_t = 1) = λ/2 + (1 − λ) / (1 + exp(X_t · w)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from quell.arrays import BoolArray, FloatArray
from quell.bench.parsing import parsing
from quell.bench.problems.boxed import boxed_model
from quell.bench.problems.model import Model, Parameter, ReadOnly
from quell.bench.problems.rounds import ibs_in_rounds
from quell.likelihoods import ibs_from_log_probabilities

FILE = {"rodent": "data/akrami2018_data.csv"}
#: Rows of the file, and the last ones of them, which are used.
ROWS, TRIALS = 20_000, 10_000
LAPSE, REPEATS, NOISE_SD = 0.02, 500, 3.18
#: Length and time constant of the history regressor's window, in trials.
WINDOW, TIME_CONSTANT = 200, 20.0

NAMES = ("w_L0", "w_R0", "w_0", "w_L1", "w_R1", "w_L2", "w_R2", "w_c", "w_sbar")
PARAMETERS = tuple(Parameter(name, -3.0, -1.0, 1.0, 3.0) for name in NAMES)
#: Weights behind simulated data: near the posterior mean of the real ones.
GENERATING = {"rodent": (1.46, -2.17, 0.07, -0.33, 0.68, 0.53, -0.49, 0.36, -1.1)}


@dataclass(frozen=True, eq=False)
class Data(ReadOnly):
    """n trials in order: stimuli ``s1`` and ``s2`` (n,) and choices ``y`` (n,), 1 or 2."""

    s1: FloatArray
    s2: FloatArray
    y: FloatArray


def read(key: str) -> Data:
    """The rat's trials, from the data folder."""
    with parsing(FILE[key]) as path:
        rows = np.loadtxt(path, delimiter=",", skiprows=1)
        if rows.shape != (ROWS, 3):
            raise ValueError(f"it is a table of shape {rows.shape}, expected {(ROWS, 3)}")
        if not (np.isfinite(rows).all() and np.isin(rows[:, 2], (1, 2)).all()):
            raise ValueError("a stimulus is not finite or a choice is neither 1 nor 2")
    return Data(*(column.copy() for column in rows[-TRIALS:].T))


def simulate_data(key: str, rng: np.random.Generator) -> Data:
    """Choices of the model at ``GENERATING[key]``, with as many trials as the real data.

    A pair of stimuli is two neighbours, in either order, of five levels 0.75 apart (95 % of the
    trials) or of five levels 0.78 apart that lie a little lower, like those of the real rat.
    """
    levels = np.array([[-1.4, -0.65, 0.1, 0.85, 1.6], [-1.6, -0.82, -0.04, 0.74, 1.52]])
    scale = (rng.random(TRIALS) < 0.05).astype(np.intp)
    lower, first = rng.integers(4, size=TRIALS), rng.integers(2, size=TRIALS)
    s1, s2 = levels[scale, lower + first], levels[scale, lower + 1 - first]
    one = rng.random(TRIALS) < first_probability(regressors(s1, s2), np.array(GENERATING[key]))
    return Data(s1, s2, np.where(one, 1.0, 2.0))


def regressors(s1: FloatArray, s2: FloatArray) -> FloatArray:
    """The regressors X (n, 9) of trials with stimuli ``s1``, ``s2`` (n,)."""

    def back(x: FloatArray, trials: int) -> FloatArray:
        return np.concatenate([np.zeros(trials), x[:-trials]])

    previous_side = np.where(back(s1, 1) > back(s2, 1), 1.0, -1.0)
    weights = np.exp(-np.arange(1, WINDOW + 1) / TIME_CONSTANT)
    history = np.convolve((back(s1, 1) - s2) / 2, weights / weights.sum())[: len(s1)]
    columns = [s1, s2, back(s1, 1), back(s2, 1), back(s1, 2), back(s2, 2), previous_side, history]
    scaled = [2 * (x - x.min()) / (x.max() - x.min()) - 1 for x in columns]
    scaled.insert(2, np.ones_like(s1))
    return np.stack(scaled, axis=1)


def first_probability(x: FloatArray, w: FloatArray) -> FloatArray:
    """P(y = 1) (n,) given regressors (n, 9) and weights (9,)."""
    return LAPSE / 2 + (1 - LAPSE) * expit(-(x @ w))


def build(key: str, data: Data) -> Model:  # noqa: ARG001 (one data set only)
    """The model given the trials of a rat.

    >>> data = simulate_data("rodent", np.random.default_rng(1))
    >>> model = build("rodent", data)
    >>> float(model.exact(GENERATING["rodent"]).round())
    -6033.0
    >>> value, sd = model.fast(GENERATING["rodent"], np.random.default_rng(2))
    >>> round(value), round(sd, 1)
    (-6035, 3.1)
    """
    x, chose_first = regressors(data.s1, data.s2), data.y == 1
    # P(y) of either choice is P(1) with the regressors' sign turned for choice 2.
    signed = np.where(chose_first, 1.0, -1.0)[:, None] * x

    def log_probabilities(w: FloatArray) -> FloatArray:
        return np.log(first_probability(signed, w))

    def exact(w: FloatArray) -> float:
        return float(log_probabilities(w).sum())

    def simulator(w: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
        probability = first_probability(x, w)

        def miss(trial: NDArray[np.int32]) -> BoolArray:
            return (rng.random(len(trial)) < probability[trial]) != chose_first[trial]

        return ibs_in_rounds(miss, np.ones(len(x), dtype=np.intp), repeats=REPEATS)

    def fast(w: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
        return ibs_from_log_probabilities(log_probabilities(w), repeats=REPEATS, rng=rng)

    return boxed_model(
        PARAMETERS, exact=exact, simulator=simulator, fast=fast, emulated_sd=NOISE_SD
    )
