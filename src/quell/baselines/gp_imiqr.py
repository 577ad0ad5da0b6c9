"""GP-IMIQR: a surrogate of the log-likelihood, evaluated where that lowers its uncertainty most.

The algorithm of Järvenpää, Gutmann, Vehtari and Marttinen (2021) as it was run for the paper
(supplement D.2): in the user's own parameters, within their bounds, and with the noise of a new
evaluation taken for next to nothing when the next point is chosen. ``fair`` gives it what Quell's
own algorithm has: the inference space, and the noise as it is. The posterior is that of the median
surrogate, prior(θ) exp f̄(θ); there is no evidence.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quell.acquisition.search import maximise
from quell.arrays import BoolArray, FloatArray
from quell.baselines.basis_process import HyperPosterior
from quell.baselines.noise import refuse_unknown_noise
from quell.baselines.range_loss import Known, RangeReduction, loss_points, walk
from quell.baselines.result import BaselineResult
from quell.baselines.running import run
from quell.checks import flag
from quell.evaluations import Evaluations
from quell.interface import explains_unknown_arguments
from quell.problem import Problem
from quell.results import Result
from quell.run.loop import Callback
from quell.vbmc.design import MOST_DRAWS, random_points

#: Points of the first design.
N_DESIGN = 10
#: Length scales begin at the width of the box over this, σ_f at the scale of its prior, the scales
#: of the length scales' priors are this part of a width (the authors' code).
FIRST_LENGTHS, OUTPUT_SCALE, LENGTH_SHARE = 3.0, 1000.0, 0.5
FIT_TOLERANCE, FIT_ITERATIONS = 1e-3, 100
#: Limits of log ℓ, about the logarithm of the width of the box, and of log σ_f.
LENGTH_LIMITS, OUTPUT_LIMITS = (-7.0, 5.0), (-7.0, 14.0)
#: Candidates for the next point, and how many of them a local search sets out from.
N_CANDIDATES, N_STARTS = 2000, 10
#: Draws of the posterior, and moves of walkers left out before.
N_DRAWS, BURN_IN = 25_000, 25_000


@explains_unknown_arguments("quell.baselines.gp_imiqr")
def gp_imiqr(
    problem: Problem,
    *,
    budget: float | None = None,
    seed: int | None = None,
    start: ArrayLike | Result | None = None,
    evaluations: Evaluations | Sequence[ArrayLike] | None = None,
    fair: bool = False,
    executor: Executor | None = None,
    workers: int | None = None,
    timeout: float | None = None,
    retries: int = 0,
    journal: str | PathLike[str] | None = None,
    journal_check: bool = True,
    progress: bool = True,
    callback: Callback | None = None,
) -> BaselineResult:
    """Infer the posterior by GP-IMIQR, a baseline to compare :func:`quell.infer` with.

    Parameters
    ----------
    problem
        The problem, as for :func:`quell.infer`; the size of its noise has to be known.
    budget
        Evaluations of the target, all of which are made; by default as many as of `quell.infer`.
    seed, start, evaluations
        As in :func:`quell.infer`; random points of the plausible box follow ``start``, ten in all.
    fair
        Whether to work in the inference space, and to look ahead with the noise of the nearest
        evaluation. By default, as in the paper, in the user's parameters within their bounds, and
        as if the next evaluation was nearly exact.
    executor, workers, timeout, retries, journal, journal_check, progress, callback
        As in :func:`quell.infer`. A journal is replayed, also that of a finished run; it goes on
        with the same algorithm only.

    Returns
    -------
    BaselineResult
        Draws of the posterior from the surrogate; there is no evidence.

    Raises
    ------
    ValueError
        The size of the noise is unknown; or what `quell.infer` refuses.
    InferenceFailed, InferenceInterrupted, JournalError
        As from :func:`quell.infer`.

    Examples
    --------
    >>> def log_likelihood(theta, rng):
    ...     return -0.5 * float(theta[0]**2) + rng.standard_normal(), 1.0
    >>> problem = Problem(
    ...     log_likelihood, lower=-10, upper=10, plausible_lower=-3, plausible_upper=3,
    ... )
    >>> result = gp_imiqr(problem, budget=30, seed=1, progress=False)
    >>> bool(abs(result.posterior.sd()[0] - 1) < 0.3)
    True
    """
    if isinstance(problem, Problem):
        refuse_unknown_noise(problem, "gp_imiqr")
    return run(
        problem, GpImiqr(flag("fair", fair)), budget=budget, seed=seed, start=start,
        evaluations=evaluations, executor=executor, workers=workers, timeout=timeout,
        retries=retries, journal=journal, journal_check=journal_check, progress=progress,
        callback=callback,
    )  # fmt: skip


@dataclass(frozen=True)
class GpImiqr:
    """GP-IMIQR as a `quell.baselines.engine.Method`."""

    fair: bool = False
    max_failed: float = 0.8
    stop_early: bool = False
    algorithm: str = "gp-imiqr"

    def as_dict(self) -> dict[str, Any]:
        """The settings as plain data."""
        return {"algorithm": self.algorithm, "fair": self.fair}

    def design(
        self, rng: np.random.Generator, problem: Problem, starts: FloatArray, given: Evaluations
    ) -> FloatArray:
        """The starting points, and uniform draws in the plausible box up to ten."""
        missing = max(0, N_DESIGN - len(starts) - given.n_distinct)
        if self.fair:
            drawn = random_points(rng, problem, problem.space, missing)
            return np.concatenate([starts, drawn])
        low, high = problem.plausible_lower, problem.plausible_upper
        drawn = np.empty((missing, problem.dimension))
        empty = np.ones(missing, dtype=bool)
        for _ in range(MOST_DRAWS):  # where the prior is zero it is drawn again
            drawn[empty] = problem.snap(rng.uniform(low, high, (int(empty.sum()), len(low))))
            empty = problem.log_prior(drawn) == -np.inf
            if not empty.any():
                break
        return np.concatenate([starts, drawn])

    def is_enough(self, table: Evaluations) -> bool:
        """Whether there are two different points with a value."""
        return table.n_distinct >= 2

    def fit(
        self, rng: np.random.Generator, problem: Problem, table: Evaluations,
        last: FloatArray | None,
    ) -> FloatArray:  # fmt: skip
        """(log ℓ, log σ_f) where their posterior is highest, from ``last`` on."""
        from scipy.optimize import minimize  # slow to import

        del rng
        known = Known.of(problem, table, self.fair)
        width = known.places.width
        first = np.append(np.log(width / FIRST_LENGTHS), np.log(OUTPUT_SCALE))
        # The authors' code takes the width of the first parameter for all of them.
        scales = LENGTH_SHARE * (width if self.fair else np.full_like(width, width[0]))
        objective = HyperPosterior(known.x, known.y, known.sd**2, scales, OUTPUT_SCALE)
        limits = [*(np.log(width)[:, None] + LENGTH_LIMITS), OUTPUT_LIMITS]
        for start in (first,) if last is None else (last, first):
            found = minimize(
                objective, start, jac=True, method="L-BFGS-B", bounds=limits,
                options={"maxiter": FIT_ITERATIONS, "gtol": FIT_TOLERANCE, "ftol": 1e-9},
            )  # fmt: skip
            if np.isfinite(found.fun) and np.isfinite(found.x).all():
                return np.asarray(found.x)
        return first

    def propose(
        self, rng: np.random.Generator, problem: Problem, table: Evaluations,
        hyperparameters: FloatArray, pending: FloatArray,
    ) -> FloatArray:  # fmt: skip
        """Where an evaluation lowers the integrated median interquantile range most."""
        known = Known.of(problem, table, self.fair)
        places, box = known.places, known.places.box
        surrogate = known.surrogate(hyperparameters, pending)
        noise = None if not self.fair else known.noise_table(surrogate)
        loss = RangeReduction(surrogate, *loss_points(rng, surrogate, known), noise)

        def snap(x: FloatArray) -> FloatArray:
            return places.to_x(problem.snap(places.to_theta(x)))

        def allowed(x: FloatArray) -> BoolArray:
            return np.asarray(problem.space.contains(places.to_theta(x)))

        tried = rng.uniform(box.lower, box.upper, (N_CANDIDATES, box.dimension))
        found = maximise(
            loss, box, tried, n_starts=N_STARTS, allowed=allowed,
            snap=snap if problem.has_integers else None,
        )  # fmt: skip
        return problem.snap(places.to_theta(found.x))

    def evidence(
        self, problem: Problem, table: Evaluations, hyperparameters: FloatArray
    ) -> tuple[float, float]:
        """There is none."""
        del problem, table, hyperparameters
        return np.nan, np.nan

    def draws(
        self, rng: np.random.Generator, problem: Problem, table: Evaluations,
        hyperparameters: FloatArray,
    ) -> FloatArray:  # fmt: skip
        """Draws of prior · exp f̄ by ensemble slice sampling, in the user's parameters."""
        known = Known.of(problem, table, self.fair)
        surrogate = known.surrogate(hyperparameters)

        def log_density(x: FloatArray) -> FloatArray:
            return np.asarray(surrogate.mean(x) + known.places.log_prior(x))

        x = walk(rng, log_density, known, N_DRAWS, burn_in=BURN_IN)
        return known.places.to_theta(x)
