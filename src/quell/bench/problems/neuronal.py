"""Neuronal selectivity (Goris et al. 2015): spike counts of a V1 and of a V2 cell.

A cell sees mixtures of drifting gratings j for 120 frames k. Its tuned and its untuned channel

    E_k = max(0, Σ_j c_j O_j F_j T_j cos φ_jk),    I_k = |Σ_j c_j T_j exp(i φ_jk)|

with contrasts c and weights O of orientation, F of spatial and T of temporal frequency, give

    rate = n_l + c · mean_k max(0, (n_e + E_k + g I_k) / (σ² + M_k))^ρ,

where M is a normalisation signal that comes with the data. Counts are negative binomial with
variance μ + v μ². The benchmark emulates the noise of this problem: there is no simulator.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from quell.arrays import FloatArray
from quell.bench.problems.boxed import boxed_model
from quell.bench.problems.model import Model, Parameter
from quell.bench.problems.neuronal_trials import (
    CELLS,
    COMPONENTS,
    FRAME_RATE,
    FRAMES,
    MIXTURES,
    Cell,
    Data,
    design,
    read,
)

__all__ = ["GENERATING", "Data", "build", "read", "simulate_data"]

#: Probability of a count that the model does not explain, and the smallest mean count.
UNEXPLAINED, SMALLEST_MEAN = 1e-10, 0.01
#: A lognormal density of ρ is part of the benchmark's log-likelihood.
LOG_EXPONENT_MEAN, LOG_EXPONENT_SD = 1.15, 0.3

#: Preferred direction (deg), preferred spatial frequency f0 (cycles/deg), aspect ratio a,
#: derivative order b, inhibitory gain g, response exponent ρ, variance v of the response gain.
PARAMETERS = (
    Parameter("theta1", 0.0, 90.0, 270.0, 360.0),
    Parameter("theta2", 0.05, 0.5, 10.0, 15.0),
    Parameter("theta3", 0.1, 0.3, 3.2, 3.5),
    Parameter("theta4", 0.1, 0.3, 3.2, 3.5),
    Parameter("theta5", -1.0, -0.3, 0.3, 1.0),
    Parameter("theta6", 1.0, 1.01, 5.0, 6.5),
    Parameter("theta7", 0.001, 0.015, 1.0, 10.0),
)
#: The noise of one evaluation in the paper.
NOISE_SD = 2.0

#: Parameters behind simulated data: near the posterior modes of the real ones.
GENERATING = {
    "neuronal_v1": (227.5, 3.0, 2.4, 0.9, -0.04, 1.04, 0.09),
    "neuronal_v2": (139.0, 2.4, 0.65, 1.2, 0.23, 3.1, 0.7),
}


def simulate_data(key: str, rng: np.random.Generator) -> Data:
    """Counts of the model at ``GENERATING[key]`` in the simulated :func:`design`."""
    data, theta = design(key, rng), np.array(GENERATING[key])
    mean, gain = MeanCounts(CELLS[key], data)(theta), theta[-1]
    count = rng.poisson(mean * rng.gamma(1 / gain, gain, mean.shape)).astype(np.float64)
    return Data(
        replace(data.mixtures, count=count[:MIXTURES]),
        replace(data.tuning, count=count[MIXTURES:]),
    )


class MeanCounts:
    """The mean spike counts μ(θ) (n,) of all trials, mixtures first.

    The 15 000 gratings differ in few ways: there are some 60 waves (temporal frequency and phase)
    and some 150 pairs of orientation and spatial frequency. All that does not depend on θ is
    computed once; a call is then the product of a matrix of amplitudes (n, waves) with the waves
    (waves, 120), and the power of the rate where it is positive.
    """

    def __init__(self, cell: Cell, data: Data) -> None:
        experiments = (data.mixtures, data.tuning)

        def joined(arrays: Iterable[FloatArray]) -> FloatArray:
            """One array (n, 9), with zeros where a trial has fewer gratings or none."""
            padded = [np.pad(a, ((0, 0), (0, COMPONENTS - a.shape[1]))) for a in arrays]
            return np.nan_to_num(np.concatenate(padded))

        def distinct(first: str, second: str) -> tuple[FloatArray, NDArray[np.intp]]:
            """The distinct pairs (p, 2) of two properties, and the pair (n, 9) of each grating."""
            both = [joined(getattr(e, name) for e in experiments) for name in (first, second)]
            pairs, index = np.unique(np.stack(both, -1).reshape(-1, 2), axis=0, return_inverse=True)
            return pairs, index.reshape(both[0].shape)

        self.cell = cell
        self.duration = np.concatenate([e.duration for e in experiments])
        self.drive = joined(e.drive for e in experiments)
        pairs, self.pair = distinct("orientation", "spatial")
        self.orientation, self.spatial = np.deg2rad(pairs[:, 0]), pairs[:, 1]
        waves, wave = distinct("temporal", "phase")
        self.place = (wave + len(waves) * np.arange(len(wave))[:, None]).ravel()
        time = np.arange(FRAMES) / FRAME_RATE
        angle = 2 * np.pi * waves[:, :1] * time + np.deg2rad(waves[:, 1:])
        self.cosine = np.cos(angle)
        amplitude = self._amplitude(self.drive)
        untuned = np.hypot(amplitude @ self.cosine, amplitude @ np.sin(angle))
        pool = np.concatenate([e.normalisation for e in experiments])
        self.divisor = 1 / (cell.constant**2 + pool)
        self.untuned = untuned * self.divisor

    def _amplitude(self, weight: FloatArray) -> FloatArray:
        """Weights (n, 9) of the gratings as amplitudes (n, waves)."""
        shape = len(weight), len(self.cosine)
        flat = np.bincount(self.place, weight.ravel(), minlength=shape[0] * shape[1])
        return np.asarray(flat, dtype=np.float64).reshape(shape)

    def _selectivity(self, theta: FloatArray) -> FloatArray:
        """O F at θ (7,) of each distinct pair of orientation and spatial frequency."""
        direction, preferred, aspect, order = theta[:4]
        turned = np.deg2rad(direction) - self.orientation
        along = np.cos(turned) ** 2
        weight = (along * np.exp((aspect**2 - 1) * (along - 1))) ** (order / 2)
        opposite = (turned + np.pi / 2) % (2 * np.pi) >= np.pi
        weight[opposite] *= 1 - self.cell.selectivity
        ratio = self.spatial / preferred
        return weight * ratio**order * np.exp(-order / 2 * (ratio**2 - 1))

    def __call__(self, theta: FloatArray) -> FloatArray:
        """μ (n,) at θ (7,)."""
        gain, exponent = theta[4:6]
        weight = self.drive * self._selectivity(theta)[self.pair]
        drive = self._amplitude(weight) @ self.cosine
        np.maximum(drive, 0, out=drive)
        drive += self.cell.early
        drive *= self.divisor
        drive += gain * self.untuned
        # Often most frames are silent, and the powers are the largest cost.
        power = np.power(drive, exponent, where=drive > 0, out=np.zeros_like(drive))
        rate = self.cell.late + self.cell.scale * power.mean(1)
        return np.maximum(SMALLEST_MEAN, self.duration * rate)


def build(key: str, data: Data) -> Model:
    """The model of a cell given its data.

    >>> data = simulate_data("neuronal_v2", np.random.default_rng(1))
    >>> model = build("neuronal_v2", data)
    >>> model.exact([GENERATING["neuronal_v2"], model.lower]).round()
    array([ -2841., -10171.])
    """
    mean_counts = MeanCounts(CELLS[key], data)
    count = np.concatenate([data.mixtures.count, data.tuning.count])
    log_factorial = gammaln(count + 1)

    def exact(theta: FloatArray) -> float:
        exponent, variance = theta[5:]
        r, odds = 1 / variance, variance * mean_counts(theta)
        log_pmf = gammaln(count + r) - gammaln(r) - log_factorial
        log_pmf += count * np.log(odds) - (count + r) * np.log1p(odds)
        likelihood = UNEXPLAINED + (1 - UNEXPLAINED) * np.exp(log_pmf)
        z = (np.log(exponent) - LOG_EXPONENT_MEAN) / LOG_EXPONENT_SD
        log_density = -0.5 * z**2 - np.log(exponent * LOG_EXPONENT_SD * np.sqrt(2 * np.pi))
        return float(np.log(likelihood).sum() + log_density)

    return boxed_model(PARAMETERS, exact=exact, emulated_sd=NOISE_SD)
