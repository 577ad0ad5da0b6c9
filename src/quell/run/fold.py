"""What every algorithm of a run has in common: it is a fold over questions and answers.

`Fold` turns events (`quell.evaluations.events`) into the state of an algorithm, whichever it is:
that of Quell (`quell.run.engine`) or a baseline (`quell.baselines`). All its randomness comes from
the seed and a count of steps: one for every point searched for, one for every time that new
evaluations are absorbed. Evaluations are absorbed together, when the next point is asked for; until
then `Fold.absorb` looks ahead without changing anything. So a record of events replayed into a new
engine gives the same state, bit for bit, and looking at results in between does no harm.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from quell.arrays import FloatArray
from quell.errors import InferenceFailed
from quell.evaluations import Evaluations, Origin
from quell.evaluations.answers import as_table
from quell.evaluations.events import Answered, Asked, Event
from quell.problem import Problem
from quell.problem.noise import NoiseCheck, NoiseUndecided, sds_once_exact
from quell.run.pending import Pending
from quell.run.preload import preload
from quell.streams import rng_for_step
from quell.threads import single_threaded


class AnyState(Protocol):
    """What the state of any algorithm has.

    ``design`` (n, D) are the first points, of which ``n_starts`` are the user's; ``n_asked``
    counts the points asked for; ``evaluations`` is the table as far as it was absorbed; ``fit``
    is None before there is a surrogate; ``history`` has an entry for each iteration, with
    ``n_evaluations``, ``elbo``, ``elbo_sd``, ``reliability``, ``n_components`` and ``noise_sd``.
    """

    @property
    def design(self) -> FloatArray: ...  # noqa: D102
    @property
    def n_starts(self) -> int: ...  # noqa: D102
    @property
    def n_asked(self) -> int: ...  # noqa: D102
    @property
    def evaluations(self) -> Evaluations: ...  # noqa: D102
    @property
    def fit(self) -> Any: ...  # noqa: D102
    @property
    def history(self) -> Sequence[Any]: ...  # noqa: D102

    def asked(self) -> Self:
        """The state after one more point has been asked for."""

    def with_data(self, **changes: Any) -> Self:
        """The state after ``changes``, with all that follows from them."""


S = TypeVar("S", bound=AnyState)


class Fold(ABC, Generic[S]):
    """The state of a run between its events.

    ``problem`` is the problem with its noise mode as far as it is known by now; ``settings`` those
    of the algorithm, with ``as_dict``, ``max_failed`` and ``stop_early``; ``pending`` the questions
    without answer; ``table`` all evaluations; ``cpu_seconds`` what the algorithm itself has taken.
    """

    def __init__(
        self, problem: Problem, settings: Any, seed: int, state: S, given: Evaluations
    ) -> None:
        preload()
        self.problem, self.settings, self.seed = problem, settings, seed
        self._state = state
        self._ahead: S | None = None
        self._steps = 0
        self._noise = NoiseCheck(problem.noise)
        self._undecided = ""
        self.n_indices = 0
        self.table = given
        self.pending = Pending()
        self.cpu_seconds = 0.0

    @abstractmethod
    def result(self, reasons: Sequence[str] = (), *, settled_only: bool = False) -> Any:
        """What is known now; changes nothing.

        If ``settled_only`` nothing is absorbed for it; ``reasons`` say why the run ends.
        """

    @abstractmethod
    def _absorbed(self, rng: np.random.Generator) -> S:
        """The state with all of ``table`` absorbed."""

    @abstractmethod
    def _proposed(self, rng: np.random.Generator, state: S) -> tuple[FloatArray, Origin]:
        """The next point (D,) to evaluate, and why."""

    @property
    def settled(self) -> S:
        """The last state computed; it may not know the latest evaluations. Costs nothing."""
        return self._state if self._ahead is None else self._ahead

    @property
    def target_seconds(self) -> float:
        """Time spent in the target, all workers together; a head start does not count."""
        return float(np.nansum(self.table.seconds[self.table.counted]))

    def next(self) -> Asked:
        """The next point to evaluate; nothing changes until it is applied.

        Absorbs what was answered, and searches: this is what the algorithm's time goes into.
        """
        self._refuse_if_undecided()
        if self._noise.is_waiting and not self.pending.is_checking():
            assert self._noise.theta is not None
            return Asked(self.n_indices, self._noise.theta, Origin.CHECK)
        state = self.absorb()
        with self._clock():
            rng = rng_for_step(self.seed, self._next_step() + 1)
            theta, origin = self._proposed(rng, state)
        return Asked(self.n_indices, theta, origin)

    def apply(self, events: Sequence[Event]) -> None:
        """Take in events that happened together.

        A question absorbs what was answered before it; answers only go into the table.
        """
        answers = []
        for event in events:
            if isinstance(event, Asked):
                self._ask(event)
            elif isinstance(event, Answered) and event.final:
                self.n_indices = max(self.n_indices, event.asked.index + 1)
                self._look_at_noise(event)
                answers.append(event)
            self.pending.apply(event)
        if answers:
            self._learn(answers)

    def absorb(self) -> S:
        """The state with everything absorbed that was answered.

        Refits the surrogate and the posterior if there is news since the last call; the same
        call again costs nothing. The engine itself moves on when the next point is asked for.
        """
        if self._ahead is None:
            self._ahead = self._state
            if self._has_news():
                self._ahead = self._absorbed(rng_for_step(self.seed, self._steps + 1))
        return self._ahead

    def _ask(self, asked: Asked) -> None:
        """The question is out: what was answered before it is absorbed for good."""
        if asked.origin != Origin.CHECK:
            state = self.absorb()  # before the count of steps, by which it is computed
            self._steps = self._next_step() + 1
            self._state, self._ahead = state.asked(), None
        self.n_indices = max(self.n_indices, asked.index + 1)

    def _learn(self, answers: Sequence[Answered]) -> None:
        """Add answers to the table; they are absorbed when the next point is asked for."""
        self.table = self.table.extend(as_table(answers, self.problem))
        self._ahead = None
        users = [a for a in answers if a.asked.origin == Origin.USER and not a.outcome.failed]
        if users and self._state.fit is None:
            self._shorten_design(len(users))

    def _look_at_noise(self, answer: Answered) -> None:
        """Settle noise="auto" if this answer does."""
        asked = answer.asked
        try:
            repeat = asked.origin == Origin.CHECK
            self._noise = self._noise.after(asked.theta, answer.outcome, repeat=repeat)
        except NoiseUndecided as problem:
            self._undecided = str(problem)
        if self._noise.noise != self.problem.noise:
            self._settle_noise()

    def _settle_noise(self) -> None:
        """The noise mode is known from now on."""
        self.problem = self.problem.with_noise(self._noise.noise)
        if self._noise.noise == "exact":
            self.table = replace(self.table, sd=sds_once_exact(self.table.sd))
            self._state = self._state.with_data(noisy=False, noise_guess=None)

    def _shorten_design(self, n: int) -> None:
        """Points of the user's own take the place of random ones, but of no start."""
        state = self._state
        kept = max(state.n_starts, state.n_asked, len(state.design) - n)
        self._state = state.with_data(design=state.design[:kept])

    def _has_news(self) -> bool:
        """Whether there is anything to absorb now."""
        if self._noise.is_waiting:
            return False  # the SDs of what was answered are not known yet
        if len(self.table) > len(self._state.evaluations):
            return True
        given_only = self._state.fit is None and not len(self._state.design)
        return given_only and self.table.n_distinct >= 2

    def _next_step(self) -> int:
        """The step at which the next point is searched for, less one."""
        return self._steps + self._has_news()

    @contextmanager
    def _clock(self) -> Iterator[None]:
        """Count the CPU time of a block as the algorithm's.

        BLAS has one thread in it, and NumPy says nothing of numbers that overflow on the way: what
        comes of them is checked where it is used.
        """
        started = time.thread_time()
        try:
            with single_threaded(), np.errstate(all="ignore"):
                yield
        finally:
            self.cpu_seconds += time.thread_time() - started

    def _refuse_if_undecided(self) -> None:
        if self._undecided:
            raise InferenceFailed(self._undecided, self.table)
