"""A baseline as an engine of a run: what `quell.run` needs of it, whichever it is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from quell.arrays import FloatArray
from quell.baselines.posterior import DrawnPosterior
from quell.baselines.result import BaselineResult, Moment
from quell.errors import InferenceFailed
from quell.evaluations import Evaluations, Origin
from quell.problem import Problem
from quell.run.fold import Fold
from quell.run.report import why_nothing
from quell.streams import rng_for_design, rng_for_finish
from quell.threads import single_threaded
from quell.vbmc.design import random_points
from quell.vbmc.looks import failed_points


class Method(Protocol):
    """A baseline: how it begins, learns, chooses points, and answers.

    A surrogate (any object) follows from the problem, a table of evaluations and a vector of
    hyperparameters; nothing else is kept between two evaluations.
    """

    @property
    def algorithm(self) -> str: ...  # noqa: D102
    @property
    def max_failed(self) -> float: ...  # noqa: D102
    @property
    def stop_early(self) -> bool: ...  # noqa: D102

    def as_dict(self) -> dict[str, Any]:
        """The settings as plain data, with the algorithm's name under "algorithm"."""

    def design(
        self, rng: np.random.Generator, problem: Problem, starts: FloatArray, given: Evaluations
    ) -> FloatArray:
        """The first points (n, D), which begin with ``starts``."""

    def is_enough(self, table: Evaluations) -> bool:
        """Whether a surrogate can be fitted to these evaluations, once the design is made."""

    def fit(
        self, rng: np.random.Generator, problem: Problem, table: Evaluations,
        last: FloatArray | None,
    ) -> FloatArray:  # fmt: skip
        """The hyperparameters given all evaluations; ``last`` are those before the newest."""

    def propose(
        self, rng: np.random.Generator, problem: Problem, table: Evaluations,
        hyperparameters: FloatArray, pending: FloatArray,
    ) -> FloatArray:  # fmt: skip
        """The next point (D,), given those (n, D) under evaluation or without a value."""

    def evidence(
        self, problem: Problem, table: Evaluations, hyperparameters: FloatArray
    ) -> tuple[float, float]:
        """The log evidence and its SD; nan for a method without."""

    def draws(
        self, rng: np.random.Generator, problem: Problem, table: Evaluations,
        hyperparameters: FloatArray,
    ) -> FloatArray:  # fmt: skip
        """Draws (n, D) of the posterior, in the user's parameters."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """One fit of the surrogate: what it was fitted to, and what came out.

    ``rows`` counts the rows of the table, ``n_evaluations`` those that count against the budget.
    """

    index: int
    rows: int
    n_evaluations: int
    hyperparameters: FloatArray
    elbo: float = np.nan
    elbo_sd: float = np.nan
    # What the progress of Quell's own algorithm shows, and a baseline does not have.
    reliability: float = np.nan
    noise_sd: float = np.nan
    n_components: int = 0

    def as_row(self) -> dict[str, Any]:
        """The figures, for a table."""
        return {
            "index": self.index,
            "n_evaluations": self.n_evaluations,
            "log_evidence": self.elbo,
            "log_evidence_sd": self.elbo_sd,
            "hyperparameters": self.hyperparameters.tolist(),
        }


@dataclass(frozen=True, eq=False)
class Stage:
    """The state of a baseline between two evaluations; see `quell.run.fold.AnyState`."""

    dimension: int
    noisy: bool
    design: FloatArray
    n_starts: int
    evaluations: Evaluations
    n_asked: int = 0
    history: tuple[Fitted, ...] = ()
    warmup: bool = False

    @property
    def fit(self) -> Fitted | None:
        """The last fit; None before there is one."""
        return self.history[-1] if self.history else None

    def asked(self) -> "Stage":
        """The state after one more point has been asked for."""
        return replace(self, n_asked=self.n_asked + 1)

    def with_data(self, *, noise_guess: float | None = None, **changes: Any) -> "Stage":  # noqa: ARG002
        """The state after changes; a guess of the noise is of no use to a baseline."""
        return replace(self, **changes)


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers a run would have given after each fit of its ``history``."""

    method: Method
    problem: Problem
    table: Evaluations
    history: tuple[Fitted, ...]
    seed: int

    def at(self, row: int) -> Moment:
        """The answer after the fit in this row, by a sample from the surrogate as it was."""
        fitted, problem = self.history[row], self.problem
        seen = self.table.rows(np.arange(len(self.table)) < fitted.rows)
        rng = rng_for_finish(self.seed, fitted.index)
        draws = self.method.draws(rng, problem, seen, fitted.hyperparameters)
        posterior = DrawnPosterior(problem.snap(draws), problem.space)
        if problem.prior.is_proper or problem.prior.is_included:
            return Moment(fitted.n_evaluations, posterior, fitted.elbo, fitted.elbo_sd)
        return Moment(fitted.n_evaluations, posterior, np.nan, np.nan)

    def __call__(self, rows: Sequence[int]) -> Iterator[Moment]:
        """The answers after several fits, one after the other."""
        for row in rows:
            with single_threaded(), np.errstate(all="ignore"):
                moment = self.at(row)
            yield moment


