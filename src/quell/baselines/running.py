"""A run of a baseline: the loop, journal, executors and progress of :func:`quell.infer`."""

from collections.abc import Sequence
from concurrent.futures import Executor
from os import PathLike

from numpy.typing import ArrayLike

from quell.baselines.engine import BaselineEngine, Method
from quell.baselines.result import BaselineResult
from quell.checks import integer
from quell.evaluations import Evaluations
from quell.problem import Problem
from quell.progress import Progress
from quell.results import Result
from quell.run.conducting import conduct
from quell.run.loop import Callback
from quell.run.session import Session
from quell.run.stopping import check_budget, refuse_if_too_small


def run(
    problem: Problem,
    method: Method,
    *,
    budget: float | None,
    seed: int | None,
    start: ArrayLike | Result | None,
    evaluations: Evaluations | Sequence[ArrayLike] | None,
    executor: Executor | None,
    workers: int | None,
    timeout: float | None,
    retries: int,
    journal: str | PathLike[str] | None,
    journal_check: bool,
    progress: bool,
    callback: Callback | None,
) -> BaselineResult:
    """Run a method on a problem; the arguments are those of :func:`quell.infer`."""
    if not isinstance(problem, Problem):
        raise TypeError(f"problem must be a quell.Problem, got {type(problem).__name__}")
    budget = check_budget(budget, problem)
    _ = problem.target  # refused at once where there is none
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable, got {type(callback).__name__}")
    retries = integer("retries", retries, least=0)
    with Progress(enabled=progress) as display:
        session = Session.begin(
            problem, seed=seed, settings=method, engine=BaselineEngine, journal=journal,
            start=start, evaluations=evaluations, on_replay=display.replaying,
        )  # fmt: skip
        try:
            refuse_if_too_small(budget, session.engine)
            result: BaselineResult = conduct(
                session, display, budget, executor=executor, workers=workers, timeout=timeout,
                retries=retries, journal_check=journal_check, callback=callback,
            )  # fmt: skip
            return result
        finally:
            session.close()
