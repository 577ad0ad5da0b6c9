"""Bayesian timing (Acerbi et al. 2012): intervals reproduced by an observer who knows their law.

An interval S is measured as x = max(0, S + w_s S z). The observer combines x with a normal prior,

    posterior(t) ∝ N(x; t, w_s t) N(t; μ_p, σ_p)    on a grid of t from 0 to 2 s,

aims at τ(x) = (posterior mean) / (1 + w_m²), and responds after r = max(0, τ + w_m τ z). Responses
count by bins of 0.02 s. A lapse, of probability λ, is one of the 100 bins up to 2 s, at random.
Parameters θ = (w_s, w_m, μ_p, σ_p, λ).

The exact likelihood integrates over x within 5 SDs and above 0, and gives this range all the
probability. The simulator has τ by interpolation, and measurements below 0 are at 0, which matters
where w_s is large. The fast estimator has the probabilities of the simulator.

Simulation
----------
The data are 252 trials for each of six intervals, with 500 repeats: some 4·10⁷ responses near the
posterior mode, nearly all misses. A normal variate is a function of a uniform one, z = Φ⁻¹(u), and
the leading 8 bits of u are independent of those that follow. They say in which of 256 equally
probable cells z is. So a draw begins with the cells of its two variates. Whether any response from
there is in the observed bin was looked up before; if not, the draw is a miss, whatever the other
bits are. If so, they are drawn, and the response is computed. That bits are not drawn where they
cannot matter leaves the law of hits as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from quell.arrays import BoolArray, FloatArray
from quell.bench.parsing import parsing, read_mat
from quell.bench.problems.boxed import boxed_model
from quell.bench.problems.model import Model, Parameter, ReadOnly
from quell.bench.problems.streams import Positions, Stream, ibs_from_streams, with_lapses
from quell.likelihoods.ibs import ibs_from_log_probabilities

PARAMETERS = (
    Parameter("w_s", 0.01, 0.05, 0.25, 0.5),
    Parameter("w_m", 0.01, 0.05, 0.25, 0.5),
    Parameter("mu_p", 0.3, 0.6, 0.975, 1.95),
    Parameter("sigma_p", 0.0375, 0.075, 0.375, 0.75),
    Parameter("lambda", 0.01, 0.02, 0.05, 0.2),
)
REPEATS, NOISE_SD = 500, 2.2

#: Parameters behind simulated data: near the posterior mean of the real ones.
GENERATING = {"timing": (0.09, 0.031, 0.7, 0.136, 0.0125)}

FILE, PARTICIPANT = "data/acerbi2012/acerbi2012internal.mat", 1
INTERVALS = np.array([0.6, 0.675, 0.75, 0.825, 0.9, 0.975])
TRIALS_EACH = 252
#: Width of a response bin (s) and their number; bin q is centred at 0.02 q + 0.01.
WIDTH, BINS = 0.02, 100
#: Where there is no valid response.
NONE = -2
#: The observer's grid of t, with the weights of the trapezoid rule in units of its spacing.
TIMES = np.linspace(0, 2, 101)
TIME_WEIGHTS = np.where((TIMES == 0) | (TIMES == 2), 0.5, 1.0)
#: Measurements x within so many SDs count, on grids of this size.
REACH, GRID = 5.0, 401
#: Cells of a normal variate; beyond so many SDs there is nothing.
CELLS, FARTHEST = 256, 10.0
CELL_EDGES = ndtri(np.arange(CELLS + 1) / CELLS).clip(-FARTHEST, FARTHEST)
#: Allowance for rounding when responses of a cell are bounded (s).
SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Data(ReadOnly):
    """n trials: ``interval`` (n,), the number 0 .. 5 of the interval, and ``bin`` (n,)."""

    interval: NDArray[np.int64]
    bin: NDArray[np.int64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many trials (6, 100) have each interval and bin."""
        table = np.zeros((len(INTERVALS), BINS), dtype=np.int64)
        np.add.at(table, (self.interval, self.bin), 1)
        return table


def to_bin(response: FloatArray) -> NDArray[np.int64]:
    """The bin of a response (s), halves rounded away from zero.

    >>> to_bin(np.array([0.0, 0.61, 0.62]))
    array([-1, 30, 31])
    """
    y = (response - WIDTH / 2) / WIDTH
    whole = np.trunc(y)
    return (whole + np.sign(y) * (np.abs(y - whole) >= 0.5)).astype(np.int64)


