"""Attentional drift diffusion (Krajbich et al. 2010): choices between two items, and their times.

In time bins j of 0.1 s a decision variable x takes steps whose mean depends on the fixated item,

    x_j = x_{j−1} + μ_j + s z_j,    s = σ_ε √0.1,    μ_j = 0.1 d (a − β b)  or  0.1 d (β a − b),

until |x_j| ≥ 1; the response is the side and the bin. A lapse, of probability λ, is a response
drawn uniformly from both sides and all B bins. Parameters θ = (σ_ε, d, β, λ).

Probabilities
-------------
The density p_j of x_j among walks that have not crossed follows

    p_{j+1}(y) = ∫_{−1}^{1} p_j(x) N(y; x + μ, s) dx,

with x on a quadrature rule. The benchmark's exact likelihood *is* that of a certain coarse grid;
its values differ a little from those of the simulated model, which the fast estimator has by a
better rule. On an interval of length L the normal density is a Fourier series with few terms that
matter, ω_k = 2π k / L:

    N(y; x + μ, s) = (1/L) Σ_k exp(−ω_k² s² / 2) exp(i ω_k (y − x − μ)).

So p_j is known by the coefficients of its series; a step is the product with a factor for each
wave, then with one matrix, the same for all trials and bins. This changes the grid's likelihood by
rounding errors only. The probability of a crossing is linear in the coefficients.

Simulation
----------
A draw is a hit if the walk crosses on the observed side in the observed bin k, not before. Without
the bounds the walk would go on; its law is Gaussian, so its bins can be drawn in any order, each
given those already drawn. Going backwards from bin k, the mean deviation from the drift,
w_j = (x_j − Σ_{i≤j} μ_i) / j, is itself a random walk:

    w_k = s z / √k,    w_j = w_{j+1} + s z / √(j (j + 1)).

A draw is dropped at the first x_j that excludes a hit: x_k short of the observed bound, or x_j
beyond a bound for some j < k. What it would have done in its other bins cannot change that, so
hits have the law of walks simulated forwards, bin by bin.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from quell.arrays import FloatArray
from quell.bench.problems.addm_trials import LEFT, RIGHT, STEP, Data, design, drift, read
from quell.bench.problems.boxed import boxed_model
from quell.bench.problems.model import Model, Parameter
from quell.bench.problems.streams import Positions, Stream, ibs_from_streams, with_lapses
from quell.likelihoods.ibs import ibs_from_log_probabilities

__all__ = ["GENERATING", "Data", "build", "read", "simulate_data"]

PARAMETERS = (
    Parameter("sigma_eps", 0.1, 0.2, 1.0, 2.0),
    Parameter("d", 0.0, 0.1, 2.0, 5.0),
    Parameter("beta", 0.0, 0.1, 0.9, 1.0),
    Parameter("lambda", 0.01, 0.03, 0.1, 0.2),
)
REPEATS, NOISE_SD = 20, 2.8

#: Parameters behind simulated data: near the posterior means of the real ones.
GENERATING = {"addm_s1": (0.48, 0.12, 0.78, 0.05), "addm_s2": (0.82, 0.25, 0.51, 0.05)}

GRID = 301
#: Nodes (on [−1, 1]) and weights of the benchmark's exact likelihood. The nominal spacing 2/301 is
#: not quite the real one; this is how the benchmark defines it.
BENCHMARK_RULE = (np.linspace(-1 + 0.5 / GRID, 1 - 0.5 / GRID, GRID), np.full(GRID, 2 / GRID))
#: Those of a rule whose error is below that of rounding: for the law of the simulator.
ACCURATE_RULE = np.polynomial.legendre.leggauss(GRID)
#: Beyond so many SDs a normal density, and the transform of one, count as zero (below 1e-17).
REACH = 8.9
#: Surviving mass below which a trial's probability counts as zero: λ/2B is far above.
EXTINCT = 1e-14


class Crossing:
    """Probabilities (n,) that the walks of n trials cross when and where observed, by a rule."""

    def __init__(self, data: Data, rule: tuple[FloatArray, FloatArray]) -> None:
        self.nodes, self.weights = rule
        # Late responses first: the walks still needed in a bin are then the first ones.
        self.order = np.argsort(-data.bin, kind="stable")
        self.needed = (data.bin > np.arange(data.bins + 1)[:, None]).sum(1)
        self.left_chosen = data.choice[self.order] == LEFT
        # Many trials and bins have the same drift.
        ratings = np.broadcast_arrays(data.left, data.right, data.item.T)
        kinds = np.stack([column[:, self.order] for column in ratings], -1)
        distinct, which = np.unique(kinds.reshape(-1, 3), axis=0, return_inverse=True)
        self.left, self.right, self.item = distinct.T
        self.which = which.reshape(kinds.shape[:2])

    def __call__(self, theta: FloatArray) -> FloatArray:
        """The probabilities at θ (4,), without lapses."""
        s, mu = theta[0] * np.sqrt(STEP), drift(theta, self.left, self.right, self.item)
        # A drift beyond this leaves no walk inside; L keeps periodic images of N out of the
        # integral.
        shift = mu.clip(-2 - REACH * s, 2 + REACH * s)
        length = 2 + np.abs(shift).max() + REACH * s
        omega = np.arange(np.ceil(REACH * length / (2 * np.pi * s)) + 1) * (2 * np.pi / length)
        factor = np.exp(-0.5 * (omega * s) ** 2 - 1j * np.outer(shift, omega)) * (2 / length)
        factor[:, 0] /= 2  # the waves ω and −ω are counted together, but 0 is one only
        # Real and imaginary parts side by side make complex sums products of real matrices.
        waves = np.exp(-1j * np.outer(self.nodes, omega)).view(np.float64)
        weighted = self.weights[:, None] * waves
        step, total = waves.T @ weighted, weighted.sum(0)
        up, down = (side @ weighted for side in beyond(mu, self.nodes, s))

        rise, fall = (side[self.which[0], 0] for side in beyond(mu, np.zeros(1), s))
        coefficients = np.ones((len(self.order), len(omega)), dtype=np.complex128)
        probability, mass = np.empty(len(self.order)), np.ones(len(self.order))
        for j, n in enumerate(self.needed[:-1]):
            if j > 0:
                density = (factor[self.which[j - 1, :n]] * coefficients[:n]).view(np.float64)
                # The density gives the shape only; its mass is what has not crossed.
                density /= np.where(mass[:n] > EXTINCT, density @ total, 1.0)[:, None]
                rise, fall = (
                    np.einsum("nw,nw->n", density, side[self.which[j, :n]]) for side in (up, down)
                )
                coefficients = (density @ step).view(np.complex128)
            probability[self.order[:n]] = mass[:n] * np.where(self.left_chosen[:n], rise, fall)
            mass = mass[:n] * (1 - rise - fall)
        return probability


def beyond(mu: FloatArray, x: FloatArray, s: float) -> tuple[FloatArray, FloatArray]:
    """The probabilities (m, n) that a step from x (n,) with drift μ (m,) ends above 1, below −1."""
    ahead = mu[:, None] + x
    return ndtr((ahead - 1) / s), ndtr((-1 - ahead) / s)


def walks(
    theta: FloatArray, mu: FloatArray, side: int, last: int, rng: np.random.Generator
) -> Stream:
    """The stream of walks with drifts μ (B,); hits cross on ``side`` (1 left, 2 right) in ``last``.

    Bins count from 1. Without lapses.
    """
    s = theta[0] * np.sqrt(STEP)
    # A crossing below −1 is one above 1 for the mirrored walk.
    mean = np.cumsum(mu if side == LEFT else -mu)

    def stream(n: int) -> Positions:
        z = rng.standard_normal(n)
        places = np.flatnonzero(mean[last - 1] + s * np.sqrt(last) * z >= 1)
        w = z[places] * (s / np.sqrt(last))
        for j in range(last - 1, 0, -1):
            w += s / np.sqrt(j * (j + 1)) * rng.standard_normal(len(w))
            inside = np.abs(mean[j - 1] + j * w) < 1
            places, w = places[inside], w[inside]
            if len(places) == 0:
                break
        return places

    return stream


def simulate(
    theta: FloatArray, data: Data, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A choice (n,) and a bin (n,) for each trial; bin B + 1 where a walk does not cross.

    Bin by bin, as the model is defined.
    """
    mu = drift(theta, data.left[:, None], data.right[:, None], data.item)
    x = np.cumsum(mu + theta[0] * np.sqrt(STEP) * rng.standard_normal(mu.shape), axis=1)
    n, bins = mu.shape
    crossed = np.abs(x) >= 1
    first = crossed.argmax(1)
    never = ~crossed.any(1)
    choice = np.where((x[np.arange(n), first] >= 0) | never, LEFT, RIGHT)
    lapse = rng.random(n) < theta[3]
    return (
        np.where(lapse, rng.integers(LEFT, RIGHT, n, endpoint=True), choice),
        np.where(lapse, rng.integers(1, bins, n, endpoint=True), np.where(never, bins, first) + 1),
    )


