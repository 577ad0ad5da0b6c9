"""A run under way: the engine, and the journal that is written before the engine is told."""

import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import nan
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from quell.errors import FileError, JournalError
from quell.evaluations import Evaluations
from quell.evaluations.events import Answered, Asked, Event, Forgotten
from quell.journal import Journal
from quell.journal.snapshots import About
from quell.problem import Problem
from quell.results import Result
from quell.results.writing import result_bytes
from quell.run.beginning import check_seed, head_start, start_points
from quell.run.engine import Engine
from quell.run.fold import Fold
from quell.run.same_target import refuse_another_target
from quell.run.so_far import about, restored, snapshot_of
from quell.settings import Settings
from quell.version import __version__
from quell.workers.pool import Pool

#: Called with the evaluations replayed so far and those there are.
OnReplay = Callable[[int, int], Any]


@dataclass
class Session:
    """What `quell.Sampler` and `quell.infer` share.

    ``continued`` says from when the journal is, where there was one already; ``finished`` is its
    result, if nothing is left to do: then the engine has not been told of its events.
    """

    engine: Fold[Any]
    journal: Journal | None = None
    continued: str = ""
    finished: Result | None = None
    n_iterations: int = 0
    opened: float = field(default_factory=time.perf_counter)

    @classmethod
    def begin(
        cls,
        problem: Problem,
        *,
        seed: int | None = None,
        settings: Any = None,
        engine: Callable[..., Fold[Any]] | None = None,
        journal: str | PathLike[str] | None = None,
        start: ArrayLike | Result | None = None,
        evaluations: Evaluations | Sequence[ArrayLike] | None = None,
        on_replay: OnReplay | None = None,
        would_end: Callable[[About], bool] | None = None,
    ) -> "Session":
        """Check the arguments of :class:`quell.Sampler`; a journal that exists is replayed.

        Not where it has the result of a run that, by ``would_end``, would end at once. Another
        algorithm than Quell's own has an ``engine`` that is made as `Engine` is, with ``settings``
        of its own.
        """
        if not isinstance(problem, Problem):
            raise TypeError(f"problem must be a quell.Problem, got {type(problem).__name__}")
        if engine is None:
            engine = Engine
            settings = Settings() if settings is None else settings
            if not isinstance(settings, Settings):
                raise TypeError(f"settings must be a quell.Settings, got {type(settings).__name__}")
        seed = seed if seed is None else check_seed(seed)
        given = head_start(problem, evaluations)
        if journal is None:
            seed = check_seed(seed)
            return cls(engine(problem, settings, seed, start_points(problem, start, seed), given))
        if not isinstance(journal, str | PathLike):
            raise TypeError(f"journal must be a path, got {type(journal).__name__}")
        book = Journal(journal)
        about = ""
        try:
            if book.is_new:
                seed = check_seed(seed)
                book.begin(problem, settings, seed, start_points(problem, start, seed), given)
            else:
                book.check(problem, settings, seed)
                starts = None if start is None else start_points(problem, start, book.seed)
                book.check_beginning(starts, None if evaluations is None else given)
                given = book.head_start().as_given(problem)
                about = book.about()
                finished = _finished(book, problem, would_end)
                if finished is not None:
                    result, made_with = finished
                    if made_with != __version__:  # this version might give another one
                        about += f", and the result made with quell {made_with}"
                    made = engine(problem, settings, book.seed, book.starts, given)
                    return cls(made, book, about, result)
                book.sign()
            session = cls(engine(problem, settings, book.seed, book.starts, given), book, about)
            session._replay(on_replay)
        except BaseException:
            book.close()
            raise
        return session

    @property
    def wall_seconds(self) -> float:
        """Seconds since the session began."""
        return time.perf_counter() - self.opened

    def ask(self) -> Asked:
        """The next point, now pending."""
        asked = self.engine.next()
        self._keep_iteration()
        self.record([asked])
        return asked

    def record(self, events: Sequence[Event]) -> None:
        """What happened: it is on disk before the engine knows.

        Ctrl-C in between is no reason for them to differ.
        """
        if self.journal is None:
            self.engine.apply(events)
            return
        before = self.journal.n_rows
        try:
            self.journal.append(events)
        finally:
            if self.journal.n_rows > before:
                self.engine.apply(events)

    def forget(self, indices: Sequence[int]) -> None:
        """These evaluations are not waited for any more."""
        known = [Forgotten(index) for index in indices if index in self.engine.pending.asked]
        if known:
            self.record(known)

    def forget_older_than(self, seconds: float) -> None:
        """Forget what has been pending for longer."""
        self.forget(self.engine.pending.asked_before(time.time() - seconds))

    def result(self, reasons: Sequence[str] = (), *, settled_only: bool = False) -> Result:
        """What is known now; see :meth:`Engine.result`."""
        result = self.engine.result(reasons, settled_only=settled_only)
        return replace(result, wall_seconds=self.wall_seconds, journal=self.continued)

    def keep(self, result: Result, *, ended: str = "", budget: int = 0) -> None:
        """Keep a result in the journal; with ``ended``, as that of a run with nothing left to do.

        It is no reason to lose the result if that fails: the journal has what it follows from.
        """
        if self.journal is None or not isinstance(self.engine, Engine):
            return  # only results of Quell's own algorithm have a file format
        try:
            data = result_bytes(result)
            self.journal.keep(
                data, about(result, self.engine, ended=ended, budget=budget), at_once=True
            )
        except (JournalError, ValueError) as error:
            text = (
                f"the result is not kept in the journal ({error}); the same call again makes it "
                "again from what was evaluated"
            )
            with suppress(UserWarning):  # where warnings are errors
                warnings.warn(text, UserWarning, stacklevel=4)

    @property
    def evaluations(self) -> Evaluations:
        """All evaluations there are."""
        return self.engine.table if self.finished is None else self.finished.evaluations

    def refuse_another_target(self, pool: Pool) -> None:
        """`AnotherTarget` if the target does not give what the journal has; see `same_target`."""
        if not self.continued or self.journal is None:
            return
        problem, rows = self.engine.problem, [it.noise_sd for it in self.engine.settled.history]
        if self.finished is not None:
            problem = problem.with_noise(self.finished.problem["noise"])
            rows = [row["noise_sd"] for row in self.finished.history]
        refuse_another_target(
            pool, problem, self.journal.evaluated(),
            where=f"the journal {str(self.journal.path)!r}",
            noise_sd=rows[-1] if rows else nan,
        )  # fmt: skip

    def _keep_iteration(self) -> None:
        """Keep the result so far in the journal, where an iteration has ended."""
        n = len(self.engine.settled.history)
        if self.journal is None or n <= self.n_iterations or not isinstance(self.engine, Engine):
            return
        self.n_iterations = n
        # A convenience for those who look on: whatever is wrong with it, the run goes on.
        with suppress(ArithmeticError, LookupError, TypeError, ValueError):
            self.journal.keep(*snapshot_of(self.engine))

    def close(self) -> None:
        """Release the journal."""
        if self.journal is not None:
            self.journal.close()

    def _replay(self, on_replay: OnReplay | None) -> None:
        """Fold the engine over what is recorded; points are not searched for a second time."""
        assert self.journal is not None
        calls = list(self.journal.events())
        counts = [sum(isinstance(e, Answered) and e.final for e in events) for events in calls]
        done, total = 0, sum(counts)
        for events, count in zip(calls, counts, strict=True):
            self.engine.apply(events)
            done += count
            if count and on_replay is not None:
                on_replay(done, total)


def _finished(
    book: Journal, problem: Problem, would_end: Callable[[About], bool] | None
) -> tuple[Result, str] | None:
    """The result in a journal of a run that would end at once, and the version it was made with.

    None if the run has to be replayed.
    """
    snapshot = None if would_end is None else book.finished()
    if snapshot is None or would_end is None or not would_end(snapshot.about):
        return None
    if book.pending:
        return None
    try:
        return restored(snapshot, str(book.path), problem), snapshot.about.version
    except FileError:  # of a later format, or damaged: it is made again
        return None
