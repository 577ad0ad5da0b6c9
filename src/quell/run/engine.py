"""The algorithm as a function of what was asked and answered, and of nothing else.

`Engine` folds events (`quell.evaluations.events`) into the state of the algorithm. All its
randomness comes from the seed and a count of steps: one for every point searched for, one for
every time that new evaluations are absorbed. Evaluations are absorbed together, when the next
point is asked for; until then `Engine.absorb` looks ahead without changing anything. So a record
of events replayed into a new engine gives the same state, bit for bit, and looking at results in
between does no harm.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from quell.arrays import FloatArray
from quell.diagnostics import Case, judge
from quell.errors import InferenceFailed
from quell.evaluations import Evaluations, Origin
from quell.evaluations.answers import as_table
from quell.evaluations.events import Answered, Asked, Event
from quell.problem import Problem
from quell.problem.noise import NoiseCheck, NoiseUndecided, sds_once_exact
from quell.results import Result
from quell.run.pending import Pending
from quell.run.preload import preload
from quell.run.report import make_result, why_nothing
from quell.settings import Settings
from quell.streams import rng_for_design, rng_for_finish, rng_for_step
from quell.threads import single_threaded
from quell.vbmc import (
    State,
    absorb,
    best_iteration,
    boost,
    close_iteration,
    initial_state,
    propose,
)
from quell.vbmc.coverage import unseen_share
from quell.vbmc.evidence import evidence


class Engine:
    """The state of a run between its events.

    ``problem`` is the problem with its noise mode as far as it is known by now; ``pending`` the
    questions without answer; ``table`` all evaluations; ``cpu_seconds`` what the algorithm itself
    has taken.

    >>> from quell.problem import Outcome
    >>> problem = Problem(lambda t: 0.0, lower=0, upper=9, plausible_lower=2, plausible_upper=4)
    >>> nothing = Evaluations.empty(problem.names)
    >>> engine = Engine(problem, Settings(), 1, np.empty((0, 1)), nothing)
    >>> asked = engine.next()
    >>> engine.apply([asked])
    >>> engine.apply([Answered(asked, Outcome(-2.0))])
    >>> bool(engine.next().theta == asked.theta)      # a bare number has to repeat itself
    True
    """

    def __init__(
        self,
        problem: Problem,
        settings: Settings,
        seed: int,
        starts: FloatArray,
        given: Evaluations,
    ) -> None:
        preload()
        self.problem, self.settings, self.seed = problem, settings, seed
        noisy = problem.noise != "exact"
        self._state = initial_state(
            rng_for_design(seed), problem, starts, given,
            noisy=noisy, compress=settings.compress_low_values,
            look_around=settings.look_around,
        )  # fmt: skip
        self._ahead: State | None = None
        self._steps = 0
        self._noise = NoiseCheck(problem.noise)
        self._undecided = ""
        self.n_indices = 0
        self.table = given
        self.pending = Pending()
        self.cpu_seconds = 0.0
        self._cpu_at_iteration = 0.0

    @property
    def settled(self) -> State:
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
            found = propose(
                rng_for_step(self.seed, self._next_step() + 1), self.problem, state, self.settings,
                self.pending.searched(self.problem.dimension),
            )  # fmt: skip
        return Asked(self.n_indices, found.theta, found.origin)

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

    def absorb(self) -> State:
        """The state with everything absorbed that was answered.

        Refits the surrogate and the posterior if there is news since the last call; the same
        call again costs nothing. The engine itself moves on when the next point is asked for.
        """
        if self._ahead is None:
            self._ahead = self._absorbed() if self._has_news() else self._state
        return self._ahead

    def result(self, reasons: Sequence[str] = (), *, settled_only: bool = False) -> Result:
        """Choose the iteration to return, polish it, and report; changes nothing.

        The iteration under way is closed first, so that the last evaluations count too, unless
        ``settled_only``: then nothing new is computed but the polish.
        """
        rng = rng_for_finish(self.seed, self._next_step() + 1)
        state = self.settled
        if not settled_only:
            self._refuse_if_undecided()
            state = self.absorb()
            with self._clock():
                closed = close_iteration(rng, state, self.settings)
            state = self._timed(closed, state)
        if not state.history:
            why = why_nothing(self.table, reasons, noise_is_open=self._noise.is_waiting)
            raise InferenceFailed(why, self.table)
        chosen = best_iteration(state.history)
        solution, boosted = chosen.solution, False
        with self._clock():
            if self.settings.final_components > 0:
                solution, boosted = boost(rng, solution, self.settings)
            estimate = evidence(rng, solution, importance=self.settings.evidence == "importance")
            unseen = unseen_share(rng, state)
            case = Case.of(
                rng, solution, chosen, state.history, estimate.value, self.table, self.problem.space
            )
            verdict = judge(rng, case)
        return make_result(
            self.problem, self.settings, self.seed, self.table, state.history, chosen, solution,
            estimate, verdict, boosted=boosted, reasons=reasons,
            n_accidents=state.training.n_accidents, cpu_seconds=self.cpu_seconds,
            target_seconds=self.target_seconds, unseen_share=unseen,
        )  # fmt: skip

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
        self._state = replace(state, design=state.design[:kept])

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

    def _absorbed(self) -> State:
        rng = rng_for_step(self.seed, self._steps + 1)
        with self._clock():
            state = absorb(rng, self._state, self.settings, self.table)
        if len(state.history) > len(self._state.history):
            state = self._timed(state, self._state)
            self._cpu_at_iteration = self.cpu_seconds
        return state

    def _timed(self, state: State, before: State) -> State:
        """The state with the CPU time since the last iteration in the last of its new ones."""
        history = list(state.history)
        for i in range(len(before.history), len(history)):
            spent = self.cpu_seconds - self._cpu_at_iteration if i + 1 == len(history) else 0.0
            history[i] = replace(history[i], cpu_seconds=spent)
        return replace(state, history=tuple(history))

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
