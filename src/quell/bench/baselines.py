"""Runs of the baselines, `quell.baselines`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quell.arrays import FloatArray
from quell.baselines import BaselineResult
from quell.baselines.result import Moment
from quell.bench.answers import AS_RETURNED, Answer, Estimate, Interrupted, checkpoint_rows
from quell.bench.compact import STORED_DRAWS, compact_draws
from quell.problem import Problem
from quell.run.stopping import INTERRUPTED

#: What a record says of an algorithm that estimates no evidence; its LML loss is not a number.
NO_EVIDENCE = "none"


@dataclass(frozen=True)
class BaselineRun:
    """Runs a function of `quell.baselines` with these ``options``."""

    function: Callable[..., BaselineResult]
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(
        self, problem: Problem, *, start: FloatArray, seed: int, budget: int, stop_early: bool
    ) -> Answer:
        """One run. Baselines use up their budget, whether or not they might stop early."""
        del stop_early
        result = self.function(
            problem, budget=budget, seed=seed, start=start, progress=False, **self.options
        )
        if INTERRUPTED in result.reasons:
            raise Interrupted(INTERRUPTED)
        figures = result.diagnostics
        has_evidence = np.isfinite(result.log_evidence)
        posterior = result.posterior
        draws = posterior.sample(STORED_DRAWS, np.random.default_rng(seed))
        fields = {
            "evaluations": figures["evaluations"],
            "evidence_method": result.algorithm if has_evidence else NO_EVIDENCE,
            "overhead_cpu_seconds_per_evaluation": figures["overhead_cpu_seconds_per_evaluation"],
            "wall_seconds": result.wall_seconds,
            "posterior": compact_draws(posterior.names, draws),
            "settings": result.settings,
        }
        final = Moment(
            figures["evaluations"], posterior, result.log_evidence, result.log_evidence_sd
        )
        return Answer(_estimate(final), fields, _checkpoints(result), AS_RETURNED)


def _estimate(moment: Moment) -> Estimate:
    posterior = moment.posterior
    return Estimate(
        moment.log_evidence, moment.log_evidence_sd, posterior.mean(), posterior.covariance(),
        posterior.sample,
    )  # fmt: skip


def _checkpoints(result: BaselineResult) -> Iterator[tuple[int, Estimate]]:
    """What would have been returned along the run."""
    rows = checkpoint_rows([row["n_evaluations"] for row in result.history])
    for moment in result.along(rows):
        yield moment.n_evaluations, _estimate(moment)
