"""WSABI-L: Bayesian quadrature of the square root of the likelihood (Gunter et al. 2014).

As it was run for the paper (supplement D.2): in inference space, one evaluation at a time where the
variance of likelihood times measure is largest, hyperparameters fitted again after every one. The
paper treats noisy values as exact. ``noise_aware`` pushes their SDs through the square root; it is
no better by the paper's experience, for the likelihood itself, not its logarithm, is modelled.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quell.acquisition.ensemble import sample_ensemble
from quell.acquisition.search import SearchBox, maximise
from quell.arrays import BoolArray, FloatArray
from quell.baselines.noise import known_sds, refuse_unknown_noise
from quell.baselines.result import BaselineResult
from quell.baselines.running import run
from quell.baselines.warped import (
    Measure,
    SquareRootSurrogate,
    Warped,
    log_normal,
    process_vector,
)
from quell.checks import flag
from quell.evaluations import Evaluations
from quell.gp import FactorisationError, TrainingData
from quell.gp.marginal import MarginalLikelihood
from quell.interface import explains_unknown_arguments
from quell.problem import Problem
from quell.results import Result
from quell.run.loop import Callback

#: SDs of the measure π, in widths of the plausible box (reference implementation).
MEASURE_SD = 0.5
#: Penalties on log λ and log V: normal, with these means and SDs (reference implementation). The
#: plausible box has width 1 in inference space.
PENALTY_MEANS = (0.0, float(np.log(0.1)))
PENALTY_SDS = (float(np.log(10.0)), float(np.log(20.0)))
#: λ = 1 and V = 1/10 to begin with; fitted once there are more than so many points.
FIRST_H, FITTED_FROM = (0.0, float(np.log(0.1))), 4
LARGEST_H = 30.0
#: Every so many points the hyperparameters are searched for from the best of so many random
#: vectors, too.
RESTART_EVERY, N_RESTARTS = 10, 100
FIT_TOLERANCE, FIT_ITERATIONS = 1e-5, 100
#: Candidates for the next point; the share of them from π; and the size of steps around known
#: points, as a part of the covariance of the better ones (reference implementation).
N_CANDIDATES, MEASURE_SHARE, STEP_SHARE = 1024, 0.1, 0.01
#: The next point lies in the plausible box and so many SDs of π around it, or next to known ones.
BOX_SDS, BOX_MARGIN = 6.0, 0.1
#: Draws of the posterior, moves of walkers left out before, and the share of the best points from
#: which walkers start.
N_DRAWS, BURN_IN, BEST_SHARE = 20_000, 10_000, 0.2
#: Walkers: the more, the fewer calls of the surrogate.
N_WALKERS = 50


@explains_unknown_arguments("quell.baselines.wsabi")
def wsabi(
    problem: Problem,
    *,
    budget: float | None = None,
    seed: int | None = None,
    start: ArrayLike | Result | None = None,
    evaluations: Evaluations | Sequence[ArrayLike] | None = None,
    noise_aware: bool = False,
    executor: Executor | None = None,
    workers: int | None = None,
    timeout: float | None = None,
    retries: int = 0,
    journal: str | PathLike[str] | None = None,
    journal_check: bool = True,
    progress: bool = True,
    callback: Callback | None = None,
) -> BaselineResult:
    """Infer evidence and posterior by WSABI-L, a baseline to compare :func:`quell.infer` with.

    Parameters
    ----------
    problem
        The problem, as for :func:`quell.infer`.
    budget
        Evaluations of the target, all of which are made; by default as many as of `quell.infer`.
    seed, start, evaluations
        As in :func:`quell.infer`; the run begins with ``start``, or the centre of the plausible
        box.
    noise_aware
        Whether the SDs of noisy values count. By default, as in the paper, every value is taken for
        exact.
    executor, workers, timeout, retries, journal, journal_check, progress, callback
        As in :func:`quell.infer`. A journal is replayed, also that of a finished run; it goes on
        with the same algorithm only.

    Returns
    -------
    BaselineResult
        Evidence in closed form, and draws of the posterior from the surrogate.

    Raises
    ------
    ValueError
        ``noise_aware`` with noise of unknown size; or what `quell.infer` refuses.
    InferenceFailed, InferenceInterrupted, JournalError
        As from :func:`quell.infer`.

    Examples
    --------
    >>> problem = Problem(
    ...     lambda theta: -0.5 * np.sum(theta**2), lower=[-10, -10], upper=[10, 10],
    ...     plausible_lower=[-3, -3], plausible_upper=[3, 3], noise="exact",
    ... )
    >>> result = wsabi(problem, budget=30, seed=1, progress=False)
    >>> bool(abs(result.log_evidence - np.log(2 * np.pi / 400)) < 0.1)
    True
    """
    method = Wsabi(flag("noise_aware", noise_aware))
    if method.noise_aware and isinstance(problem, Problem):
        refuse_unknown_noise(problem, "wsabi with noise_aware=True")
    return run(
        problem, method, budget=budget, seed=seed, start=start, evaluations=evaluations,
        executor=executor, workers=workers, timeout=timeout, retries=retries, journal=journal,
        journal_check=journal_check, progress=progress, callback=callback,
    )  # fmt: skip


@dataclass(frozen=True)
class Wsabi:
    """WSABI-L as a `quell.baselines.engine.Method`."""

    noise_aware: bool = False
    max_failed: float = 0.8
    stop_early: bool = False
    algorithm: str = "wsabi"

    def as_dict(self) -> dict[str, Any]:
        """The settings as plain data."""
        return {"algorithm": self.algorithm, "noise_aware": self.noise_aware}

    def design(
        self, rng: np.random.Generator, problem: Problem, starts: FloatArray, given: Evaluations
    ) -> FloatArray:  # fmt: skip
        """The starting points; the centre of the plausible box where there is nothing else."""
        del rng
        if len(starts) or given.ok.any():
            return starts
        return problem.snap(problem.space.to_original(np.zeros((1, problem.space.dimension))))

    def is_enough(self, table: Evaluations) -> bool:
        """Whether there is a value."""
        return bool(table.ok.any())

    def fit(
        self, rng: np.random.Generator, problem: Problem, table: Evaluations,
        last: FloatArray | None,
    ) -> FloatArray:  # fmt: skip
        """(log λ, log V) of the largest penalised marginal likelihood, from ``last`` on."""
        known = Known.of(problem, table, self.noise_aware)
        dimension = problem.space.dimension
        h = np.repeat(FIRST_H, (1, dimension)) if last is None else last
        n = len(known.x)
        if n < FITTED_FROM:
            return h
        objective = Objective(TrainingData.from_arrays(known.x, known.warped.g, known.warped.sd))
        starts = [h]
        if n % RESTART_EVERY == 0:
            tried = rng.standard_normal((N_RESTARTS, 1 + dimension))
            starts.append(tried[np.argmin([objective.value(vector) for vector in tried])])
        return min((objective.descend(vector) for vector in starts), key=objective.value)

    def propose(
        self, rng: np.random.Generator, problem: Problem, table: Evaluations,
        hyperparameters: FloatArray, pending: FloatArray,
    ) -> FloatArray:  # fmt: skip
        """Where the variance of likelihood times measure is largest."""
        known = Known.of(problem, table, self.noise_aware)
        space = problem.space
        out = space.to_inference(pending) if len(pending) else None
        surrogate = known.surrogate(hyperparameters, out)
        box = known.box()
        tried = box.clip(candidates(rng, known, box))

        def snap(x: FloatArray) -> FloatArray:
            return space.to_inference(problem.snap(space.to_original(x)))

        def allowed(x: FloatArray) -> BoolArray:
            return np.asarray(space.clear_of_bounds(space.to_original(x)))

        found = maximise(
            Uncertainty(surrogate), box, np.concatenate([tried, np.zeros((1, space.dimension))]),
            allowed=allowed, snap=snap if problem.has_integers else None,
        )  # fmt: skip
        return problem.snap(space.to_original(found.x))

    def evidence(
        self, problem: Problem, table: Evaluations, hyperparameters: FloatArray
    ) -> tuple[float, float]:
        """The log evidence and its SD, in closed form."""
        known = Known.of(problem, table, self.noise_aware)
        return known.surrogate(hyperparameters).log_evidence()

    def draws(
        self, rng: np.random.Generator, problem: Problem, table: Evaluations,
        hyperparameters: FloatArray,
    ) -> FloatArray:  # fmt: skip
        """Draws of (α + ½ m²) π by ensemble slice sampling, in the user's parameters."""
        known = Known.of(problem, table, self.noise_aware)
        surrogate, box, space = known.surrogate(hyperparameters), known.box(), problem.space

        def log_density(x: FloatArray) -> FloatArray:
            logs = surrogate.log_density(x)
            if problem.support is not None:
                logs = np.where(problem.support(space.to_original(x)), logs, -np.inf)
            return logs

        best = np.argsort(-known.log_weight, kind="stable")
        best = best[: max(1, int(np.ceil(BEST_SHARE * len(best))))]
        spread = np.sqrt(STEP_SHARE) * MEASURE_SD
        walkers = known.x[rng.choice(best, size=N_WALKERS)]
        walkers = box.clip(walkers + spread * rng.standard_normal(walkers.shape))
        # Walkers out of the support go to a point that is known to be in it.
        lost = ~np.isfinite(log_density(walkers))
        walkers[lost] = known.x[best[0]] + 1e-6 * rng.standard_normal(
            (int(lost.sum()), len(box.lower))
        )
        x = sample_ensemble(
            rng, log_density, box.clip(walkers), box.lower, box.upper, n_draws=N_DRAWS,
            burn_in=BURN_IN,
        )  # fmt: skip
        return space.to_original(x)


