"""Other people's implementations, where they are installed."""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from quell.arrays import FloatArray
from quell.bench.answers import Answer, Estimate, checkpoint_rows
from quell.bench.compact import STORED_DRAWS, compact_draws
from quell.bench.problems.base import BenchError
from quell.problem import Problem

PYVBMC = "1.5.0"
#: Draws behind the moments of a posterior.
MOMENT_DRAWS = 200_000


def import_pyvbmc() -> Any:
    """The module; :class:`BenchError` if it is not installed."""
    try:
        return importlib.import_module("pyvbmc")
    except ImportError:
        raise BenchError(
            f"algorithm pyvbmc needs PyVBMC (install it with: pip install pyvbmc=={PYVBMC})"
        ) from None


class _Timed:
    """The log joint density of a problem, counting the time it takes."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.cpu_seconds = problem, 0.0

    def __call__(self, theta: FloatArray) -> float | tuple[float, float]:
        started = time.process_time()
        theta = np.asarray(theta, dtype=np.float64).ravel()
        outcome = self.problem.evaluate(theta)
        if outcome.failed:
            raise RuntimeError(f"the target failed at {theta.tolist()}: {outcome.error}")
        value = float(self.problem.log_joint(outcome.value, theta))
        self.cpu_seconds += time.process_time() - started
        return value if self.problem.noise == "exact" else (value, float(outcome.sd))


def run_pyvbmc(
    problem: Problem, *, start: FloatArray, seed: int, budget: int, stop_early: bool
) -> Answer:
    """One run of PyVBMC with its default options and this budget.

    Its seed is that of the run; its draws for the metrics come from its own generator.
    """
    module = import_pyvbmc()
    target = _Timed(problem)
    options: dict[str, Any] = {
        "max_fun_evals": budget,
        "display": "off",
        "specify_target_noise": problem.noise != "exact",
    }
    if not stop_early:
        options |= {"min_fun_evals": budget, "max_iter": budget}
    wall, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampler = module.VBMC(
            target,
            start[None, :],
            problem.lower[None, :],
            problem.upper[None, :],
            problem.plausible_lower[None, :],
            problem.plausible_upper[None, :],
            options=options,
            seed=seed,
        )
        posterior, results = sampler.optimize()
    cpu = time.process_time() - cpu - target.cpu_seconds
    evaluations = int(results["func_count"])
    final = _estimate(posterior, results["elbo"], results["elbo_sd"])
    fields = {
        "evaluations": evaluations,
        "evidence_method": "elbo",
        "elbo": float(results["elbo"]),
        "elbo_sd": float(results["elbo_sd"]),
        "converged": bool(results["success_flag"]),
        "overhead_cpu_seconds_per_evaluation": cpu / evaluations,
        "wall_seconds": time.perf_counter() - wall,
        "posterior": compact_draws(
            problem.names, final.sample(STORED_DRAWS, np.random.default_rng(seed))
        ),
        "settings": {"pyvbmc": str(results["version"])},
    }
    return Answer(final, fields, _checkpoints(sampler))


def _estimate(posterior: Any, elbo: float, elbo_sd: float) -> Estimate:
    def sample(n: int, rng: np.random.Generator) -> FloatArray:
        posterior.rng = rng
        return np.asarray(posterior.sample(n, orig_flag=True, balance_flag=True)[0])

    draws = sample(MOMENT_DRAWS, np.random.default_rng(0))
    covariance = np.atleast_2d(np.cov(draws.T))
    return Estimate(float(elbo), float(elbo_sd), draws.mean(axis=0), covariance, sample)


def _checkpoints(sampler: Any) -> Iterator[tuple[int, Estimate]]:
    counts = [int(count) for count in sampler.iteration_history["func_count"]]
    for row in checkpoint_rows(counts):
        posterior, elbo, elbo_sd, _ = sampler.determine_best_vp(max_idx=row)
        yield counts[row], _estimate(posterior, elbo, elbo_sd)