class BaselineEngine(Fold[Stage]):
    """The state of a run of a baseline between its events."""

    def __init__(
        self, problem: Problem, method: Method, seed: int, starts: FloatArray, given: Evaluations
    ) -> None:
        self._method = method
        design = method.design(rng_for_design(seed), problem, starts, given)
        stage = Stage(
            problem.space.dimension, problem.noise != "exact", design, len(starts),
            given.rows(np.zeros(len(given), dtype=bool)),
        )  # fmt: skip
        super().__init__(problem, method, seed, stage, given)

    def result(self, reasons: Sequence[str] = (), *, settled_only: bool = False) -> BaselineResult:
        """Draw from the last surrogate, and report; changes nothing."""
        if not settled_only:
            self._refuse_if_undecided()
            self.absorb()
        history = self.settled.history
        if not history:
            why = why_nothing(self.table, reasons, noise_is_open=self._noise.is_waiting)
            raise InferenceFailed(why, self.table)
        answers = Answers(self._method, self.problem, self.table, history, self.seed)
        with self._clock():
            final = answers.at(len(history) - 1)
        return BaselineResult(
            algorithm=self._method.algorithm,
            posterior=final.posterior,
            log_evidence=final.log_evidence,
            log_evidence_sd=final.log_evidence_sd,
            reasons=tuple(reasons),
            history=[fitted.as_row() for fitted in history],
            evaluations=self.table,
            settings=self._method.as_dict(),
            seed=self.seed,
            cpu_seconds=self.cpu_seconds,
            wall_seconds=np.nan,  # known to whoever keeps the time
            target_seconds=self.target_seconds,
            problem=self.problem.fingerprint(),
            journal="",
            replay=answers,
        )

    def _absorbed(self, rng: np.random.Generator) -> Stage:
        stage, table = replace(self._state, evaluations=self.table), self.table
        designed = table.n_counted - table.origin.count(Origin.USER) >= len(stage.design)
        if not (designed and self._method.is_enough(table)):
            return stage
        last = None if stage.fit is None else stage.fit.hyperparameters
        with self._clock():
            h = self._method.fit(rng, self.problem, table, last)
            value, sd = self._method.evidence(self.problem, table, h)
        fitted = Fitted(len(stage.history) + 1, len(table), table.n_counted, h, value, sd)
        return replace(stage, history=(*stage.history, fitted))

    def _proposed(self, rng: np.random.Generator, state: Stage) -> tuple[FloatArray, Origin]:
        if state.n_asked < len(state.design):
            origin = Origin.START if state.n_asked < state.n_starts else Origin.DESIGN
            return state.design[state.n_asked], origin
        if state.fit is None:
            return random_points(rng, self.problem, self.problem.space, 1)[0], Origin.DESIGN
        # A point that failed has no value, and is not worth another try: it is as good as pending.
        pending = np.concatenate(
            [self.pending.searched(self.problem.dimension), failed_points(state.evaluations)]
        )
        theta = self._method.propose(
            rng, self.problem, state.evaluations, state.fit.hyperparameters, pending
        )
        return theta, Origin.SEARCH
