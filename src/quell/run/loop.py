"""The loop of :func:`quell.infer`: ask, evaluate, record, until there is a reason to stop."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from quell.errors import InferenceFailed, JournalError
from quell.evaluations import NO_PRIOR_DENSITY
from quell.evaluations.events import Answered, Asked
from quell.problem import Outcome
from quell.progress import Progress, Update
from quell.results import Result
from quell.run.session import Session
from quell.run.stopping import (
    STABLE,
    default_budget,
    solution_is_final,
    spent,
    too_many_failures,
)
from quell.vbmc import State
from quell.workers.pool import Pool

Callback = Callable[[Update], Any]


def is_true(answer: Any) -> bool:
    """Whether a callback returned True, Python's or NumPy's; other objects are no answer.

    >>> is_true(np.True_), is_true(None), is_true(1)
    (True, False, False)
    """
    return isinstance(answer, bool | np.bool_) and bool(answer)


@dataclass
class Loop:
    """A loop under way: the session, where its points are evaluated, and why it will end.

    ``submitted`` are the indices of the points that the pool has.
    """

    session: Session
    pool: Pool
    budget: int | None
    retries: int = 0
    reasons: list[str] = field(default_factory=list)
    submitted: set[int] = field(default_factory=set)
    n_iterations: int = 0

    def run(self, display: Progress, callback: Callback | None) -> None:
        """Evaluate and learn until the budget is spent, the solution is stable, or told to.

        Points under evaluation when the run ends are waited for: they have been paid for.
        """
        self.absorb_and_show(display, callback)
        while True:
            answers = self.submit()
            if not (answers or self.pool.n_running) and self.is_over():
                break
            if not answers:
                self.ask_ahead()
            for answer in answers or self.pool.wait():
                self.receive(answer)
            for answer in self.submit(ask=False):
                self.receive(answer)
            self.absorb_and_show(display, callback)

    def ask_ahead(self) -> None:
        """Choose a point while all workers are busy, for the first of them that is done.

        Else it would wait until its answer is absorbed and the next point chosen. A single worker
        does wait: there, the answer is what the next point depends on.
        """
        if self.pool.n_running > 1 and not (self.waiting() or self.is_over()):
            self.session.ask()

    def submit(self, *, ask: bool = True) -> list[Answered]:
        """Keep the pool busy: one point at a time, so that it works while the next is chosen.

        Without ``ask`` only with points that have been chosen. Returns the answer of a point that
        need not be evaluated, as soon as there is one.
        """
        pending = self.session.engine.pending
        while self.pool.n_free and not self.is_over():
            waiting = self.waiting()
            if not (waiting or ask):
                break
            asked = waiting[0] if waiting else self.session.ask()
            problem = self.session.engine.problem
            if problem.log_prior(asked.theta) == -np.inf:
                outcome = Outcome.failure(NO_PRIOR_DENSITY, kind="zero density", value=-np.inf)
                return [Answered(asked, outcome)]
            self.pool.submit(problem, asked, pending.attempts[asked.index])
            self.submitted.add(asked.index)
        return []

    def waiting(self) -> list[Asked]:
        """Points asked for that the pool does not have: left by a journal, or to be tried again."""
        asked = self.session.engine.pending.asked
        return [asked[index] for index in asked if index not in self.submitted]

    def is_over(self) -> bool:
        """Whether there is nothing more to submit."""
        return (bool(self.reasons) or self.is_spent()) and not self.waiting()

    def is_spent(self) -> bool:
        """Whether all evaluations of the budget are made or under way."""
        engine = self.session.engine
        if self.budget is None and engine.problem.noise != "auto":
            self.budget = default_budget(engine.settled)
        taken = engine.table.n_counted + len(engine.pending.asked)
        return self.budget is not None and taken >= self.budget

    def receive(self, answer: Answered) -> None:
        """Record an answer; a failed evaluation stays pending while it may be tried again."""
        self.submitted.discard(answer.asked.index)
        outcome = answer.outcome
        if outcome.failed and not outcome.zero_density and answer.attempt < self.retries:
            self.session.record([replace(answer, final=False)])
            return
        try:
            self.session.record([answer])
        except JournalError as error:
            engine = self.session.engine
            engine.apply([answer])  # it is lost to the journal, but not to the exception
            raise InferenceFailed(
                f"{error}. The last evaluation, {outcome.value!r} at "
                f"{answer.asked.theta.tolist()}, is not in it; the exception's 'evaluations' has "
                "it",
                engine.table,
                self.result_if_any(settled_only=True),
            ) from error

    def record_finished(self) -> None:
        """Record the answers there are when the run is cut short."""
        for answer in self.pool.abandon():
            self.receive(answer)

    def absorb_and_show(self, display: Progress, callback: Callback | None) -> None:
        """Absorb what came, show it, and see whether there is a reason to stop."""
        engine = self.session.engine
        failure = too_many_failures(engine.table, engine.settings)
        state = engine.absorb()
        if failure:
            self.give_up(failure)
        if not len(engine.table):
            return
        is_spent = self.is_spent()
        update = self.update(state)
        display.show(update)
        if len(state.history) > self.n_iterations:
            self.n_iterations = len(state.history)
            if callback is not None and is_true(callback(update)):
                self.stop("stopped by the callback")
            elif engine.settings.stop_early and solution_is_final(state, engine.settings):
                self.stop(STABLE)
        if is_spent and not engine.pending.asked:
            self.stop(spent(self.budget or 0))

    def stop(self, reason: str) -> None:
        """No more points, for this reason, unless there is an earlier one."""
        if not self.reasons:
            self.reasons.append(reason)

    def give_up(self, failure: str) -> None:
        """End the run: nearly everything fails."""
        self.reasons.append(failure)
        engine = self.session.engine
        result = self.result_if_any()
        go_on = ", and a new run goes on from there with it as evaluations=" if result else ""
        raise InferenceFailed(
            f"{failure}. Make sure that the target works where the plausible box is; the "
            f"exception's 'evaluations' has all points and errors{go_on}",
            engine.table,
            result,
        )

    def update(self, state: State) -> Update:
        """How far the run is."""
        engine = self.session.engine
        return Update.of(
            state, self.budget or 0, self.session.wall_seconds, engine.target_seconds,
            engine.cpu_seconds,
        )  # fmt: skip

    def result(self, *, settled_only: bool = False) -> Result:
        """What the run returns."""
        return self.session.result(self.reasons, settled_only=settled_only)

    def result_if_any(self, *, settled_only: bool = False) -> Result | None:
        """The result that goes with an error; whatever is wrong with it must not hide that."""
        if not self.session.engine.settled.history:
            return None
        try:
            return self.result(settled_only=settled_only)
        except Exception:
            return None