@dataclass(frozen=True, eq=False)
class Known:
    """The evaluations as WSABI sees them.

    ``x`` (N, D) in inference space; ``log_weight`` (N,) the log joint there, -inf for zero
    density; ``warped`` the square roots.
    """

    x: FloatArray
    log_weight: FloatArray
    warped: Warped
    measure: Measure

    @classmethod
    def of(cls, problem: Problem, table: Evaluations, noise_aware: bool) -> "Known":
        """The evaluations of a table; failed ones are left out, zero density is a value."""
        space = problem.space
        merged = table.merge_duplicates()
        zero = table.theta[table.zero_density]
        x = space.to_inference(np.concatenate([merged.theta, zero]))
        y = np.concatenate([merged.log_joint, np.full(len(zero), -np.inf)]) + space.log_jacobian(x)
        measure = Measure(np.zeros(space.dimension), np.full(space.dimension, MEASURE_SD**2))
        sd = None
        if noise_aware:
            sd = np.append(known_sds(merged.sd), np.zeros(len(zero)))
        return cls(x, y, Warped.of(y - measure.log_density(x), sd), measure)

    def surrogate(self, h: FloatArray, pending: FloatArray | None = None) -> SquareRootSurrogate:
        """The surrogate with these hyperparameters, and points (n, D) under evaluation."""
        return SquareRootSurrogate.of(self.x, self.warped, self.measure, h, pending)

    def box(self) -> SearchBox:
        """Where points are searched for, and draws made."""
        reach = 0.5 + BOX_SDS * MEASURE_SD
        low, high = self.x.min(axis=0), self.x.max(axis=0)
        margin = BOX_MARGIN * (high - low)
        return SearchBox(np.minimum(low - margin, -reach), np.maximum(high + margin, reach))


