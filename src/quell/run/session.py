"""A run under way: the engine, and the journal that is written before the engine is told."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quell.evaluations import Evaluations
from quell.journal import Journal
from quell.problem import Problem
from quell.results import Result
from quell.run.beginning import check_seed, head_start, start_points
from quell.run.engine import Engine
from quell.run.told import Ask, Told
from quell.settings import Settings

#: Called with the evaluations replayed so far and those there are.
OnReplay = Callable[[int, int], Any]


@dataclass
class Session:
    """What `quell.Sampler` and `quell.infer` share.

    ``forgotten`` are asks that were given up, by index, in case they are answered after all;
    ``asked_at`` has the times of the pending ones.
    """

    engine: Engine
    journal: Journal | None = None
    forgotten: dict[int, Ask] = field(default_factory=dict)
    asked_at: dict[int, float] = field(default_factory=dict)
    opened: float = field(default_factory=time.perf_counter)

    @classmethod
    def begin(
        cls,
        problem: Problem,
        *,
        seed: int | None = None,
        settings: Settings | None = None,
        journal: str | PathLike[str] | None = None,
        start: ArrayLike | Result | None = None,
        evaluations: Evaluations | Sequence[ArrayLike] | None = None,
        on_replay: OnReplay | None = None,
    ) -> "Session":
        """Check the arguments of :class:`quell.Sampler`; a journal that exists is replayed."""
        if not isinstance(problem, Problem):
            raise TypeError(f"problem must be a quell.Problem, got {type(problem).__name__}")
        settings = Settings() if settings is None else settings
        if not isinstance(settings, Settings):
            raise TypeError(f"settings must be a quell.Settings, got {type(settings).__name__}")
        seed = seed if seed is None else check_seed(seed)
        given = head_start(problem, evaluations)
        if journal is None:
            seed = check_seed(seed)
            return cls(Engine(problem, settings, seed, start_points(problem, start, seed), given))
        if not isinstance(journal, str | PathLike):
            raise TypeError(f"journal must be a path, got {type(journal).__name__}")
        book = Journal(journal)
        try:
            if book.is_new:
                seed = check_seed(seed)
                book.begin(problem, settings, seed, start_points(problem, start, seed), given)
            else:
                book.check(problem, settings, seed)
                starts = None if start is None else start_points(problem, start, book.seed)
                book.check_beginning(starts, None if evaluations is None else given)
                given = _recorded_head_start(problem, book)
            engine = Engine(problem, settings, book.seed, book.starts, given)
            session = cls(engine, book)
            session._replay(on_replay)
        except BaseException:
            book.close()
            raise
        return session

    @property
    def wall_seconds(self) -> float:
        """Seconds since the session began."""
        return time.perf_counter() - self.opened

    def ask(self) -> Ask:
        """The next point, now pending."""
        ask = self.engine.next()
        if self.journal is not None:
            self.journal.ask(ask)
        self._take(ask, time.time())
        return ask

    def tell(self, rows: Sequence[Told], who: str | None = None) -> None:
        """Answers that came together; ``who`` evaluated them."""
        if self.journal is not None:
            self.journal.tell(rows, who)
        self._learn(rows)

    def forget(self, indices: Iterable[int]) -> None:
        """These asks are pending no more."""
        indices = [index for index in indices if index in self.engine.pending]
        if not indices:
            return
        if self.journal is not None:
            self.journal.forget(indices)
        self._drop(indices)

    def forget_older_than(self, seconds: float) -> None:
        """Forget what has been pending for longer."""
        latest = time.time() - seconds
        self.forget([index for index, asked in self.asked_at.items() if asked < latest])

    def result(self, reasons: Sequence[str] = (), *, as_it_is: bool = False) -> Result:
        """What is known now; see :meth:`Engine.result`."""
        result = self.engine.result(reasons, as_it_is=as_it_is)
        return replace(result, wall_seconds=self.wall_seconds)

    def close(self) -> None:
        """Let go of the journal."""
        if self.journal is not None:
            self.journal.close()

    def _take(self, ask: Ask, at: float) -> None:
        self.engine.take(ask)
        self.asked_at[ask.index] = at

    def _learn(self, rows: Sequence[Told]) -> None:
        self.engine.learn(rows)
        for row in rows:
            self.asked_at.pop(row.index, None)
            self.forgotten.pop(row.index, None)

    def _drop(self, indices: Iterable[int]) -> None:
        for index in indices:
            self.forgotten[index] = self.engine.pending[index]
            self.asked_at.pop(index, None)
        self.engine.drop(indices)

    def _replay(self, on_replay: OnReplay | None) -> None:
        """Do again what is recorded; points are not searched for a second time."""
        assert self.journal is not None
        calls = list(self.journal.calls())
        total = sum(len(rows) for rows in calls if rows[0].kind == "tell")
        done = 0
        for rows in calls:
            if rows[0].kind == "ask":
                for row in rows:
                    self._take(row.ask(), row.at)
            elif rows[0].kind == "forget":
                self._drop([row.index for row in rows if row.index in self.engine.pending])
            else:
                self._learn([row.told() for row in rows])
                done += len(rows)
                if on_replay is not None:
                    on_replay(done, total)


def _recorded_head_start(problem: Problem, book: Journal) -> Evaluations:
    """The head start as it was when the run began."""
    told = [event.told() for event in book.given()]
    if not told:
        return Evaluations.empty(problem.names)
    table = Evaluations.from_arrays(
        [row.theta for row in told],
        [row.outcome.value for row in told],
        [row.outcome.sd for row in told],
        errors=[row.outcome.error or "" for row in told],
        problem=problem,
    )
    return replace(table, seconds=np.array([row.outcome.seconds for row in told]))
