"""The loop of :func:`quell.infer`: ask, evaluate, tell, until there is a reason to stop."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quell.errors import InferenceFailed, JournalError
from quell.evaluations import NO_PRIOR_DENSITY
from quell.problem.outcome import Outcome
from quell.progress import Progress, Update
from quell.results import Result
from quell.run.session import Session
from quell.run.stopping import default_budget, solution_is_final, too_many_failures
from quell.run.told import Told
from quell.vbmc import State
from quell.workers.pool import Answer, Job, Pool

Callback = Callable[[Update], Any]


def is_true(answer: Any) -> bool:
    """Whether a callback returned True, Python's or NumPy's; other objects are no answer.

    >>> is_true(np.True_), is_true(None), is_true(1)
    (True, False, False)
    """
    return isinstance(answer, bool | np.bool_) and bool(answer)


@dataclass
class Run:
    """A loop under way: the session, where its points are evaluated, and why it will end.

    ``waiting`` are asks to be submitted: those a journal left without answer, and those to be
    tried again.
    """

    session: Session
    pool: Pool
    budget: int | None
    retries: int = 0
    reasons: list[str] = field(default_factory=list)
    waiting: list[Job] = field(default_factory=list)
    n_iterations: int = 0

    def loop(self, display: Progress, callback: Callback | None) -> None:
        """Evaluate and learn until the budget is spent, the solution is stable, or told to.

        Points under evaluation when the run ends are waited for: they have been paid for.
        """
        self.waiting = [Job(ask) for ask in self.session.engine.pending.values()]
        self.look_around(display, callback)
        while True:
            self.submit()
            if not self.pool.n_running and self.is_over():
                break
            for answer in self.pool.wait():
                self.receive(answer)
            self.look_around(display, callback)

    def submit(self) -> None:
        """Keep the pool busy: one point at a time, so that it works while the next is chosen."""
        while self.pool.n_free:
            if self.is_over():
                return
            self.start(self.waiting.pop(0) if self.waiting else Job(self.session.ask()))

    def is_over(self) -> bool:
        """Whether there is nothing more to submit."""
        return not self.waiting and (bool(self.reasons) or self.is_spent())

    def is_spent(self) -> bool:
        """Whether all evaluations of the budget are made or under way."""
        engine = self.session.engine
        if self.budget is None and engine.problem.noise != "auto":
            self.budget = default_budget(engine.settled_state)
        taken = engine.table.n_counted + len(engine.pending)
        return self.budget is not None and taken >= self.budget

    def start(self, job: Job) -> None:
        """Submit a job, unless the prior says already that the density is zero there."""
        problem = self.session.engine.problem
        if problem.log_prior(job.ask.theta) == -np.inf:
            outcome = Outcome.failure(NO_PRIOR_DENSITY, kind="zero density", value=-np.inf)
            self.pool.answer(Answer(job, outcome))
        else:
            self.pool.submit(problem, job)

    def receive(self, answer: Answer) -> None:
        """Tell an answer, or try again."""
        ask, outcome = answer.job.ask, answer.outcome
        row = Told(ask.index, ask.theta, ask.origin, outcome)
        again = outcome.failed and not outcome.zero_density and answer.job.attempt < self.retries
        if again:
            if self.session.journal is not None:
                self.session.journal.attempt(row, answer.who)
            self.waiting.append(Job(ask, answer.job.attempt + 1))
            return
        try:
            self.session.tell([row], answer.who)
        except JournalError as error:
            engine = self.session.engine
            engine.learn([row])  # it is lost to the journal, but not to the exception
            raise InferenceFailed(
                f"{error}. The last evaluation, {outcome.value!r} at {ask.theta.tolist()}, is not "
                "in it; the exception's 'evaluations' has it",
                engine.table,
                self.result(as_it_is=True) if engine.settled_state.history else None,
            ) from error

    def keep_what_is_done(self) -> None:
        """Tell the answers there are when the run is cut short."""
        for answer in self.pool.abandon():
            self.receive(answer)

    def look_around(self, display: Progress, callback: Callback | None) -> None:
        """Absorb what came, show it, and see whether there is a reason to stop."""
        engine = self.session.engine
        failure = too_many_failures(engine.table, engine.settings)
        state = engine.state
        if failure:
            self.give_up(failure)
        if not len(engine.table):
            return
        spent = self.is_spent()
        update = self.update(state)
        display.show(update)
        if len(state.history) > self.n_iterations:
            self.n_iterations = len(state.history)
            if callback is not None and is_true(callback(update)):
                self.stop("stopped by the callback")
            elif engine.settings.stop_early and solution_is_final(state, engine.settings):
                self.stop("the solution is stable")
        if spent and not engine.pending:
            self.stop(f"the budget of {self.budget} evaluations is spent")

    def stop(self, reason: str) -> None:
        """No more points, for this reason, unless there is an earlier one."""
        if not self.reasons:
            self.reasons.append(reason)

    def give_up(self, failure: str) -> None:
        """End the run: nearly everything fails."""
        self.reasons.append(failure)
        result = self.result() if self.session.engine.state.history else None
        raise InferenceFailed(
            f"{failure}. Make sure that the target works where the plausible box is; the "
            "exception's 'evaluations' has all points and errors",
            self.session.engine.table,
            result,
        )

    def update(self, state: State) -> Update:
        """How far the run is."""
        engine = self.session.engine
        return Update.of(
            state, self.budget or 0, self.session.wall_seconds, engine.target_seconds,
            engine.cpu_seconds,
        )  # fmt: skip

    def result(self, *, as_it_is: bool = False) -> Result:
        """What the run returns."""
        return self.session.result(self.reasons, as_it_is=as_it_is)
