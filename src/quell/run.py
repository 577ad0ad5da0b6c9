"""A run under way: propose, evaluate, absorb, until there is a reason to stop."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quell.checks import FloatArray, as_floats
from quell.evaluations import Evaluations, rng_for
from quell.outcome import Outcome
from quell.posterior import Posterior
from quell.problem import Problem
from quell.progress import Progress, Update
from quell.result import Result
from quell.settings import Settings
from quell.vbmc import (
    State,
    absorb,
    best_iteration,
    boost,
    close_iteration,
    initial_state,
    propose,
)
from quell.vbmc.reliability import STABLE_EVALUATIONS

#: Budgets by default, in units of D + 2 evaluations.
BUDGET_EXACT, BUDGET_NOISY = 50, 75
#: Failures are counted against ``max_failed`` once there are this many evaluations.
FAILURES_COUNT_FROM = 10
FEWEST_PER_DIMENSION = 5

Callback = Callable[[Update], Any]


class InferenceFailed(RuntimeError):
    """A run that could not go on. ``evaluations`` are those made, ``result`` the best so far."""

    def __init__(
        self, message: str, evaluations: Evaluations, result: Result | None = None
    ) -> None:
        super().__init__(message, evaluations, result)
        self.evaluations = evaluations
        self.result = result

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass
class Run:
    """A run under way: the problem, the state, and the clock."""

    problem: Problem
    settings: Settings
    seed: int
    budget: int | None
    state: State
    n_starts: int
    reasons: list[str] = field(default_factory=list)
    cpu_seconds: float = 0.0
    target_seconds: float = 0.0
    wall_started: float = field(default_factory=time.perf_counter)
    steps: int = 0
    _table: Evaluations | None = None

    @classmethod
    def begin(
        cls,
        problem: Problem,
        budget: int | None,
        seed: int | None,
        start: ArrayLike | Result | None,
        evaluations: Evaluations | Sequence[ArrayLike] | None,
        settings: Settings,
    ) -> "Run":
        """Check all arguments of :func:`quell.infer` and set up the run."""
        if not isinstance(problem, Problem):
            raise TypeError(f"problem must be a quell.Problem, got {type(problem).__name__}")
        if budget is not None and (
            isinstance(budget, bool) or not isinstance(budget, int | np.integer) or budget < 1
        ):
            raise ValueError(f"budget must be a positive integer, got {budget!r}")
        if budget == 1 and problem.noise == "auto":
            raise ValueError(
                'budget must be at least 2 with noise="auto", which may evaluate the first '
                "point twice; got 1"
            )
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        if not isinstance(seed, int | np.integer) or seed < 0:
            raise ValueError(f"seed must be a non-negative integer, got {seed!r}")
        given = _head_start(problem, evaluations)
        rng = np.random.default_rng(np.random.SeedSequence(int(seed), spawn_key=(0, 0)))
        starts = _start_points(problem, start, rng)
        noisy = problem.noise != "exact"
        state = initial_state(rng, problem, starts, given, noisy=noisy)
        return cls(problem, settings, int(seed), budget, state, len(starts))

    def engine_rng(self) -> np.random.Generator:
        """The generator of the algorithm's next step."""
        self.steps += 1
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(0, self.steps)))

    def loop(self, display: Progress, callback: Callback | None) -> None:
        """Evaluate and learn until the budget is spent, the solution is stable, or told to."""
        if self.state.evaluations.ok.sum() >= 2 and not len(self.state.design):
            self.absorb(self.state.evaluations)
        while True:
            if self.budget is not None and self.state.evaluations.n_counted >= self.budget:
                self.reasons.append(f"the budget of {self.budget} evaluations is spent")
                self.state = close_iteration(
                    self.engine_rng(), self.problem, self.state, self.settings
                )
                return
            n_iterations = len(self.state.history)
            self.step()
            if self.too_many_failures():
                return
            update = self.update()
            display.show(update)
            if len(self.state.history) > n_iterations:
                if callback is not None and callback(update) is True:
                    self.reasons.append("stopped by the callback")
                    return
                if self.settings.stop_early and self.is_finished():
                    self.reasons.append("the solution is stable")
                    return

    def step(self) -> None:
        """Propose one point, evaluate it, absorb the answer."""
        started = time.process_time()
        rng = self.engine_rng()
        theta = propose(rng, self.problem, self.state, self.settings)
        self.cpu_seconds += time.process_time() - started
        n_asked = sum(origin not in ("given", "check") for origin in self.table.origin)
        origin = "search"
        if self.state.fit is None:
            origin = "start" if n_asked < self.n_starts else "design"
        outcome = self.evaluate(theta, origin)
        if self.problem.noise == "auto":
            self.find_out_noise(theta, outcome)
        if self.budget is None and self.problem.noise != "auto":
            per = BUDGET_NOISY if self.state.noisy else BUDGET_EXACT
            self.budget = per * (self.state.dimension + 2)
        self.absorb(self.table)

    def evaluate(self, theta: FloatArray, origin: str) -> Outcome:
        """Evaluate the target and put the outcome in the table (not yet in the state)."""
        index = self.table.n_counted
        log_prior = self.problem.log_prior(theta)
        if log_prior == -np.inf:
            outcome = Outcome.failure("zero prior density", kind="zero density", value=-np.inf)
        else:
            outcome = self.problem.evaluate(theta, rng_for(self.seed, index))
        if not isnan(outcome.seconds):
            self.target_seconds += outcome.seconds
        self._table = self.table.append(
            theta, outcome, log_prior=log_prior, origin=origin, index=index
        )
        return outcome

    @property
    def table(self) -> Evaluations:
        """All evaluations, those the state does not know yet included."""
        return self.state.evaluations if self._table is None else self._table

    def absorb(self, evaluations: Evaluations) -> None:
        """Let the algorithm learn from the table."""
        started = time.process_time()
        self.state = absorb(self.engine_rng(), self.problem, self.state, self.settings, evaluations)
        self.cpu_seconds += time.process_time() - started

    def find_out_noise(self, theta: FloatArray, outcome: Outcome) -> None:
        """Settle noise="auto": a pair is reported noise; a number is tried a second time."""
        if outcome.failed:
            return
        if outcome.reported:
            self.problem = self.problem.with_noise("reported")
            return
        again = self.evaluate(theta, "check")
        if again.failed or again.value != outcome.value:
            second = again.error if again.failed else repr(again.value)
            raise InferenceFailed(
                f"two evaluations of the target at {theta.tolist()} gave {outcome.value!r} and "
                f"{second}: the target is noisy, but returns no SD. Return the pair (value, SD) "
                'if the SD of the noise can be estimated; otherwise pass noise="unknown" to '
                "Problem, and its size will be fitted.",
                self.table,
            )
        self.problem = self.problem.with_noise("exact")
        # Values given without an SD came from the same, exact target.
        sd = np.where(np.isnan(self.table.sd), 0.0, self.table.sd)
        self._table = replace(self.table, sd=sd)
        self.state = replace(self.state, noisy=False)

    def too_many_failures(self) -> bool:
        """Whether so many evaluations failed that going on makes no sense."""
        table = self.table
        n = table.n_counted
        n_failed = sum(
            not ok and origin != "given" for ok, origin in zip(table.ok, table.origin, strict=True)
        )
        if n < FAILURES_COUNT_FROM or n_failed <= self.settings.max_failed * n:
            return False
        last = next(text for text in reversed(table.error) if text)
        message = f"{n_failed} of {n} evaluations failed, the last one with: {last}"
        self.reasons.append(message)
        result = self.result() if self.state.history else None
        raise InferenceFailed(
            f"{message}. Make sure that the target works where the plausible box is; the "
            "exception's 'evaluations' has all points and errors",
            table,
            result,
        )

    def is_finished(self) -> bool:
        """Whether the solution is stable and the last whitening long enough ago."""
        state, last = self.state, self.state.history[-1]
        n_stable = STABLE_EVALUATIONS[state.noisy] / self.settings.batch
        return bool(
            last.stable
            and last.index - state.last_whitening >= n_stable / 3
            and last.n_evaluations >= FEWEST_PER_DIMENSION * state.dimension
            and last.index >= state.dimension
        )

    def update(self) -> Update:
        """How far the run is."""
        return Update.of(
            self.state, self.budget or 0, time.perf_counter() - self.wall_started,
            self.target_seconds, self.cpu_seconds,
        )  # fmt: skip

    def result(self) -> Result:
        """Choose the iteration to return, polish it, and report."""
        state = self.state
        started = time.process_time()
        chosen = best_iteration(state.history)
        solution, boosted = chosen.solution, False
        if self.settings.final_components > 0:
            rng = np.random.default_rng(
                np.random.SeedSequence(self.seed, spawn_key=(0, self.steps, 1))
            )
            solution, boosted = boost(rng, solution, self.settings)
        self.cpu_seconds += time.process_time() - started
        elbo, sd = solution.elbo.value, solution.elbo.sd
        proper = self.problem.prior.is_proper or self.problem.prior.is_included
        reasons = list(self.reasons)
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
            log_evidence=elbo if proper else np.nan,
            log_evidence_sd=sd if proper else np.nan,
            evidence_method="elbo",
            converged=chosen.stable,
            reasons=tuple(reasons),
            iterations=state.history,
            chosen=chosen.index,
            boosted=boosted,
            evaluations=self.table,
            settings=self.settings,
            seed=self.seed,
            cpu_seconds=self.cpu_seconds,
            wall_seconds=time.perf_counter() - self.wall_started,
            target_seconds=self.target_seconds,
        )