def simulate_data(key: str, rng: np.random.Generator) -> Data:
    """Responses of the model at ``GENERATING[key]`` in a simulated :func:`design`.

    A trial whose walk does not cross within the B bins is simulated again.
    """
    data, theta = design(key, rng), np.array(GENERATING[key])
    choice, response = data.choice.copy(), data.bin.copy()
    missing = np.ones(len(response), dtype=bool)
    while missing.any():
        again = simulate(theta, data, rng)
        choice[missing], response[missing] = again[0][missing], again[1][missing]
        missing = response > data.bins
    return replace(data, choice=choice, bin=response)


def build(key: str, data: Data) -> Model:  # noqa: ARG001 (subjects differ in their data alone)
    """The model of a subject given their data.

    >>> data = simulate_data("addm_s2", np.random.default_rng(1))
    >>> model = build("addm_s2", data)
    >>> exact = float(model.exact(GENERATING["addm_s2"]))
    >>> value, sd = model.simulator(GENERATING["addm_s2"], np.random.default_rng(2))
    >>> round(exact), abs(value - exact) < 4 * sd
    (-380, True)
    """
    benchmark, accurate = Crossing(data, BENCHMARK_RULE), Crossing(data, ACCURATE_RULE)

    def log_probabilities(crossing: Crossing, theta: FloatArray) -> FloatArray:
        lapse = theta[3]
        return np.log((1 - lapse) * crossing(theta) + lapse / (2 * data.bins))

    def exact(theta: FloatArray) -> float:
        return float(log_probabilities(benchmark, theta).sum())

    def simulator(theta: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
        mu = drift(theta, data.left[:, None], data.right[:, None], data.item)
        trials = zip(mu, data.choice, data.bin, strict=True)
        streams = (walks(theta, *trial, rng) for trial in trials)
        return ibs_from_streams(
            ((with_lapses(stream, theta[3], 2 * data.bins, rng), 1) for stream in streams), REPEATS
        )

    def fast(theta: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
        log_p = log_probabilities(accurate, theta)
        return ibs_from_log_probabilities(log_p, repeats=REPEATS, rng=rng)

    return boxed_model(
        PARAMETERS, exact=exact, simulator=simulator, fast=fast, emulated_sd=NOISE_SD
    )