class Objective:
    """Minus the penalised log marginal likelihood of (log λ, log V)."""

    def __init__(self, data: TrainingData) -> None:
        self._likelihood = MarginalLikelihood(data)
        dimension = data.dimension
        self._means = np.repeat(PENALTY_MEANS, (1, dimension))
        self._sds = np.repeat(PENALTY_SDS, (1, dimension))

    def value(self, h: FloatArray) -> float:
        """The objective at h (1 + D,); infinite where it cannot be computed."""
        try:
            fit = self._likelihood.value(process_vector(float(h[0]), h[1:]))
        except FactorisationError:
            return np.inf
        return -fit - float(log_normal(h, self._means, self._sds**2))

    def __call__(self, h: FloatArray) -> tuple[float, FloatArray]:
        """The objective and its gradient."""
        layout = self._likelihood.layout
        try:
            fit, by_theta = self._likelihood(process_vector(float(h[0]), h[1:]))
        except FactorisationError:
            return 1e10, np.zeros_like(h)
        # log ℓ = ½ log V, and log σ_f = log λ − ¼ Σ log 2πV.
        by_scale = by_theta[layout.output_scale]
        slope = np.append(by_scale, 0.5 * by_theta[layout.lengths] - 0.25 * by_scale)
        value = -fit - float(log_normal(h, self._means, self._sds**2))
        return value, (h - self._means) / self._sds**2 - slope

    def descend(self, h: FloatArray) -> FloatArray:
        """Where a quasi-Newton search from h ends; h itself if that is no better."""
        from scipy.optimize import minimize  # slow to import

        found = minimize(
            self, h, jac=True, method="L-BFGS-B", bounds=[(-LARGEST_H, LARGEST_H)] * len(h),
            options={"maxiter": FIT_ITERATIONS, "ftol": FIT_TOLERANCE, "gtol": FIT_TOLERANCE},
        ).x  # fmt: skip
        return found if self.value(found) < self.value(h) else h


