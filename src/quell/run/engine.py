"""The algorithm as a function of what was asked and answered, and of nothing else; see `fold`."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from quell.arrays import FloatArray
from quell.errors import InferenceFailed
from quell.evaluations import Evaluations, Origin
from quell.problem import Problem
from quell.results import Result
from quell.run.ending import end
from quell.run.fold import Fold
from quell.run.report import make_result, why_nothing
from quell.settings import Settings
from quell.streams import rng_for_design, rng_for_finish
from quell.vbmc import (
    State,
    absorb,
    close_iteration,
    initial_state,
    propose,
)
from quell.vbmc.coverage import unseen_share


class Engine(Fold[State]):
    """The state of a run of Quell's own algorithm between its events.

    >>> from quell.evaluations.events import Answered
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
        noisy = problem.noise != "exact"
        state = initial_state(
            rng_for_design(seed), problem, starts, given,
            noisy=noisy, look_around=settings.look_around,
        )  # fmt: skip
        super().__init__(problem, settings, seed, state, given)
        self._cpu_at_iteration = 0.0

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
        with self._clock():
            ending = end(
                rng, state.history, self.settings, self.table, self.problem,
                partial(unseen_share, state=state),
            )  # fmt: skip
        return make_result(
            self.problem, self.settings, self.seed, self.table, state.history, ending.chosen,
            ending.solution, ending.evidence, ending.verdict, boosted=ending.boosted,
            reasons=reasons, n_accidents=state.training.n_accidents, cpu_seconds=self.cpu_seconds,
            target_seconds=self.target_seconds, unseen_share=ending.unseen_share,
        )  # fmt: skip

    def _proposed(self, rng: np.random.Generator, state: State) -> tuple[FloatArray, Origin]:
        pending = self.pending.searched(self.problem.dimension)
        found = propose(rng, self.problem, state, self.settings, pending)
        return found.theta, found.origin

    def _absorbed(self, rng: np.random.Generator) -> State:
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
