"""Runs of Quell itself, with the settings of an algorithm of the benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from quell.arrays import FloatArray
from quell.bench.answers import (
    AS_RETURNED,
    Answer,
    Estimate,
    Interrupted,
    checkpoint_rows,
)
from quell.bench.compact import compact_posterior
from quell.bench.shuffled import ShuffledExecutor
from quell.infer import infer
from quell.problem import Problem
from quell.results import Posterior, Result
from quell.run.ending import end_at
from quell.run.stopping import INTERRUPTED
from quell.settings import Settings
from quell.streams import BenchStream, rng_for_bench


@dataclass(frozen=True)
class QuellRun:
    """Runs :func:`quell.infer` with these settings; ``workers`` points are evaluated at a time."""

    settings: Settings
    workers: int = 1

    def __call__(
        self, problem: Problem, *, start: FloatArray, seed: int, budget: int, stop_early: bool
    ) -> Answer:
        """One run."""
        settings = replace(self.settings, stop_early=stop_early)
        result = infer(
            problem,
            budget=budget,
            seed=seed,
            start=start,
            settings=settings,
            executor=self._executor(seed),
            progress=False,
        )
        if INTERRUPTED in result.reasons:
            raise Interrupted(INTERRUPTED)
        return _as_answer(result, problem)

    def _executor(self, seed: int) -> ShuffledExecutor | None:
        """Workers who end in an order that follows from the seed; none for one at a time."""
        if self.workers == 1:
            return None
        return ShuffledExecutor(self.workers, rng_for_bench(seed, BenchStream.ORDER))


def _as_answer(result: Result, problem: Problem) -> Answer:
    fields = {
        "evaluations": result.evaluations.n_counted,
        "evidence_method": result.evidence_method,
        "elbo": result.elbo,
        "elbo_sd": result.elbo_sd,
        "converged": result.converged,
        "status": str(result.status),
        "tests": result.verdict.figures(),
        "overhead_cpu_seconds_per_evaluation": result.diagnostics[
            "overhead_cpu_seconds_per_evaluation"
        ],
        "wall_seconds": result.wall_seconds,
        "posterior": compact_posterior(result.posterior),
        "settings": result.settings.as_dict(),
    }
    final = _estimate(
        result.posterior, result.log_evidence, result.log_evidence_sd, str(result.status)
    )
    return Answer(final, fields, _checkpoints(result, problem, final), AS_RETURNED)


def _estimate(posterior: Posterior, log_evidence: float, sd: float, status: str) -> Estimate:
    return Estimate(
        log_evidence, sd, posterior.mean(), posterior.covariance(), posterior.sample, status
    )


def _checkpoints(
    result: Result, problem: Problem, final: Estimate
) -> Iterator[tuple[int, Estimate | Exception]]:
    """What would have been returned along the run, polished as it is at the end.

    The run's own time does not count this.
    """
    history = result.iterations
    for row in checkpoint_rows([iteration.n_evaluations for iteration in history]):
        count = history[row].n_evaluations
        if row + 1 == len(history):
            yield count, final
            continue
        try:
            ending = end_at(result, problem, row)
            solution = ending.solution
            posterior = Posterior(
                solution.mixture, solution.space, result.posterior.integer, solution.support
            )
            estimate: Estimate | Exception = _estimate(
                posterior, ending.evidence.value, ending.evidence.sd, str(ending.verdict.status)
            )
        except (ArithmeticError, np.linalg.LinAlgError, ValueError) as error:
            estimate = error
        yield count, estimate
