"""Where points are evaluated: in this process, one after the other, or by an executor.

`Pool` is what the loop of a run sees. An evaluation is a function of the target, the point, the
seed and its index, so it does not matter who makes it, nor when, nor whether it had to be made
twice because a worker died.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from quell.evaluations.events import Answered, Asked, this_process
from quell.problem import Outcome, Problem
from quell.problem.target import Target
from quell.streams import rng_for_attempt


class Pool(Protocol):
    """What evaluates points. ``n_free`` more may be submitted; ``n_running`` will be answered."""

    @property
    def n_free(self) -> int: ...  # noqa: D102

    @property
    def n_running(self) -> int: ...  # noqa: D102

    def submit(self, problem: Problem, asked: Asked, attempt: int, /) -> None:
        """Begin to evaluate a point; ``attempt`` counts failed ones before."""

    def wait(self) -> list[Answered]:
        """Answers not returned yet; waits for one, or for room for more, if need be."""
        ...

    def abandon(self) -> list[Answered]:
        """Answers there are already; whatever has not begun never will."""
        ...

    def close(self) -> None:
        """Release everything that is not the user's."""


def evaluate(target: Target, asked: Asked, seed: int, attempt: int = 0) -> Answered:
    """The answer to a question: this process evaluates the target at its point.

    >>> from quell.evaluations import Origin
    >>> target = Target(lambda theta, rng: rng.standard_normal(), "unknown", False, True)
    >>> asked = Asked(5, np.zeros(1), Origin.SEARCH)
    >>> here, there = (evaluate(target, asked, seed=1) for _ in range(2))
    >>> here.outcome.value == there.outcome.value
    True
    """
    outcome = target.evaluate(asked.theta, rng_for_attempt(seed, asked.index, attempt))
    return Answered(asked, outcome, this_process(), attempt)


class InlinePool:
    """Evaluates in this process, when the answers are waited for.

    ``size`` points are taken at a time: a vectorised target gets them in one call, any other one
    after the other.
    """

    def __init__(self, seed: int, timeout: float | None = None, size: int = 1) -> None:
        self._seed, self._timeout, self._size = seed, timeout, size
        self._waiting: list[tuple[Target, Asked, int]] = []
        self._answers: list[Answered] = []
        if timeout is not None and not _can_interrupt():
            raise ValueError(
                "timeout needs the main thread of a Unix process, or an executor: nothing else "
                "can interrupt the target (pass executor=, or let the target keep its own time)"
            )

    @property
    def n_free(self) -> int:
        """Room for more points."""
        return self._size - self.n_running

    @property
    def n_running(self) -> int:
        """Points that will be answered."""
        return len(self._waiting) + len(self._answers)

    def submit(self, problem: Problem, asked: Asked, attempt: int) -> None:
        """Take a point."""
        self._waiting.append((problem.target, asked, attempt))

    def wait(self) -> list[Answered]:
        """The answers, after all points have been evaluated."""
        if self._waiting:
            # They leave the list only with their answers: an interrupt leaves them pending.
            self._answers += self._evaluated()
            self._waiting = []
        return self.abandon()

    def abandon(self) -> list[Answered]:
        """The answers there are already."""
        self._waiting = []
        answers, self._answers = self._answers, []
        return answers

    def close(self) -> None:
        """Nothing to release."""

    def _evaluated(self) -> list[Answered]:
        target = self._waiting[-1][0]  # the last knows most about the noise
        thetas = np.stack([asked.theta for _, asked, _ in self._waiting])
        streams = [rng_for_attempt(self._seed, a.index, attempt) for _, a, attempt in self._waiting]
        try:
            with _alarm(self._timeout):
                outcomes = target.evaluate_many(thetas, streams)
        except _TimedOut:
            assert self._timeout is not None
            outcomes = [timed_out(self._timeout)] * len(thetas)
        who = this_process()
        return [
            Answered(asked, outcome, who, attempt)
            for (_, asked, attempt), outcome in zip(self._waiting, outcomes, strict=True)
        ]


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
