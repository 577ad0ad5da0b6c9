"""Runs of Quell itself, with the settings of an algorithm of the benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

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
from quell.problem import Problem
from quell.progress import Progress, Update
from quell.results import Posterior, Result
from quell.run.conducting import conduct
from quell.run.ending import end_at
from quell.run.session import Session
from quell.run.stopping import INTERRUPTED, solution_is_final
from quell.settings import Settings
from quell.streams import BenchStream, rng_for_bench


@dataclass(frozen=True)
class QuellRun:
    """Runs of Quell with these settings; ``workers`` points are evaluated at a time."""

    settings: Settings
    workers: int = 1

    def __call__(
        self, problem: Problem, *, start: FloatArray, seed: int, budget: int, stop_early: bool
    ) -> Answer:
        """One run; see `OwnStop` for what it notes where it may not stop early."""
        settings = replace(self.settings, stop_early=stop_early)
        session = Session.begin(problem, seed=seed, settings=settings, start=start)
        # What others have under evaluation when a run stops is part of its answer.
        stop = None if stop_early or self.workers > 1 else OwnStop(session)
        with Progress(enabled=False) as display:
            result = conduct(
                session, display, budget, executor=self._executor(seed), workers=None,
                timeout=None, retries=0, journal_check=False, callback=stop,
            )  # fmt: skip
        if INTERRUPTED in result.reasons:
            raise Interrupted(INTERRUPTED)
        answer = _as_answer(result, problem)
        return answer if stop is None else replace(answer, own_stop=stop.answer)

    def _executor(self, seed: int) -> ShuffledExecutor | None:
        """Workers who end in an order that follows from the seed; none for one at a time."""
        if self.workers == 1:
            return None
        return ShuffledExecutor(self.workers, rng_for_bench(seed, BenchStream.ORDER))


class OwnStop:
    """A callback that notes the answer of a run when it would have stopped, and lets it go on.

    To the last digit what the run would have returned if it had been allowed to stop: a result
    changes nothing in the run that goes on.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.answer: tuple[Estimate, dict[str, Any]] | None = None

    def __call__(self, update: Update) -> None:
        """Look whether the solution is final now, unless it was before."""
        engine = self.session.engine
        if self.answer is not None or not solution_is_final(update.state, engine.settings):
            return
        cpu_seconds = engine.cpu_seconds
        result = self.session.result()
        engine.cpu_seconds = cpu_seconds  # the polish of this answer is not part of the run
        fields = {
            "evaluations": result.evaluations.n_counted,
            "elbo": result.elbo,
            "elbo_sd": result.elbo_sd,
            "converged": result.converged,
            "status": str(result.status),
        }
        final = _estimate(
            result.posterior, result.log_evidence, result.log_evidence_sd, str(result.status)
        )
        self.answer = final, fields


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
