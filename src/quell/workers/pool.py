"""Where points are evaluated: in this process, one after the other, or by an executor.

`Pool` is what the loop of a run sees. An evaluation is a function of the target, the point, the
seed and its index, so it does not matter who makes it, nor when, nor whether it had to be made
twice because a worker died.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from quell.arrays import FloatArray
from quell.evaluations import rng_for
from quell.journal.lock import this_process
from quell.problem import Problem
from quell.problem.outcome import Outcome
from quell.problem.target import Target
from quell.run.told import Ask


@dataclass(frozen=True, eq=False)
class Job:
    """An ask to be evaluated; ``attempt`` counts earlier ones that failed."""

    ask: Ask
    attempt: int = 0


@dataclass(frozen=True, eq=False)
class Answer:
    """The outcome of a job, and the host and process that evaluated it."""

    job: Job
    outcome: Outcome
    who: str = ""


class Pool(Protocol):
    """What evaluates jobs. ``n_free`` more may be submitted; ``n_running`` will be answered."""

    @property
    def n_free(self) -> int: ...  # noqa: D102

    @property
    def n_running(self) -> int: ...  # noqa: D102

    def submit(self, problem: Problem, job: Job, /) -> None:
        """Begin to evaluate a job."""

    def answer(self, answer: Answer, /) -> None:
        """Have `wait` return this answer, which needed no evaluation."""

    def wait(self) -> list[Answer]:
        """Answers not returned yet; waits for one, or for room for more, if need be."""
        ...

    def abandon(self) -> list[Answer]:
        """Answers there are already; whatever has not begun never will."""
        ...

    def close(self) -> None:
        """Let go of everything."""


def evaluate(
    target: Target, theta: FloatArray, seed: int, index: int, attempt: int = 0
) -> tuple[Outcome, str]:
    """The outcome at θ (D,) of the evaluation with this index, and who made it.

    A repeated attempt has a stream of its own: a simulation that failed by chance may succeed.

    >>> target = Target(lambda theta, rng: rng.standard_normal(), "unknown", False, True)
    >>> here, there = (evaluate(target, np.zeros(1), 1, 5)[0] for _ in range(2))
    >>> here.value == there.value
    True
    """
    return target.evaluate(theta, _stream(seed, index, attempt)), this_process()


def _stream(seed: int, index: int, attempt: int) -> np.random.Generator:
    if not attempt:
        return rng_for(seed, index)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index, attempt, 2)))


class Inline:
    """Evaluates in this process, when the answers are waited for.

    ``size`` jobs are taken at a time: a vectorised target gets them in one call, any other one
    after the other.
    """

    def __init__(self, seed: int, timeout: float | None = None, size: int = 1) -> None:
        self._seed, self._timeout, self._size = seed, timeout, size
        self._jobs: list[tuple[Target, Job]] = []
        self._answers: list[Answer] = []
        if timeout is not None and not _can_interrupt():
            raise ValueError(
                "timeout needs the main thread of a Unix process, or an executor: nothing else "
                "can interrupt the target (pass executor=, or let the target keep its own time)"
            )

    @property
    def n_free(self) -> int:
        """Room for more jobs."""
        return self._size - self.n_running

    @property
    def n_running(self) -> int:
        """Jobs that will be answered."""
        return len(self._jobs) + len(self._answers)

    def submit(self, problem: Problem, job: Job) -> None:
        """Take a job."""
        self._jobs.append((problem.target, job))

    def answer(self, answer: Answer) -> None:
        """Have `wait` return this answer."""
        self._answers.append(answer)

    def wait(self) -> list[Answer]:
        """The answers, after all jobs have been evaluated."""
        if self._jobs:
            # They leave the list only with their answers: an interrupt leaves them pending.
            self._answers += self._evaluated()
            self._jobs = []
        return self.abandon()

    def abandon(self) -> list[Answer]:
        """The answers there are already."""
        self._jobs = []
        answers, self._answers = self._answers, []
        return answers

    def close(self) -> None:
        """Nothing to let go of."""

    def _evaluated(self) -> list[Answer]:
        target = self._jobs[-1][0]  # the last knows most about the noise
        jobs = [job for _, job in self._jobs]
        thetas = np.stack([job.ask.theta for job in jobs])
        streams = [_stream(self._seed, job.ask.index, job.attempt) for job in jobs]
        try:
            with _alarm(self._timeout):
                outcomes = target.evaluate_many(thetas, streams)
        except _TimedOut:
            assert self._timeout is not None
            outcomes = [timed_out(self._timeout)] * len(jobs)
        who = this_process()
        return [Answer(job, outcome, who) for job, outcome in zip(jobs, outcomes, strict=True)]


def timed_out(seconds: float) -> Outcome:
    """The outcome of an evaluation that took too long.

    >>> timed_out(60.0).error
    'timed out after 60 s'
    """
    return Outcome.failure(f"timed out after {seconds:g} s", kind="lost", seconds=seconds)


class _TimedOut(BaseException):
    """Raised in the middle of the target; no ``except Exception`` of its own may swallow it."""


def _can_interrupt() -> bool:
    main = threading.current_thread() is threading.main_thread()
    return main and hasattr(signal, "setitimer")


@contextmanager
def _alarm(seconds: float | None) -> Iterator[None]:
    """Raise `_TimedOut` in the block after so many seconds; a user's own alarm comes back."""
    if seconds is None:
        yield
        return

    def ring(_number: int, _frame: object) -> None:
        raise _TimedOut

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
