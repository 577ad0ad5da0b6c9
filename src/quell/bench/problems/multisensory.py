"""Multisensory causal inference (Acerbi, Dokka et al. 2018): do two cues have the same cause?

An observer sees a direction s_vis, in one of three levels j of coherence, and feels a direction
s_vest, both in noise; it answers "same" (1) if the two noisy directions are less than κ apart,
else "different" (2), and tosses a coin in a share λ of the trials. With Δ = s_vest − s_vis and
v² = σ_vis,j² + σ_vest²,

    P(same) = λ/2 + (1 − λ) [Φ((κ + Δ)/v) − Φ((−κ + Δ)/v)].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from quell.arrays import BoolArray, FloatArray
from quell.bench.parsing import parsing, read_mat
from quell.bench.problems.boxed import boxed_model
from quell.bench.problems.model import Model, Parameter, ReadOnly
from quell.bench.problems.rounds import ibs_in_rounds
from quell.likelihoods import ibs_from_log_probabilities

FILE = "data/acerbidokka2018/acerbidokka2018_data.mat"
SUBJECT = {"multisensory_s1": 0, "multisensory_s2": 1}
#: Trials in each of the three conditions.
TRIALS = {"multisensory_s1": (372, 374, 323), "multisensory_s2": (373, 244, 240)}
SAME, DIFFERENT = 1, 2
REPEATS, NOISE_SD = 200, 1.3

PARAMETERS = (
    Parameter("sigma_vis_1", 0.5, 1.0, 40.0, 80.0),
    Parameter("sigma_vis_2", 0.5, 1.0, 40.0, 80.0),
    Parameter("sigma_vis_3", 0.5, 1.0, 40.0, 80.0),
    Parameter("sigma_vest", 0.5, 1.0, 40.0, 80.0),
    Parameter("lambda", 0.005, 0.01, 0.2, 0.5),
    Parameter("kappa", 0.25, 1.0, 45.0, 180.0),
)
#: Parameters behind simulated data: near the posterior means of the real ones.
GENERATING = {
    "multisensory_s1": (4.4, 4.0, 9.4, 5.4, 0.034, 10.2),
    "multisensory_s2": (4.9, 14.0, 23.0, 5.3, 0.12, 21.0),
}


@dataclass(frozen=True, eq=False)
class Data(ReadOnly):
    """n trials: ``condition`` 0, 1 or 2, directions (deg) and ``response``, 1 or 2; all (n,)."""

    condition: NDArray[np.intp]
    s_vest: FloatArray
    s_vis: FloatArray
    response: NDArray[np.intp]


def read(key: str) -> Data:
    """A subject's trials, from the data folder."""
    with parsing(FILE) as path:
        tables = list(read_mat(path)["unity_data"][SUBJECT[key]])
        shapes = [np.shape(table) for table in tables]
        if shapes != [(n, 5) for n in TRIALS[key]]:
            raise ValueError(
                f"its tables have shapes {shapes}, expected 5 columns, {TRIALS[key]} rows"
            )
        rows = np.concatenate(tables).astype(np.float64)
        if not (np.isfinite(rows).all() and np.isin(rows[:, 4], (SAME, DIFFERENT)).all()):
            raise ValueError("a direction is not finite or a response is neither 1 nor 2")
    condition = np.repeat(np.arange(3), TRIALS[key])
    return Data(condition, rows[:, 2].copy(), rows[:, 3].copy(), rows[:, 4].astype(np.intp))


def simulate_data(key: str, rng: np.random.Generator) -> Data:
    """Responses of the model at ``GENERATING[key]``, with as many trials as the real data.

    The middle of the two directions is a multiple of 5° up to ±25°; they are 0° (a fifth of the
    trials), ±5°, ±10°, ±20° or ±40° (a tenth each) apart.
    """
    condition = np.repeat(np.arange(3), TRIALS[key])
    middle = 5.0 * rng.integers(-5, 6, size=len(condition))
    apart = rng.choice([0.0, 0, 5, -5, 10, -10, 20, -20, 40, -40], size=len(condition))
    s_vest, s_vis = middle + apart / 2, middle - apart / 2
    response = respond(np.array(GENERATING[key]), condition, s_vest, s_vis, rng)
    return Data(condition, s_vest, s_vis, response)


def respond(
    theta: FloatArray,
    condition: NDArray[np.intp],
    s_vest: FloatArray,
    s_vis: FloatArray,
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """Simulated responses (n,) to trials (n,)."""
    n = len(condition)
    z_vis = s_vis + theta[condition] * rng.standard_normal(n)
    z_vest = s_vest + theta[3] * rng.standard_normal(n)
    same = np.abs(z_vis - z_vest) < theta[5]
    lapse = np.flatnonzero(rng.random(n) < theta[4])
    same[lapse] = rng.random(len(lapse)) < 0.5
    return np.where(same, SAME, DIFFERENT)


def same_probability(
    theta: FloatArray, condition: NDArray[np.intp], delta: FloatArray
) -> FloatArray:
    """P(same) (n,) for trials (n,) with Δ = ``delta``."""
    v = np.hypot(theta[condition], theta[3])
    lapse, kappa = theta[4:]
    return lapse / 2 + (1 - lapse) * (ndtr((kappa + delta) / v) - ndtr((-kappa + delta) / v))


def build(key: str, data: Data) -> Model:  # noqa: ARG001 (subjects differ in their data alone)
    """The model given the trials of a subject.

    >>> data = simulate_data("multisensory_s1", np.random.default_rng(1))
    >>> model = build("multisensory_s1", data)
    >>> float(model.exact(GENERATING["multisensory_s1"]).round())
    -455.0
    """
    # The probability of a response depends on Δ; a simulation is of both directions.
    groups, counts = _groups(data.condition, data.response, data.s_vest - data.s_vis)
    condition, same, delta = groups[0].astype(np.intp), groups[1] == SAME, groups[2]
    shown, shown_counts = _groups(data.condition, data.response, data.s_vest, data.s_vis)
    shown_condition, shown_response = shown[:2].astype(np.intp)
    s_vest, s_vis = shown[2:]

    def log_probabilities(theta: FloatArray) -> FloatArray:
        p = same_probability(theta, condition, delta)
        return np.log(np.where(same, p, 1 - p))

    def exact(theta: FloatArray) -> float:
        return float(log_probabilities(theta) @ counts)

    def simulator(theta: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
        def miss(group: NDArray[np.int32]) -> BoolArray:
            response = respond(theta, shown_condition[group], s_vest[group], s_vis[group], rng)
            return response != shown_response[group]

        return ibs_in_rounds(miss, shown_counts, repeats=REPEATS)

    def fast(theta: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
        log_p = log_probabilities(theta)
        return ibs_from_log_probabilities(log_p, repeats=REPEATS, rng=rng, counts=counts)

    return boxed_model(
        PARAMETERS, exact=exact, simulator=simulator, fast=fast, emulated_sd=NOISE_SD
    )


def _groups(
    *columns: NDArray[np.floating] | NDArray[np.intp],
) -> tuple[FloatArray, NDArray[np.intp]]:
    """The distinct trials (columns, g), and how many (g,) there are of each."""
    rows, counts = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    return np.ascontiguousarray(rows.T, dtype=np.float64), counts
