"""Runs of Quell itself, with the settings of an algorithm of the benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from quell.arrays import FloatArray
from quell.bench.answers import Answer, Estimate, Interrupted, checkpoint_rows
from quell.bench.compact import compact_posterior
from quell.bench.shuffled import ShuffledExecutor
from quell.infer import infer
from quell.problem import Problem
from quell.results import Posterior, Result
from quell.run.stopping import INTERRUPTED
from quell.settings import Settings
from quell.streams import BenchStream, rng_for_bench
from quell.vbmc import best_iteration


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
        return _as_answer(result, settings)

    def _executor(self, seed: int) -> ShuffledExecutor | None:
        """Workers who end in an order that follows from the seed; none for one at a time."""
        if self.workers == 1:
            return None
        return ShuffledExecutor(self.workers, rng_for_bench(seed, BenchStream.ORDER))


def _as_answer(result: Result, settings: Settings) -> Answer:
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
        "settings": settings.as_dict(),
    }
    final = _estimate(result.posterior, result.log_evidence, result.log_evidence_sd)
    return Answer(final, fields, _checkpoints(result))


def _estimate(posterior: Posterior, log_evidence: float, sd: float) -> Estimate:
    return Estimate(log_evidence, sd, posterior.mean(), posterior.covariance(), posterior.sample)


def _checkpoints(result: Result) -> Iterator[tuple[int, Estimate]]:
    """What would have been returned along the run, before any final boost."""
    history = result.iterations
    for row in checkpoint_rows([iteration.n_evaluations for iteration in history]):
        solution = best_iteration(history[: row + 1]).solution
        posterior = Posterior(solution.mixture, solution.space, None, solution.support)
        yield (
            history[row].n_evaluations,
            _estimate(posterior, solution.elbo.value, solution.elbo.sd),
        )
