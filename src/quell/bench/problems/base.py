"""What every benchmark problem offers: a target with bounds, noise, and the truth about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from quell.bench.density import Density, density_from_draws
from quell.checks import FloatArray
from quell.problem import Problem

Mode = Literal["noisy", "exact"]
Target = Callable[[FloatArray], FloatArray]
Simulator = Callable[[FloatArray, np.random.Generator], tuple[float, float]]
Sampler = Callable[[int, np.random.Generator], FloatArray]

#: Draws from the truth behind the marginals of its MMTV, and their seed.
TRUTH_DRAWS, TRUTH_SEED = 100_000, 20200615


class BenchError(ValueError):
    """Something the user asked of the benchmark cannot be done; the message says why."""


@dataclass(frozen=True, eq=False)
class Truth:
    """What is known about a posterior in D dimensions.

    ``mean`` (D,), ``covariance`` (D, D), ``marginals`` one density per parameter, ``sample(n,
    rng)`` draws (n, D) or None where there is no sampler. ``log_evidence_checked`` is a second,
    better value where the one in use is known to be less precise.
    """

    log_evidence: float
    mean: FloatArray
    covariance: FloatArray
    marginals: tuple[Density, ...]
    sample: Sampler | None = None
    log_evidence_checked: float = np.nan

    def __post_init__(self) -> None:
        if np.isnan(self.log_evidence_checked):
            object.__setattr__(self, "log_evidence_checked", self.log_evidence)

    @cached_property
    def reference(self) -> tuple[Density, ...]:
        """The marginals MMTV compares with.

        Estimated from draws like those of the posterior under test, so that both have the same
        smoothing; the marginals themselves where there is no sampler.
        """
        if self.sample is None:
            return self.marginals
        draws = self.sample(TRUTH_DRAWS, np.random.default_rng(TRUTH_SEED))
        return tuple(density_from_draws(column) for column in draws.T)


@dataclass(frozen=True, eq=False)
class Benchmark:
    """A benchmark problem with D parameters; made by :func:`quell.bench.load`.

    ``exact`` maps points (..., D) to values (...), or is None where there is no noiseless
    target. ``noise_sd`` is the SD of emulated noise in mode "noisy", for problems without a
    ``simulator`` of their own. ``prior`` is what :class:`quell.Problem` takes; "included" where
    the target is a log joint density.

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
    noise_sd: float | None = None
    simulator: Simulator | None = field(default=None, repr=False)
    prior: Any = None

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

    def noisy(self, theta: ArrayLike, rng: np.random.Generator) -> tuple[float, float]:
        """A noisy value at θ (D,) and the SD of its noise.

        From the problem's own simulator; without one, the exact value plus normal noise of SD
        ``noise_sd``.
        """
        theta = np.asarray(theta, dtype=np.float64)
        if self.simulator is not None:
            return self.simulator(theta, rng)
        if self.exact is None or self.noise_sd is None:
            raise BenchError(f"{self.name} has no noise of its own (use mode exact)")
        return float(self.exact(theta)) + self.noise_sd * rng.standard_normal(), self.noise_sd

    def start(self, seed: int) -> FloatArray:
        """The starting point (D,) of the run with this seed: uniform in the plausible box."""
        child = np.random.SeedSequence(seed).spawn(2)[1]
        u = np.random.default_rng(child).random(self.dimension)
        return self.plausible_lower + u * (self.plausible_upper - self.plausible_lower)

    @staticmethod
    def noise_stream(seed: int) -> np.random.Generator:
        """The generator from which a run with this seed draws its noise, in order."""
        return np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[0])

    def as_problem(
        self,
        mode: Mode = "noisy",
        noise: float | None = None,
        *,
        jitter: float = 0.0,
        rng: np.random.Generator | None = None,
    ) -> Problem:
        """The problem as :func:`quell.infer` takes it.

        Mode "noisy" has the problem's own noise; "exact" the exact target, with emulated normal
        noise of SD ``noise`` if that is given. The SD that is reported is the true one times
        exp(``jitter`` · normal). All noise is drawn from ``rng`` in order of evaluation, or, by
        default, from the generators the run provides.

        >>> from quell.bench import load
        >>> load("normal", dim=2).as_problem("exact").noise
        'exact'
        """
        self.check(mode, noise, jitter)
        target: Callable[..., Any]
        if mode == "exact" and noise is None:
            exact = self.exact
            assert exact is not None  # by the check above

            def target(theta: FloatArray) -> float:
                return float(exact(theta))
        elif rng is None:

            def target(theta: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
                return self._noisy(theta, noise, jitter, rng, rng)
        else:
            stream, jitters = rng, rng.spawn(1)[0]

            def target(theta: FloatArray) -> tuple[float, float]:
                return self._noisy(theta, noise, jitter, stream, jitters)

        return Problem(
            target,
            lower=self.lower,
            upper=self.upper,
            plausible_lower=self.plausible_lower,
            plausible_upper=self.plausible_upper,
            prior=self.prior,
            names=self.names,
            noise="exact" if mode == "exact" and noise is None else "reported",
        )

    def check(self, mode: str, noise: float | None, jitter: float) -> None:
        """Raise :class:`BenchError` unless the problem can be run like this."""
        if mode not in ("noisy", "exact"):
            raise BenchError(f"mode must be noisy or exact, got {mode!r}")
        if mode == "noisy" and noise is not None:
            raise BenchError(
                "noise is for mode exact, where it is emulated; mode noisy has its own"
            )
        if mode == "exact" and self.exact is None:
            raise BenchError(f"{self.name} has no exact target (use mode noisy)")
        if noise is not None and not (np.isfinite(noise) and noise > 0):
            raise BenchError(f"noise must be a positive SD, got {noise:g}")
        if not (np.isfinite(jitter) and jitter >= 0):
            raise BenchError(f"noise jitter must be 0 or positive, got {jitter:g}")
        if jitter > 0 and mode == "exact" and noise is None:
            raise BenchError("noise jitter needs noise: give its SD, or use mode noisy")

    def _noisy(
        self,
        theta: FloatArray,
        noise: float | None,
        jitter: float,
        rng: np.random.Generator,
        jitters: np.random.Generator,
    ) -> tuple[float, float]:
        if noise is None:
            value, sd = self.noisy(theta, rng)
        else:
            assert self.exact is not None
            value, sd = float(self.exact(theta)) + noise * rng.standard_normal(), noise
        if jitter > 0:
            sd *= float(np.exp(jitter * jitters.standard_normal()))
        return value, sd
