"""Ask and tell: the algorithm by hand, for users who evaluate points in their own way."""

import threading
from collections.abc import Sequence
from os import PathLike
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.checks import as_floats, integer, seconds
from quell.evaluations import Answered, Asked, Evaluations, Origin
from quell.evaluations.events import NOT_ASKED, TOLD_BY, this_process
from quell.interface import explains_unknown_arguments
from quell.problem import Problem
from quell.problem.noise import check_told_sds
from quell.problem.outcome import FailureKind, Outcome
from quell.results import Result
from quell.run.matching import Matcher
from quell.run.session import OnReplay, Session
from quell.run.stopping import solution_is_final
from quell.settings import Settings


class Best(NamedTuple):
    """The evaluation with the highest log joint; under noise its value is optimistic."""

    theta: FloatArray
    log_joint: float
    sd: float


class Sampler:
    """The engine of :func:`quell.infer` by hand: ask for points, tell what came back.

    Parameters
    ----------
    problem
        The problem. Its log-likelihood is never called: you evaluate the points.
    seed
        What is asked is a function of the seed and of the sequence of asks and tells; a random
        seed is drawn, and found in ``seed``, if there is none.
    settings
        How the algorithm works; see :class:`quell.Settings`.
    journal
        A path: asks and tells are on disk before they are used, and a sampler opened with the
        same path goes on where the last one ended. The target is never called, so nobody can
        tell whether it is still the same.
    start, evaluations
        First points, and a head start, as in :func:`quell.infer`.
    pending_timeout
        Seconds after which a point that was asked for and not told is forgotten. If it is told
        after all it is used like any other.
    on_replay
        Called with (evaluations done, evaluations in all) while a journal is read.

    Methods may be called from several threads.

    Examples
    --------
    >>> problem = Problem(
    ...     lambda theta: 0.0, lower=-10, upper=10, plausible_lower=-3, plausible_upper=3,
    ...     noise="exact",
    ... )
    >>> sampler = Sampler(problem, seed=1)
    >>> for _ in range(4):
    ...     points = sampler.ask(5)                       # evaluate them wherever you like
    ...     sampler.tell(points, -0.5 * points[:, 0]**2)
    >>> result = sampler.result()
    >>> bool(abs(result.log_evidence - np.log(np.sqrt(2 * np.pi) / 20)) < 0.1)
    True
    """

    @explains_unknown_arguments("quell.Sampler")
    def __init__(
        self,
        problem: Problem,
        *,
        seed: int | None = None,
        settings: Settings | None = None,
        journal: str | PathLike[str] | None = None,
        start: ArrayLike | Result | None = None,
        evaluations: Evaluations | Sequence[ArrayLike] | None = None,
        pending_timeout: float | None = None,
        on_replay: OnReplay | None = None,
    ) -> None:
        if pending_timeout is not None:
            pending_timeout = seconds("pending_timeout", pending_timeout, or_infinite=True)
        self._session = Session.begin(
            problem, seed=seed, settings=settings, journal=journal, start=start,
            evaluations=evaluations, on_replay=on_replay,
        )  # fmt: skip
        self._engine = self._session.engine
        self._matcher = Matcher(problem)
        self._timeout = pending_timeout
        self._lock = threading.RLock()

    @property
    def problem(self) -> Problem:
        """The problem, with its noise mode as far as it is known by now."""
        return self._engine.problem

    @property
    def settings(self) -> Settings:
        """The settings."""
        return self._engine.settings

    @property
    def seed(self) -> int:
        """The seed."""
        return self._engine.seed

    @property
    def evaluations(self) -> Evaluations:
        """All evaluations told so far, a head start included."""
        return self._engine.table

    @property
    def asked(self) -> tuple[Asked, ...]:
        """What is pending, oldest first; each has ``index``, ``theta`` and ``origin``.

        ``quell.evaluations.rng_for(sampler.seed, asked.index)`` is the generator by which
        :func:`quell.infer` would evaluate it.
        """
        with self._lock:
            self._forget_old()
            return tuple(self._engine.pending.asked.values())

    @property
    def pending(self) -> FloatArray:
        """Points (n, D) asked for and not told yet, oldest first."""
        with self._lock:
            self._forget_old()
            return self._engine.pending.points(self.problem.dimension)

    @property
    def best(self) -> Best | None:
        """The best evaluation so far; None where all failed."""
        table = self.evaluations
        if not table.ok.any():
            return None
        row = int(np.nanargmax(table.log_joint))
        return Best(table.theta[row].copy(), float(table.log_joint[row]), float(table.sd[row]))

    @property
    def is_stable(self) -> bool:
        """Whether :func:`quell.infer` would stop: the solution is stable, and known well enough.

        As of the last iteration computed: what was told since the last `ask` or `result` is not
        in it yet.
        """
        with self._lock:
            return solution_is_final(self._engine.settled, self.settings)

    @property
    def history(self) -> list[dict[str, Any]]:
        """One row per iteration computed so far: evaluations, ELBO, reliability, components, ...

        An iteration is computed by `ask` or `result`, not by `tell`.
        """
        with self._lock:
            return [iteration.as_row() for iteration in self._engine.settled.history]

    def ask(self, n: int = 1) -> FloatArray:
        """The next points to evaluate; they are pending until told or forgotten.

        Each is chosen as if those pending had been evaluated, their values unknown.

        Parameters
        ----------
        n
            How many.

        Returns
        -------
        ndarray of shape (n, D)
            The points, in the problem's parameters. ``asked`` has their indices.
        """
        n = integer("n", n, least=1)
        with self._lock:
            self._forget_old()
            return np.stack([self._session.ask().theta for _ in range(n)])

    def tell(
        self,
        points: ArrayLike,
        values: ArrayLike,
        sds: ArrayLike | None = None,
        errors: Sequence[str] | None = None,
        *,
        seconds: ArrayLike | None = None,
    ) -> None:
        """What came back: in any order, all or some of the points asked for, and others.

        It is used when the next point is asked for. Points asked for are recognised up to a
        millionth of the plausible box.

        Parameters
        ----------
        points
            Points (n, D), or one point (D,).
        values
            Their log-likelihoods (n,). −inf is zero density; a failed evaluation is nan.
        sds
            SDs (n,) of the noise, or one for all; nan where unknown.
        errors
            One line (n of them) for each evaluation that failed, "" for the others.
        seconds
            How long each evaluation took, (n,) or one for all.
        """
        with self._lock:
            table = self._checked(points, values, sds, errors)
            times = np.broadcast_to(np.nan if seconds is None else seconds, len(table))
            found = self._matcher.find(table.theta, self._engine.pending)
            self._session.record(
                [
                    Answered(
                        Asked(
                            asked.index if asked else NOT_ASKED,
                            table.theta[i],
                            asked.origin if asked else Origin.USER,
                        ),
                        _outcome(table, i, sds is not None, float(times[i])),
                        TOLD_BY + this_process(),
                    )
                    for i, asked in enumerate(found)
                ]
            )

    def forget(self, points: ArrayLike | None = None) -> None:
        """Some points will not be told, or not soon: they are pending no more.

        Parameters
        ----------
        points
            Points (n, D), or one (D,), that are pending; None for all of them.
        """
        with self._lock:
            pending = self._engine.pending
            found: Sequence[Asked | None] = list(pending.asked.values())
            if points is not None:
                points = np.atleast_2d(as_floats("points", points))
                found = self._matcher.find(points, pending, forgotten_too=False)
                if None in found:
                    missing = points[found.index(None)]
                    raise ValueError(f"points has {missing.tolist()}, which is not pending")
            self._session.forget([asked.index for asked in found if asked is not None])

    def result(self) -> Result:
        """Posterior and evidence as they are known now; changes nothing, but takes its time.

        A journal keeps it for `quell.load`, until there is a newer one.

        Returns
        -------
        Result
            As from :func:`quell.infer`.

        Raises
        ------
        InferenceFailed
            There are too few evaluations for a posterior.
        """
        with self._lock:
            result = self._session.result()
            self._session.keep(result)
            return result

    def close(self) -> None:
        """Release the journal; without one nothing needs closing."""
        with self._lock:
            self._session.close()

    def __enter__(self) -> "Sampler":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        table, n = self.evaluations, len(self._engine.pending.asked)
        failed = f" ({table.n_failed} failed)" if table.n_failed else ""
        return f"Sampler: {len(table)} evaluations{failed}, {n} pending, seed {self.seed}"

    def _forget_old(self) -> None:
        if self._timeout is not None:
            self._session.forget_older_than(self._timeout)

    def _checked(
        self, points: ArrayLike, values: ArrayLike, sds: ArrayLike | None,
        errors: Sequence[str] | None,
    ) -> Evaluations:  # fmt: skip
        """What was told as a table; ``ValueError`` says what is wrong with it."""
        points = as_floats("points", points)
        if points.ndim == 1:
            points, values = points[None], np.reshape(as_floats("values", values), -1)
            errors = [errors] if isinstance(errors, str) else errors
        problem = self.problem
        table = Evaluations.from_arrays(
            points, values, sds, errors=errors, problem=problem, origin=Origin.USER
        )
        given = sds is not None or not table.ok.any()  # failed evaluations need none
        check_told_sds(table.sd, problem.noise, given=given)
        return table


def _outcome(table: Evaluations, row: int, reported: bool, seconds: float) -> Outcome:
    value, sd, error = float(table.value[row]), float(table.sd[row]), table.error[row]
    if not error:
        return Outcome(value, sd, seconds=seconds, reported=reported)
    kind: FailureKind = "zero density" if table.zero_density[row] else "exception"
    return Outcome.failure(error, kind=kind, value=value, seconds=seconds)
