"""A run under way: the engine, and the journal that is written before the engine is told."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import nan
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from quell.evaluations import Evaluations
from quell.evaluations.events import Answered, Asked, Event, Forgotten
from quell.journal import Journal
from quell.problem import Problem
from quell.results import Result
from quell.run.beginning import check_seed, head_start, start_points
from quell.run.engine import Engine
from quell.run.same_target import refuse_another_target
from quell.settings import Settings
from quell.workers.pool import Pool

#: Called with the evaluations replayed so far and those there are.
OnReplay = Callable[[int, int], Any]


@dataclass
class Session:
    """What `quell.Sampler` and `quell.infer` share.

    ``continued`` says from when the journal is, where there was one already.
    """

    engine: Engine
    journal: Journal | None = None
    continued: str = ""
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
                book.sign()
            session = cls(Engine(problem, settings, book.seed, book.starts, given), book, about)
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
        self.record([asked])
        return asked

    def record(self, events: Sequence[Event]) -> None:
        """What happened: it is on disk before the engine knows."""
        if self.journal is not None:
            self.journal.append(events)
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

    def refuse_another_target(self, pool: Pool) -> None:
        """`AnotherTarget` if the target does not give what the journal has; see `same_target`."""
        if not self.continued or self.journal is None:
            return
        history = self.engine.settled.history
        refuse_another_target(
            pool, self.engine.problem, self.journal.evaluated(),
            where=f"the journal {str(self.journal.path)!r}",
            noise_sd=history[-1].noise_sd if history else nan,
        )  # fmt: skip

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