def _head_start(
    problem: Problem, evaluations: Evaluations | Sequence[ArrayLike] | None
) -> Evaluations:
    if evaluations is None:
        return Evaluations.empty(problem.names)
    if isinstance(evaluations, Evaluations):
        return evaluations.as_given(problem)
    if not isinstance(evaluations, tuple | list) or len(evaluations) not in (2, 3):
        raise ValueError(
            "evaluations must be a table of evaluations, or (points, values) or (points, values, "
            f"sds), got {type(evaluations).__name__}"
        )
    return Evaluations.from_arrays(*evaluations, problem=problem)


def _start_points(
    problem: Problem, start: ArrayLike | Result | None, rng: np.random.Generator
) -> FloatArray:
    """Points (n, D) to evaluate first."""
    if start is None:
        return np.empty((0, problem.dimension))
    if isinstance(start, Result):
        if start.posterior.names != problem.names:
            raise ValueError(
                f"start is a result for {list(start.posterior.names)}, the problem has "
                f"{list(problem.names)}"
            )
        draws = start.posterior.sample(200, rng)
        order = np.argsort(-start.posterior.log_density(draws))
        spread = draws[order[: int(0.99 * len(draws))]]
        count = max(problem.space.dimension, 10) - 1
        start = np.vstack([start.posterior.mode(), rng.permutation(spread)[:count]])
    points = np.atleast_2d(as_floats("start", start))
    if points.ndim != 2 or points.shape[1] != problem.dimension:
        raise ValueError(f"start must have shape ({problem.dimension},) or (n, "
                         f"{problem.dimension}), got {np.shape(start)}")  # fmt: skip
    return problem.snap(problem.check_points(points, "start"))
