"""The pool of a run: in this process, or by the workers of an executor."""

from concurrent.futures import Executor
from typing import Any

import numpy as np

from quell.problem import Problem
from quell.problem.outcome import Outcome
from quell.workers.dispatch import Dispatch, Reply
from quell.workers.executors import check_executor, refuse_unless_sendable
from quell.workers.pool import Answer, Inline, Job, Pool, evaluate, timed_out

WHAT = "the log-likelihood"


def make_pool(
    executor: Executor | None, seed: int, problem: Problem, workers: Any, timeout: Any
) -> Pool:
    """The pool for these arguments of :func:`quell.infer`, which are checked."""
    number = isinstance(timeout, int | float | np.number) and not isinstance(timeout, bool)
    if timeout is not None and not (number and 0 < timeout < np.inf):
        raise ValueError(f"timeout must be a positive number of seconds, got {timeout!r}")
    timeout = None if timeout is None else float(timeout)
    if executor is None:
        if workers is not None and not problem.vectorised:
            raise ValueError("workers needs an executor= to work in, or a vectorised target")
        check_workers(workers)
        return Inline(seed, timeout, 1 if workers is None else int(workers))
    check_executor(executor)
    check_workers(workers)
    refuse_unless_sendable(executor, WHAT, problem.target)
    return ExecutorPool(executor, seed, workers, timeout)


def check_workers(workers: Any) -> None:
    """``ValueError`` for what is no number of workers; None is the executor's own."""
    whole = isinstance(workers, int | np.integer) and not isinstance(workers, bool)
    if workers is not None and not (whole and workers > 0):
        raise ValueError(f"workers must be a positive integer, got {workers!r}")


class ExecutorPool:
    """A pool that has the workers of an executor evaluate; see `Dispatch` for its policy."""

    def __init__(
        self, executor: Executor, seed: int, workers: int | None, timeout: float | None = None
    ) -> None:
        self._seed, self._timeout = seed, timeout
        self._dispatch: Dispatch[Job] = Dispatch(
            executor, what=WHAT, workers=workers, timeout=timeout
        )
        self._answers: list[Answer] = []

    @property
    def n_free(self) -> int:
        """Room for more jobs."""
        return max(0, self._dispatch.n_free - len(self._answers))

    @property
    def n_running(self) -> int:
        """Jobs that will be answered."""
        return self._dispatch.n_running + len(self._answers)

    def submit(self, problem: Problem, job: Job) -> None:
        """Begin to evaluate a job."""
        ask = job.ask
        self._dispatch.submit(
            job, evaluate, problem.target, ask.theta, self._seed, ask.index, job.attempt
        )

    def answer(self, answer: Answer) -> None:
        """Have `wait` return this answer."""
        self._answers.append(answer)

    def wait(self) -> list[Answer]:
        """At least one answer, and all there are; or none, where there is room for more."""
        replies = self._dispatch.wait(patient=not self._answers)
        answers, self._answers = self._answers, []
        return answers + [self._read(reply) for reply in replies]

    def abandon(self) -> list[Answer]:
        """Answers there are already; what has not begun is cancelled, what has is left alone."""
        answers, self._answers = self._answers, []
        return answers + [self._read(reply) for reply in self._dispatch.abandon()]

    def close(self) -> None:
        """Let go of what is not the user's."""
        self._dispatch.close()

    def _read(self, reply: Reply[Job]) -> Answer:
        if reply.late:
            assert self._timeout is not None
            return Answer(reply.key, timed_out(self._timeout))
        if reply.error:
            return Answer(reply.key, Outcome.failure(reply.error, kind="lost"))
        return Answer(reply.key, *reply.value)