def read(key: str) -> Data:  # noqa: ARG001 (there is one participant)
    """The trials of the one participant, from the data folder."""
    with parsing(FILE) as path:
        participant = read_mat(path)["acerbi2012time"]["exp3"][PARTICIPANT]
        if not np.allclose(participant["xrange"], INTERVALS):
            raise ValueError(f"xrange is not {INTERVALS.tolist()}")
        trials = np.vstack(list(participant["X"])).astype(np.float64)
        trials = trials[~np.isnan(trials).any(1)]
        interval, response = trials[:, 2].astype(np.int64) - 1, to_bin(trials[:, 1])
        if np.bincount(interval).tolist() != [TRIALS_EACH] * len(INTERVALS):
            raise ValueError(f"there are not {TRIALS_EACH} trials of each interval")
        if response.min() < 0 or response.max() >= BINS:
            raise ValueError("a response is negative or later than 2 s")
        return Data(interval, response)


def target(theta: FloatArray, x: FloatArray) -> FloatArray:
    """τ(x), what the observer aims at when the measurement is x (any shape)."""
    w_s, w_m, mu_p, sigma_p, _ = theta
    sd = w_s * TIMES + np.finfo(np.float64).eps
    log_p = -0.5 * ((x[..., None] - TIMES) / sd) ** 2 - np.log(sd)
    log_p -= 0.5 * ((TIMES - mu_p) / sigma_p) ** 2
    p = TIME_WEIGHTS * np.exp(log_p - log_p.max(-1, keepdims=True))
    return (p @ TIMES) / p.sum(-1) / (1 + w_m**2)


