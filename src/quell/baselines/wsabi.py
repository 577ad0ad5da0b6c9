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
from quell.acquisition.search import maximise
from quell.arrays import BoolArray, FloatArray
from quell.baselines.noise import refuse_unknown_noise
from quell.baselines.result import BaselineResult
from quell.baselines.running import run
from quell.baselines.warped_fit import Objective
from quell.baselines.warped_search import (
    FEW,
    MEASURE_SD,
    STEP_SHARE,
    Known,
    Uncertainty,
    candidates,
)
from quell.checks import flag
from quell.evaluations import Evaluations
from quell.gp import TrainingData
from quell.interface import explains_unknown_arguments
from quell.problem import Problem
from quell.results import Result
from quell.run.loop import Callback

#: λ = 1 and V = 1/10 to begin with.
FIRST_H = (0.0, float(np.log(0.1)))
#: Every so many points the hyperparameters are searched for from the best of so many random
#: vectors, too.
RESTART_EVERY, N_RESTARTS = 10, 100
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
        if n < FEW:
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
