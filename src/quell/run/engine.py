"""The algorithm as a function of what was asked and told, and of nothing else.

`Engine` holds the state between asks and tells. All its randomness comes from the seed and a
count of steps: one for every point searched for, one for every time that new evaluations are
absorbed. Evaluations are absorbed together, when the next point is asked for; until then
`Engine.state` looks ahead without changing anything. So a record of asks and tells replayed into
a new engine gives the same state, bit for bit, and looking at results in between does no harm.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from quell.arrays import FloatArray
from quell.errors import InferenceFailed
from quell.evaluations import GIVEN, Evaluations
from quell.problem import Problem
from quell.results import Posterior, Result
from quell.run.noise_check import NoiseCheck, NoiseUndecided
from quell.run.told import CHECK, USER, Ask, Told, as_table
from quell.settings import Settings
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
from quell.vbmc.evidence import evidence


class Engine:
    """The state of a run between asks and tells.

    ``problem`` is the problem with its noise mode as far as it is known by now; ``pending`` the
    asks without answer by index; ``table`` all evaluations.

    >>> from quell.problem.outcome import Outcome
    >>> problem = Problem(lambda t: 0.0, lower=0, upper=9, plausible_lower=2, plausible_upper=4)
    >>> nothing = Evaluations.empty(problem.names)
    >>> engine = Engine(problem, Settings(), 1, np.empty((0, 1)), nothing)
    >>> ask = engine.next()
    >>> engine.take(ask)
    >>> engine.learn([Told(ask.index, ask.theta, ask.origin, Outcome(-2.0))])
    >>> bool(engine.next().theta == ask.theta)      # a bare number has to repeat itself
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
        self.problem, self.settings, self.seed = problem, settings, seed
        noisy = problem.noise != "exact"
        self._state = initial_state(_rng(seed, 0), problem, starts, given, noisy=noisy)
        self._ahead: State | None = None
        self._steps = 0
        self._noise = NoiseCheck(problem.noise)
        self._undecided = ""
        self.n_starts = len(starts)
        self.n_indices = 0
        self.table = given
        self.pending: dict[int, Ask] = {}
        self.cpu_seconds = 0.0
        self._cpu_at_iteration = 0.0

    def next(self) -> Ask:
        """The next point to evaluate; nothing changes until it is taken."""
        self._refuse_if_undecided()
        index = self.n_indices
        if self._noise.is_waiting and not any(a.origin == CHECK for a in self.pending.values()):
            assert self._noise.theta is not None
            return Ask(index, self._noise.theta, CHECK)
        state = self.state
        started = time.thread_time()
        with single_threaded():
            theta = propose(_rng(self.seed, self._next_step() + 1), self.problem, state,
                            self.settings)  # fmt: skip
        self.cpu_seconds += time.thread_time() - started
        origin = "search"
        if state.n_asked < self.n_starts:
            origin = "start"
        elif state.n_asked < len(state.design) or state.fit is None:
            origin = "design"
        return Ask(index, theta, origin)

    def take(self, ask: Ask) -> None:
        """The ask is out: what was told before is absorbed, and the point is pending."""
        if ask.origin != CHECK:
            state = self.state  # before the count of steps, by which it is computed
            self._steps = self._next_step() + 1
            self._state, self._ahead = replace(state, n_asked=state.n_asked + 1), None
        self.pending[ask.index] = ask
        self.n_indices = max(self.n_indices, ask.index + 1)

    def learn(self, rows: Sequence[Told]) -> None:
        """Take in the answers told in one call; they are absorbed when the next point is asked."""
        for row in rows:
            self.pending.pop(row.index, None)
            self.n_indices = max(self.n_indices, row.index + 1)
            self._look_at_noise(row)
        self.table = self.table.extend(as_table(rows, self.problem))
        self._ahead = None
        n_user = sum(row.origin == USER and not row.outcome.failed for row in rows)
        if n_user and self._state.fit is None:
            self._shorten_design(n_user)

    def drop(self, indices: Iterable[int]) -> None:
        """These asks are pending no more."""
        for index in indices:
            self.pending.pop(index, None)

    @property
    def state(self) -> State:
        """The state with everything absorbed that was told, and the points now pending."""
        if self._ahead is None:
            self._ahead = self._absorbed() if self._has_news() else self._state
        pending = tuple(ask.theta for ask in self.pending.values() if ask.origin != CHECK)
        return replace(self._ahead, pending=pending)

    @property
    def settled_state(self) -> State:
        """The last state computed, at no cost; it may not know the latest evaluations."""
        return self._state if self._ahead is None else self._ahead

    def result(self, reasons: Sequence[str] = (), *, as_it_is: bool = False) -> Result:
        """Choose the iteration to return, polish it, and report; changes nothing.

        The iteration under way is closed first, so that the last evaluations count too, unless
        ``as_it_is``: then nothing new is computed but the polish.
        """
        state = self.settled_state if as_it_is else self._closed()
        if not state.history:
            raise InferenceFailed(self._why_nothing(reasons), self.table)
        started = time.thread_time()
        chosen = best_iteration(state.history)
        solution, boosted = chosen.solution, False
        rng = _rng(self.seed, self._next_step() + 1, 1)
        with single_threaded():
            if self.settings.final_components > 0:
                solution, boosted = boost(rng, solution, self.settings)
            estimate = evidence(rng, solution, importance=self.settings.evidence == "importance")
        self.cpu_seconds += time.thread_time() - started
        elbo, sd = solution.elbo.value, solution.elbo.sd
        proper = self.problem.prior.is_proper or self.problem.prior.is_included
        reasons = list(reasons)
        if not chosen.stable:
            reasons.append(
                "the solution has not been stable for long enough (reliability index "
                f"{chosen.reliability:.2g}, which has to stay below 1): use a larger budget, or "
                "compare with another seed"
            )
        if not proper:
            reasons.append("the prior is improper, so the evidence is not defined")
        return Result(
            posterior=Posterior(
                solution.mixture, solution.space, tuple(map(bool, self.problem.integer))
            ),
            elbo=elbo,
            elbo_sd=sd,
            log_evidence=estimate.value if proper else np.nan,
            log_evidence_sd=estimate.sd if proper else np.nan,
            evidence_method=estimate.method,
            converged=chosen.stable,
            reasons=tuple(reasons),
            iterations=state.history,
            chosen=chosen.index,
            boosted=boosted,
            evaluations=self.table,
            settings=self.settings,
            seed=self.seed,
            cpu_seconds=self.cpu_seconds,
            wall_seconds=np.nan,  # known to whoever keeps the time
            target_seconds=self.target_seconds,
        )

    @property
    def target_seconds(self) -> float:
        """Time spent in the target, all workers together; a head start does not count."""
        table = self.table
        counted = np.array([origin != GIVEN for origin in table.origin], dtype=bool)
        return float(np.nansum(table.seconds[counted]))

    def _look_at_noise(self, row: Told) -> None:
        """Settle noise="auto" if this answer does."""
        try:
            self._noise = self._noise.after(row.theta, row.outcome, repeat=row.origin == CHECK)
        except NoiseUndecided as problem:
            self._undecided = str(problem)
        if self._noise.noise != self.problem.noise:
            self._settle_noise()

    def _settle_noise(self) -> None:
        """The noise mode is known from now on."""
        self.problem = self.problem.with_noise(self._noise.noise)
        if self._noise.noise == "exact":
            # Values without an SD, given ones too, came from the same, exact target.
            sd = np.where(np.isnan(self.table.sd), 0.0, self.table.sd)
            self.table = replace(self.table, sd=sd)
            self._state = replace(self._state, noisy=False)

    def _shorten_design(self, n: int) -> None:
        """Points of the user's own take the place of random ones, but of no start."""
        state = self._state
        kept = max(self.n_starts, state.n_asked, len(state.design) - n)
        self._state = replace(state, design=state.design[:kept])

    def _has_news(self) -> bool:
        """Whether there is anything to absorb now."""
        if self._noise.is_waiting:
            return False  # the SDs of what was told are not known yet
        if len(self.table) > len(self._state.evaluations):
            return True
        given_only = self._state.fit is None and not len(self._state.design)
        return given_only and self.table.n_distinct >= 2

    def _next_step(self) -> int:
        """The step at which the next point is searched for, less one."""
        return self._steps + self._has_news()

    def _absorbed(self) -> State:
        searching = self.cpu_seconds - self._cpu_at_iteration
        started = time.thread_time()
        with single_threaded():
            state = absorb(
                _rng(self.seed, self._steps + 1), self.problem, self._state, self.settings,
                self.table,
            )  # fmt: skip
        self.cpu_seconds += time.thread_time() - started
        n_before = len(self._state.history)
        if len(state.history) > n_before:
            self._cpu_at_iteration = self.cpu_seconds
            new = state.history[n_before]
            new = replace(new, cpu_seconds=new.cpu_seconds + searching)
            history = (*state.history[:n_before], new, *state.history[n_before + 1 :])
            state = replace(state, history=history)
        return state

    def _closed(self) -> State:
        """The state with the iteration under way ended."""
        self._refuse_if_undecided()
        state = self.state
        started = time.thread_time()
        rng = _rng(self.seed, self._next_step() + 1)
        with single_threaded():
            state = close_iteration(rng, self.problem, state, self.settings)
        self.cpu_seconds += time.thread_time() - started
        return state

    def _refuse_if_undecided(self) -> None:
        if self._undecided:
            raise InferenceFailed(self._undecided, self.table)

    def _why_nothing(self, reasons: Sequence[str]) -> str:
        table = self.table
        why = "; ".join(reasons) or f"there are {len(table)} evaluations, which is too few"
        if table.n_failed:
            last = next(text for text in reversed(table.error) if text)
            why += f" ({table.n_failed} of {len(table)} failed, the last one with: {last})"
        if self._noise.is_waiting:
            why += ' (noise="auto" is not settled: the next point asked for repeats one)'
        return (
            f"no posterior could be fitted: {why}. The exception's 'evaluations' has what was "
            "evaluated"
        )


def _rng(seed: int, *step: int) -> np.random.Generator:
    """The generator of one step of the algorithm; those of evaluations have other keys."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, *step)))