class Observer:
    """The simulated observer at θ (5,): τ is tabulated, and interpolated between."""

    def __init__(self, theta: FloatArray) -> None:
        self.w_s, self.w_m = theta[:2]
        reach = REACH * self.w_s * INTERVALS[-1]
        low, high = max(0.0, INTERVALS[0] - reach), INTERVALS[-1] + reach
        self.x = np.linspace(low, high, GRID)
        self.tau = target(theta, self.x)

    def measure(self, interval: float, z: FloatArray) -> FloatArray:
        """x for standard normal z."""
        return np.maximum(0.0, interval + self.w_s * interval * z)

    def aim(self, x: FloatArray) -> FloatArray:
        """τ(x), at an end of the table for x beyond it."""
        return np.interp(x, self.x, self.tau)

    def respond(self, interval: float, z_s: FloatArray, z_m: FloatArray) -> NDArray[np.int64]:
        """The bins (n,) of responses with sensory and motor noise z (n,); NONE if not valid."""
        x = self.measure(interval, z_s)
        tau = self.aim(x)
        response = to_bin(np.maximum(0.0, tau + self.w_m * tau * z_m))
        return np.where((x >= self.x[0]) & (x <= self.x[-1]), response, NONE)

    def cell_bins(self, interval: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first and the last bin (256²,) that responses from each pair of cells can have."""
        edges = self.measure(interval, CELL_EDGES).clip(self.x[0], self.x[-1])
        # τ is linear between these points, so its bounds on a cell are among its values there.
        points = np.union1d(self.x, edges)
        tau, start = self.aim(points), np.searchsorted(points, edges)
        lowest = np.minimum(np.minimum.reduceat(tau, start[:-1]), tau[start[1:]])
        highest = np.maximum(np.maximum.reduceat(tau, start[:-1]), tau[start[1:]])
        motor = np.maximum(0.0, 1 + self.w_m * CELL_EDGES)
        first = np.floor((np.outer(lowest, motor[:-1]) - SLACK) / WIDTH)
        last = np.floor((np.outer(highest, motor[1:]) + SLACK) / WIDTH)
        return first.astype(np.int64).ravel(), last.astype(np.int64).ravel()

    def streams(
        self, counts: NDArray[np.int64], rng: np.random.Generator
    ) -> Iterator[tuple[Stream, int]]:
        """The stream of each interval and bin that occurs, and its number of trials."""
        for i, interval in enumerate(INTERVALS):
            first, last = self.cell_bins(interval)
            for q in np.flatnonzero(counts[i]).tolist():
                yield self._stream(interval, q, (first <= q) & (q <= last), rng), int(counts[i, q])

    def _stream(
        self, interval: float, q: int, possible: BoolArray, rng: np.random.Generator
    ) -> Stream:
        """Responses to an interval; hits are in bin q, ``possible`` (256²,) for a pair of cells."""

        def normal(cell: NDArray[np.uint16]) -> FloatArray:
            u = (cell + rng.random(len(cell))) / CELLS
            return ndtri(u.clip(2.0**-60, 1 - 2.0**-53))

        def stream(n: int) -> Positions:
            cells = rng.integers(CELLS**2, size=n, dtype=np.uint16)
            places = np.flatnonzero(possible.take(cells))
            sensory, motor = np.divmod(cells[places], CELLS)
            return places[self.respond(interval, normal(sensory), normal(motor)) == q]

        return stream


def simulate(
    theta: FloatArray, interval: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """A response's bin (n,) for each number of an interval (n,); NONE where it is not valid."""
    z, observer = rng.standard_normal((2, len(interval))), Observer(theta)
    response = np.empty_like(interval)
    for i, duration in enumerate(INTERVALS):
        shown = interval == i
        response[shown] = observer.respond(duration, *z[:, shown])
    lapse = rng.random(len(interval)) < theta[4]
    return np.where(lapse, rng.integers(BINS, size=len(interval)), response)


def simulate_data(key: str, rng: np.random.Generator) -> Data:
    """252 responses of the model at ``GENERATING[key]`` to each interval, all within 2 s."""
    interval = np.repeat(np.arange(len(INTERVALS)), TRIALS_EACH)
    response = np.full(interval.shape, NONE)
    while (missing := (response < 0) | (response >= BINS)).any():
        again = simulate(np.array(GENERATING[key]), interval, rng)
        response = np.where(missing, again, response)
    return Data(interval, response)


class LogProbabilities:
    """Log-probabilities (m,) of the pairs of interval and bin that occur, ``trials`` (m,) times."""

    def __init__(self, data: Data) -> None:
        self.interval, observed = np.nonzero(data.counts)
        self.trials = data.counts[self.interval, observed]
        self.place = observed - observed.min()
        self.edges = WIDTH * np.arange(observed.min(), observed.max() + 2)

    def benchmark(self, theta: FloatArray) -> FloatArray:
        """As the benchmark's exact likelihood has them."""
        sd = theta[0] * INTERVALS
        low, high = np.maximum(0.0, INTERVALS - REACH * sd), INTERVALS + REACH * sd
        x = np.linspace(low, high, GRID, axis=-1)
        weights = np.exp(-0.5 * ((x - INTERVALS[:, None]) / sd[:, None]) ** 2)
        weights[:, [0, -1]] /= 2
        weights /= weights.sum(1, keepdims=True)
        return self._of(theta, weights, target(theta, x))

    def simulated(self, theta: FloatArray) -> FloatArray:
        """As the simulator has them: measurements below 0 are at 0, and τ is interpolated."""
        observer = Observer(theta)
        # τ may rise steeply next to 0, so the table's first cell is divided more finely.
        cell = np.concatenate([np.arange(0, 1, 1 / 512), np.arange(1, GRID - 0.9, 0.25)])
        x = np.interp(cell, np.arange(GRID), observer.x)
        step = np.diff(x, prepend=x[0], append=x[-1])
        sd = theta[0] * INTERVALS[:, None]
        density = np.exp(-0.5 * ((x - INTERVALS[:, None]) / sd) ** 2) / (np.sqrt(2 * np.pi) * sd)
        weights = density * (step[1:] + step[:-1]) / 2
        weights[:, 0] += ndtr(-1 / theta[0])
        return self._of(theta, weights, observer.aim(x))

    def _of(self, theta: FloatArray, weights: FloatArray, tau: FloatArray) -> FloatArray:
        """For targets τ, (6, n) or (n,) for all intervals, with weights (6, n)."""
        _, w_m, _, _, lapse = theta
        below = ndtr((self.edges - tau[..., None]) / (w_m * tau[..., None]))
        inside = np.diff((weights[:, None] @ below)[:, 0])
        return np.log((1 - lapse) * inside[self.interval, self.place] + lapse / BINS)


def build(key: str, data: Data) -> Model:  # noqa: ARG001 (there is one participant)
    """The model given the participant's data.

    >>> model = build("timing", simulate_data("timing", np.random.default_rng(1)))
    >>> exact = float(model.exact(GENERATING["timing"]))
    >>> value, sd = model.simulator(GENERATING["timing"], np.random.default_rng(2))
    >>> round(exact), abs(value - exact) < 4 * sd
    (-3905, True)
    """
    log_p, counts = LogProbabilities(data), data.counts

    def exact(theta: FloatArray) -> float:
        return float(log_p.trials @ log_p.benchmark(theta))

    def simulator(theta: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
        streams = Observer(theta).streams(counts, rng)
        lapsing = ((with_lapses(stream, theta[4], BINS, rng), n) for stream, n in streams)
        return ibs_from_streams(lapsing, REPEATS)

    def fast(theta: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
        return ibs_from_log_probabilities(
            log_p.simulated(theta), repeats=REPEATS, rng=rng, counts=log_p.trials
        )

    return boxed_model(
        PARAMETERS, exact=exact, simulator=simulator, fast=fast, emulated_sd=NOISE_SD
    )
