"""The pool of a run: in this process, or by the workers of an executor."""

from concurrent.futures import Executor
from typing import Any

from quell.checks import integer, seconds
from quell.evaluations.events import Answered, Asked
from quell.problem import Outcome, Problem
from quell.workers.dispatch import Dispatch, Reply
from quell.workers.executors import check_executor, refuse_unless_sendable
from quell.workers.pool import InlinePool, Pool, evaluate, timed_out

WHAT = "the log-likelihood"


def make_pool(
    executor: Executor | None, seed: int, problem: Problem, workers: Any, timeout: Any
) -> Pool:
    """The pool for these arguments of :func:`quell.infer`, which are checked."""
    timeout = None if timeout is None else seconds("timeout", timeout)
    if executor is None:
        check_workers(workers)
        if workers not in (None, 1) and not problem.vectorised:
            raise ValueError(
                f"workers={workers} needs an executor= to work in, such as "
                f"concurrent.futures.ProcessPoolExecutor({workers}), or a vectorised target"
            )
        return InlinePool(seed, timeout, 1 if workers is None else int(workers))
    check_executor(executor)
    check_workers(workers)
    refuse_unless_sendable(executor, WHAT, problem.target)
    return ExecutorPool(executor, seed, workers, timeout)


def check_workers(workers: Any) -> None:
    """``ValueError`` for what is no number of workers; None is the executor's own."""
    if workers is not None:
        integer("workers", workers, least=1)


class ExecutorPool:
    """A pool that has the workers of an executor evaluate; see `Dispatch` for its policy."""

    def __init__(
        self, executor: Executor, seed: int, workers: int | None, timeout: float | None = None
    ) -> None:
        self._seed, self._timeout = seed, timeout
        self._dispatch: Dispatch[tuple[Asked, int]] = Dispatch(
            executor, what=WHAT, workers=workers, timeout=timeout
        )

    @property
    def n_free(self) -> int:
        """Room for more points."""
        return self._dispatch.n_free

    @property
    def n_running(self) -> int:
        """Points that will be answered."""
        return self._dispatch.n_running

    def submit(self, problem: Problem, asked: Asked, attempt: int) -> None:
        """Begin to evaluate a point."""
        key = asked, attempt
        self._dispatch.submit(key, evaluate, problem.target, asked, self._seed, attempt)

    def wait(self) -> list[Answered]:
        """At least one answer, and all there are; or none, where there is room for more."""
        return [self._answer(reply) for reply in self._dispatch.wait()]

    def abandon(self) -> list[Answered]:
        """Answers there are already; what has not begun is cancelled, what has is left alone."""
        return [self._answer(reply) for reply in self._dispatch.abandon()]

    def close(self) -> None:
        """Release what is not the user's."""
        self._dispatch.close()

    def _answer(self, reply: Reply[tuple[Asked, int]]) -> Answered:
        asked, attempt = reply.key
        if reply.late:
            assert self._timeout is not None
            return Answered(asked, timed_out(self._timeout), attempt=attempt)
        if reply.error:
            return Answered(asked, Outcome.failure(reply.error, kind="lost"), attempt=attempt)
        answer: Answered = reply.value
        return answer
