"""What every benchmark problem offers: a target with bounds, noise, and the truth about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.bench.truth.known import Truth
from quell.problem import Problem
from quell.streams import BenchStream, rng_for, substream

Mode = Literal["noisy", "exact"]
Noise = float | Literal["paper"] | None
Target = Callable[[FloatArray], FloatArray]
Simulator = Callable[[FloatArray, np.random.Generator], tuple[float, float]]

#: Indices whose streams have another use where the noise of a run comes from one stream, in the
#: order of its evaluations: that noise, and the starting point.
NOISE_CHILD, START_CHILD = 0, 1


class BenchError(ValueError):
    """Something the user asked of the benchmark cannot be done; the message says why."""


@dataclass(frozen=True, eq=False)
class Benchmark:
    """A benchmark problem with D parameters; made by :func:`quell.bench.load`.

    Attributes
    ----------
    name, names
        The name of the problem, and those of its D parameters.
    lower, upper, plausible_lower, plausible_upper
        The hard bounds and the plausible box, (D,) each.
    exact
        Maps points (..., D) to values (...); None where there is no noiseless target.
    make_truth
        Computes `truth`.
    emulated_sd
        The SD of the problem's usual noise, the paper's for its problems: what noise "paper" means,
        and what mode "noisy" emulates without a simulator. None where there is none.
    simulator, fast
        The problem's own noisy estimate: ``simulator(theta, rng)`` returns a value at θ (D,) and
        the SD of its noise; ``fast`` is a shortcut with the same law. None where there is none.
    prior
        What :class:`quell.Problem` takes; "included" where the target is a log joint density.
    data
        Which data the target has: "real", "simulated" in place of those in the data folder, or ""
        where there is no such choice.
    generating, for_seed
        For calibration: ``for_seed(seed)`` is the same problem with new data, and ``generating``
        (D,) are the parameters behind these. None elsewhere.

    Examples
    --------
    >>> from quell.bench import load
    >>> problem = load("banana", dim=2)
    >>> problem.exact([[0.0, -2.0], [2.0, 0.0]]).round(3)
    array([-2.531, -3.031])
    >>> value, sd = problem.noisy([0.0, -2.0], np.random.default_rng(1))
    >>> sd
    1.0
    >>> problem.truth.covariance.diagonal()
    array([4., 9.])
    """

    name: str
    names: tuple[str, ...]
    lower: FloatArray
    upper: FloatArray
    plausible_lower: FloatArray
    plausible_upper: FloatArray
    exact: Target | None
    make_truth: Callable[[], Truth] = field(repr=False)
    emulated_sd: float | None = None
    simulator: Simulator | None = field(default=None, repr=False)
    fast: Simulator | None = field(default=None, repr=False)
    prior: Any = None
    data: Literal["real", "simulated", ""] = ""
    generating: FloatArray | None = None
    for_seed: Callable[[int], Benchmark] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for array in (self.lower, self.upper, self.plausible_lower, self.plausible_upper):
            array.setflags(write=False)

    @property
    def dimension(self) -> int:
        """Number of parameters D."""
        return len(self.names)

    @property
    def default_budget(self) -> int:
        """50 (D + 2) evaluations."""
        return 50 * (self.dimension + 2)

    @cached_property
    def truth(self) -> Truth:
        """Evidence, moments and marginals of the posterior; computed at first use."""
        return self.make_truth()

    def noisy(
        self, theta: ArrayLike, rng: np.random.Generator, *, fast: bool = False
    ) -> tuple[float, float]:
        """A noisy value at θ (D,) and the SD of its noise.

        From the problem's own simulator, or its ``fast`` shortcut; without a simulator, the exact
        value plus normal noise of SD ``emulated_sd``.
        """
        theta = np.asarray(theta, dtype=np.float64)
        simulator = self.fast if fast else self.simulator
        if simulator is not None:
            return simulator(theta, rng)
        if fast:
            raise BenchError(f"{self.name} has no fast path (leave fast out)")
        if self.exact is None or self.emulated_sd is None:
            raise BenchError(f"{self.name} has no noise of its own (use mode exact)")
        return self._emulated(theta, self.emulated_sd, rng)

    def start(self, seed: int) -> FloatArray:
        """The starting point (D,) of the run with this seed: uniform in the plausible box."""
        u = rng_for(seed, START_CHILD).random(self.dimension)
        return self.plausible_lower + u * (self.plausible_upper - self.plausible_lower)

    @staticmethod
    def noise_stream(seed: int) -> np.random.Generator:
        """The generator from which a run with this seed draws its noise, in order."""
        return rng_for(seed, NOISE_CHILD)

    def as_problem(
        self,
        mode: Mode = "noisy",
        noise: Noise = None,
        *,
        jitter: float = 0.0,
        fast: bool = False,
        rng: np.random.Generator | None = None,
        bounded: str = "soft",
    ) -> Problem:
        """The problem as :func:`quell.infer` takes it.

        Mode "noisy" has the problem's own noise, drawn by the shortcut if ``fast``; "exact" the
        exact target, with emulated normal noise of SD ``noise`` if that is given, "paper" for the
        paper's. The SD that is reported is the true one times exp(``jitter`` · normal). All noise
        is drawn from ``rng`` in order of evaluation, or, by default, from streams of their own
        that follow from the generators the run provides. ``bounded`` is the map of bounded
        parameters, as :class:`quell.Problem` takes it.

        >>> from quell.bench import load
        >>> load("normal", dim=2).as_problem("exact").noise
        'exact'
        """
        sd = self.check(mode, noise, jitter, fast=fast)
        target: Callable[..., Any]
        if mode == "exact" and sd is None:
            exact = self.exact
            assert exact is not None  # by the check above

            def target(theta: FloatArray) -> float:
                return float(exact(theta))
        elif rng is None:

            def target(theta: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
                # The first two generators of a run are those of noise_stream and start.
                noises, jitters = (
                    substream(rng, BenchStream.NOISE),
                    substream(rng, BenchStream.JITTER),
                )
                return self._observe(theta, sd, fast, jitter, noises, jitters)
        else:
            stream, jitters = rng, substream(rng, BenchStream.JITTER)

            def target(theta: FloatArray) -> tuple[float, float]:
                return self._observe(theta, sd, fast, jitter, stream, jitters)

        return Problem(
            target,
            lower=self.lower,
            upper=self.upper,
            plausible_lower=self.plausible_lower,
            plausible_upper=self.plausible_upper,
            prior=self.prior,
            names=self.names,
            noise="exact" if mode == "exact" and sd is None else "reported",
            bounded=bounded,
        )

    def check(self, mode: str, noise: Noise, jitter: float, *, fast: bool = False) -> float | None:
        """The SD of emulated noise in mode "exact", None for none.

        :class:`BenchError` unless the problem can be run like this.
        """
        if mode not in ("noisy", "exact"):
            raise BenchError(f"mode must be noisy or exact, got {mode!r}")
        if mode == "noisy" and noise is not None:
            raise BenchError(
                "noise is for mode exact, where it is emulated; mode noisy has its own"
            )
        if mode == "exact" and self.exact is None:
            raise BenchError(f"{self.name} has no exact target (use mode noisy)")
        if fast and mode == "exact":
            raise BenchError("fast is for mode noisy; mode exact runs no simulator")
        if fast and self.fast is None:
            raise BenchError(f"{self.name} has no fast path (leave fast out)")
        if noise == "paper":
            noise = self.emulated_sd
            if noise is None:
                raise BenchError(f"{self.name} has no usual noise (give its SD)")
        if isinstance(noise, str) or not (noise is None or (np.isfinite(noise) and noise > 0)):
            raise BenchError(f"noise must be a positive SD or 'paper', got {noise!r}")
        if not (np.isfinite(jitter) and jitter >= 0):
            raise BenchError(f"noise jitter must be 0 or positive, got {jitter:g}")
        if jitter > 0 and mode == "exact" and noise is None:
            raise BenchError("noise jitter needs noise: give its SD, or use mode noisy")
        return noise

    def _observe(
        self,
        theta: FloatArray,
        emulated: float | None,
        fast: bool,
        jitter: float,
        rng: np.random.Generator,
        jitters: np.random.Generator,
    ) -> tuple[float, float]:
        if emulated is None:
            value, sd = self.noisy(theta, rng, fast=fast)
        else:
            value, sd = self._emulated(theta, emulated, rng)
        if jitter > 0:
            sd *= float(np.exp(jitter * jitters.standard_normal()))
        return value, sd

    def _emulated(
        self, theta: FloatArray, sd: float, rng: np.random.Generator
    ) -> tuple[float, float]:
        assert self.exact is not None  # by the checks of the callers
        return float(self.exact(theta)) + sd * rng.standard_normal(), sd
