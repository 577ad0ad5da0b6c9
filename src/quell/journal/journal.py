"""The durable record of a run: what was asked and told, on disk before it is used."""

import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from quell.arrays import FloatArray
from quell.errors import JournalError
from quell.evaluations import GIVEN, Evaluations
from quell.journal.events import Event
from quell.journal.identity import describe, differences
from quell.journal.lock import Lock, this_process
from quell.journal.recovery import rescue
from quell.journal.store import Damaged, Store
from quell.problem import Problem
from quell.problem.outcome import Outcome
from quell.run.told import Ask, Told
from quell.settings import Settings


class Journal:
    """An open journal, locked against other processes.

    ``seed`` and ``starts`` (n, D) are None before :meth:`begin`; ``events`` are those found when
    it was opened.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(fspath(path))
        if self.path.is_dir() or not self.path.absolute().parent.is_dir():
            what = "is a folder" if self.path.is_dir() else "is in a folder that does not exist"
            raise JournalError(f"journal must be the path of a file; {str(self.path)!r} {what}")
        self._lock = Lock(self.path)
        self._store: Store | None = None
        self.meta: dict[str, Any] = {}
        self.events: list[Event] = []
        try:
            self._store = self._open()
        except BaseException:
            self.close()
            raise
        self._call = max((event.call for event in self.events), default=0)

    @property
    def is_new(self) -> bool:
        """Whether the run has not begun yet."""
        return not self.meta

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return int(self.meta["seed"])

    @property
    def starts(self) -> FloatArray:
        """The points (n, D) the run begins with."""
        width = len(self.meta["problem"]["names"])
        return np.array(self.meta["starts"], dtype=np.float64).reshape(-1, width)

    def given(self) -> list[Event]:
        """The head start."""
        return [event for event in self.events if event.kind == "given"]

    def begin(
        self, problem: Problem, settings: Settings, seed: int, starts: FloatArray,
        given: Evaluations,
    ) -> None:  # fmt: skip
        """Set up a new journal."""
        meta = {
            **describe(problem, settings),
            "seed": seed,
            "starts": starts.tolist(),
            "created": {"by": this_process(), "at": time.time()},
        }
        self._file.create(meta, _given_events(given))
        self.meta, self.events = self._file.read()

    def check(self, problem: Problem, settings: Settings, seed: int | None) -> None:
        """`JournalError`, with the differences, unless the journal is of this very run."""
        current = describe(problem, settings)
        lines = [
            line
            for part in ("problem", "settings")
            for line in differences(self.meta[part], current[part], part)
        ]
        if seed is not None and seed != self.seed:
            lines.append(f"seed: {self.seed} in the journal, {seed} now")
        self._refuse(lines)

    def check_beginning(self, starts: FloatArray | None, given: Evaluations | None) -> None:
        """The same for what the run began with, where the caller passes it again."""
        lines = []
        if starts is not None and not np.array_equal(starts, self.starts):
            lines.append(f"start: {len(self.starts)} points in the journal, {len(starts)} others")
        if given is not None:
            now = [event.told() for event in _given_events(given)]
            then = [event.told() for event in self.given()]
            same = len(now) == len(then) and all(map(_same, now, then))
            if not same:
                lines.append(f"evaluations: {len(then)} in the journal, {len(now)} others now")
        self._refuse(lines)

    def calls(self) -> Iterator[list[Event]]:
        """The recorded events of asks, tells and forgets, those of one call together."""
        moves = [event for event in self.events if event.kind in ("ask", "tell", "forget")]
        for _, rows in groupby(moves, key=lambda event: event.call):
            yield list(rows)

    def ask(self, ask: Ask) -> None:
        """Record a point asked for."""
        self._append([Event.of_ask(self._next_call(), ask, this_process())])

    def tell(self, rows: Sequence[Told], who: str | None = None) -> None:
        """Record answers; ``who`` evaluated them."""
        call, who = self._next_call(), who or this_process()
        self._append([Event.of_told(call, row, who) for row in rows])

    def attempt(self, row: Told, who: str | None = None) -> None:
        """Record an evaluation that failed and will be tried again."""
        event = Event.of_told(self._next_call(), row, who or this_process(), "attempt")
        self._append([event])

    def forget(self, indices: Iterable[int]) -> None:
        """Record that these asks are pending no more."""
        call, who = self._next_call(), this_process()
        self._append([Event("forget", call, index, who=who) for index in indices])

    def close(self) -> None:
        """Close the file and let others have it."""
        if self._store is not None:
            self._store.close()
            self._store = None
        self._lock.release()

    @property
    def _file(self) -> Store:
        if self._store is None:
            raise JournalError(f"the journal {str(self.path)!r} is closed")
        return self._store

    def _open(self) -> Store:
        store = Store(self.path)
        try:
            if store.is_new():
                return store
            self.meta, self.events = store.read()
        except Damaged as damage:
            store.close()
            warnings.warn(rescue(self.path, str(damage)), UserWarning, stacklevel=6)
            store = Store(self.path)
            self.meta, self.events = store.read()
        except BaseException:
            store.close()
            raise
        return store

    def _append(self, events: Sequence[Event]) -> None:
        self._file.append(events)

    def _next_call(self) -> int:
        self._call += 1
        return self._call

    def _refuse(self, lines: Sequence[str]) -> None:
        if lines:
            text = "\n".join(f"  {line}" for line in lines)
            raise JournalError(
                f"the journal {str(self.path)!r} belongs to another run:\n{text}\n"
                "Go back to what it was, or choose another path for a new run; "
                "evaluations=quell.read_journal(path).evaluations gives that a head start"
            )


def _given_events(given: Evaluations) -> list[Event]:
    return [
        Event(
            "given", 0, -1, tuple(given.theta[i].tolist()), GIVEN, float(given.value[i]),
            float(given.sd[i]), error=given.error[i], seconds=float(given.seconds[i]),
        )
        for i in range(len(given))
    ]  # fmt: skip


def _same(a: Told, b: Told) -> bool:
    def key(told: Told) -> tuple[Any, ...]:
        outcome: Outcome = told.outcome
        return (told.theta.tobytes(), repr(outcome.value), repr(outcome.sd), outcome.error)

    return key(a) == key(b)