class Uncertainty:
    """The score of the search for the next point."""

    def __init__(self, surrogate: SquareRootSurrogate) -> None:
        self._surrogate = surrogate

    def values(self, x: ArrayLike) -> FloatArray:
        """Scores (n,) at points (n, D)."""
        return self._surrogate.uncertainty(np.asarray(x, dtype=np.float64))


def candidates(rng: np.random.Generator, known: Known, box: SearchBox) -> FloatArray:
    """Points (n, D) to begin the search from, around what is known and from the measure.

    A tenth from π; half of the rest around known points, chosen with probability ∝ the root of
    their weight; the others from a normal with the moments of the better half of them, or uniform
    in the box while there are few.
    """
    n, dimension = known.x.shape
    n_measure = round(MEASURE_SHARE * N_CANDIDATES)
    n_around = (N_CANDIDATES - n_measure) // 2 if n >= FITTED_FROM else 0
    n_rest = N_CANDIDATES - n_measure - n_around
    parts = [
        known.measure.centre
        + np.sqrt(known.measure.variance) * rng.standard_normal((n_measure, dimension))
    ]
    centre, covariance = better_half(known)
    if n_around:
        share = np.exp(0.5 * (known.log_weight - known.log_weight.max()))
        around = known.x[rng.choice(n, size=n_around, p=share / share.sum())]
        _, about_first = better_half(known, about=known.x[0])
        root = np.linalg.cholesky(STEP_SHARE * about_first)
        parts.append(around + rng.standard_normal((n_around, dimension)) @ root.T)
    if n <= max(FITTED_FROM, dimension):
        parts.append(rng.uniform(box.lower, box.upper, (n_rest, dimension)))
    else:
        root = np.linalg.cholesky(covariance)
        parts.append(centre + rng.standard_normal((n_rest, dimension)) @ root.T)
    return np.concatenate(parts)


def better_half(known: Known, about: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Mean (D,) and covariance (D, D), ``about`` a point or the mean, of the better points.

    Their weights fall with the rank as log((n + 1)/2) − log(rank), as those of CMA-ES.
    """
    n, dimension = known.x.shape
    best = np.argsort(-known.log_weight, kind="stable")[: max(1, (n + 1) // 2)]
    weight = np.log(0.5 * n + 0.5) - np.log(np.arange(1, len(best) + 1))
    weight = np.maximum(weight, 0.0) if n > 1 else np.ones(1)
    weight = weight / weight.sum()
    mean = weight @ known.x[best]
    offsets = known.x[best] - (mean if about is None else about)
    covariance = (weight[:, None] * offsets).T @ offsets
    # Fewer points than dimensions span no volume.
    return mean, covariance + 1e-6 * np.eye(dimension)
