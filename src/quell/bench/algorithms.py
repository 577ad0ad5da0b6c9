"""The algorithms a benchmark can run, each giving the same kind of answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from quell.arrays import FloatArray
from quell.bench.compact import compact_posterior
from quell.infer import infer
from quell.problem import Problem
from quell.results import Posterior, Result
from quell.run.session import Session
from quell.settings import Settings
from quell.vbmc import best_iteration
from quell.workers.pool import evaluate

CHECKPOINTS = 12
#: Points under evaluation at a time with "quell-8"; the stream of the order in which they end.
IN_FLIGHT = 8
ORDER_STREAM = 9

#: Every algorithm's name, and what it is.
ALGORITHMS = {
    "quell": "Quell with its default settings",
    "quell-8": "Quell with 8 points under evaluation at any time, which end in random order",
    "quell-viqr": "Quell with VIQR acquisition, otherwise its default settings",
    "quell-pro": "Quell with prospective uncertainty sampling, which is for exact targets",
    "quell-uniform": "Quell with the paper's uniform prior of the surrogate's output scale",
    "viqr": "the paper's main algorithm (VIQR acquisition)",
    "imiqr": "the paper's, with IMIQR acquisition",
    "eig": "the paper's, with expected information gain",
    "npro": "the paper's, with noisy prospective uncertainty sampling",
    "nowv": "the paper's VIQR without whitening and more components at the end",
    "map": "the paper's VIQR with one hyperparameter vector (MAP)",
    "old": "VBMC before the paper (prospective uncertainty sampling)",
    "pyvbmc": "PyVBMC, if it is installed",
}

#: What differs from the default settings.
_CHANGES: dict[str, dict[str, Any]] = {
    "quell-viqr": {"acquisition": "viqr"},
    "quell-pro": {"acquisition": "pro"},
    "quell-uniform": {"output_scale_prior": False},
}


@dataclass(frozen=True, eq=False)
class Estimate:
    """An algorithm's answer at one moment: evidence, and moments and draws of its posterior."""

    log_evidence: float
    log_evidence_sd: float
    mean: FloatArray
    covariance: FloatArray
    sample: Callable[[int, np.random.Generator], FloatArray]


@dataclass(frozen=True, eq=False)
class Answer:
    """The final estimate, further fields of the record, and the estimates along the run.

    ``checkpoints`` yields pairs (evaluations so far, what would have been returned then).
    """

    final: Estimate
    fields: dict[str, Any]
    checkpoints: Iterator[tuple[int, Estimate]]


class Interrupted(RuntimeError):
    """The run was cut short from outside; it must not count as finished."""


def bounded_map(algorithm: str) -> str:
    """The map of bounded parameters: the paper's variants have its logit."""
    return "probit" if algorithm == "pyvbmc" or algorithm.startswith("quell") else "logit"


def settings_for(algorithm: str, *, stop_early: bool) -> Settings:
    """The settings of Quell or of one of the paper's variants."""
    if algorithm.startswith("quell"):
        return Settings(stop_early=stop_early, **_CHANGES.get(algorithm, {}))
    return Settings.variant(f"paper-{algorithm}", stop_early=stop_early)


def run_quell(
    problem: Problem,
    *,
    settings: Settings,
    start: FloatArray,
    seed: int,
    budget: int,
) -> Answer:
    """One run of Quell with these settings."""
    result = infer(
        problem, budget=budget, seed=seed, start=start, settings=settings, progress=False
    )
    if "interrupted by the user" in result.reasons:
        raise Interrupted("interrupted")
    return _as_answer(result, settings)


def run_in_flight(
    problem: Problem,
    *,
    settings: Settings,
    start: FloatArray,
    seed: int,
    budget: int,
) -> Answer:
    """One run of Quell as by a crowd of equal workers, without their waiting.

    A new point is asked for whenever one of those under evaluation, drawn at random, ends. Each is
    evaluated by the stream that `infer` would give it.
    """
    session = Session.begin(problem, seed=seed, settings=settings, start=start)
    order = np.random.default_rng([seed, ORDER_STREAM])
    engine = session.engine
    for _ in range(budget):
        out = engine.pending.asked
        while len(out) < IN_FLIGHT and len(engine.table) + len(out) < budget:
            session.ask()
        asked = list(out.values())[order.integers(len(out))]
        session.record([evaluate(problem.target, asked, seed)])
    return _as_answer(session.result(), settings)


def _as_answer(result: Result, settings: Settings) -> Answer:
    fields = {
        "evaluations": result.evaluations.n_counted,
        "evidence_method": result.evidence_method,
        "elbo": result.elbo,
        "elbo_sd": result.elbo_sd,
        "converged": result.converged,
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


def checkpoint_rows(counts: list[int]) -> list[int]:
    """Which of the iterations, ending after ``counts`` evaluations, to look at: at most 12.

    >>> checkpoint_rows([10, 15, 20])
    [0, 1, 2]
    >>> checkpoint_rows(list(range(5, 500, 5)))[:3]
    [7, 15, 23]
    """
    goals = np.linspace(0, counts[-1], CHECKPOINTS + 1)[1:]
    rows = np.searchsorted(counts, goals, side="right") - 1
    return sorted({int(row) for row in rows if row >= 0})


def _checkpoints(result: Result) -> Iterator[tuple[int, Estimate]]:
    """What would have been returned along the run, before any final boost."""
    history = result.iterations
    for row in checkpoint_rows([iteration.n_evaluations for iteration in history]):
        solution = best_iteration(history[: row + 1]).solution
        posterior = Posterior(solution.mixture, solution.space)
        yield (
            history[row].n_evaluations,
            _estimate(posterior, solution.elbo.value, solution.elbo.sd),
        )
