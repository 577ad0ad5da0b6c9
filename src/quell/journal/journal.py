"""The durable record of a run: what was asked and answered, on disk before it is used."""

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from quell.arrays import FloatArray
from quell.errors import JournalError
from quell.evaluations import Evaluations
from quell.evaluations.answers import as_recorded, head_start_answers
from quell.evaluations.events import Answered, Event, this_process
from quell.journal.identity import Describable, changes, describe
from quell.journal.lock import Lock
from quell.journal.places import journal_path
from quell.journal.plan import Plan
from quell.journal.recovery import is_empty, keep_ignored_log, rescue
from quell.journal.rows import Row, evaluated
from quell.journal.snapshots import ABOUT, BYTES, About, Snapshot
from quell.journal.store import Damaged, Store
from quell.journal.write_ahead import is_write_ahead, log_of
from quell.problem import Problem
from quell.version import __version__


class Journal:
    """An open journal, locked against other processes.

    ``seed`` and ``starts`` (n, D) are there after :meth:`begin`.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = journal_path(path)
        self._lock = Lock(self.path)
        self._store: Store | None = None
        self.meta: dict[str, Any] = {}
        self._waiting: Snapshot | None = None
        self._plan: Plan | None = None
        self._rows: list[Row] = []
        try:
            self._store = self._open()
        except BaseException:
            self.close()
            raise
        self._call = max((row.call for row in self._rows), default=0)

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

    @property
    def n_rows(self) -> int:
        """Rows that are on disk."""
        return self._file.last

    def head_start(self) -> Evaluations:
        """The evaluations that the run was given at its beginning, as they are recorded."""
        events = [row.event() for row in self._rows if row.kind == "given"]
        answers = [event for event in events if isinstance(event, Answered)]
        return as_recorded(answers, self.meta["problem"]["names"])

    def begin(
        self, problem: Problem, settings: Describable, seed: int, starts: FloatArray,
        given: Evaluations,
    ) -> None:  # fmt: skip
        """Set up a new journal."""
        meta = {
            **describe(problem, settings),
            "seed": seed,
            "starts": starts.tolist(),
            "created": _stamp(),
        }
        self._file.create(meta, [Row.of(answer, 0) for answer in head_start_answers(given)])
        self.meta, self._rows = self._file.read()

    def sign(self) -> None:
        """Note that another version of Quell than the last one goes on with the run."""
        stamps = [self.meta.get("created", {}), *self.meta.get("continued", [])]
        if stamps[-1].get("version") != __version__:
            self.meta["continued"] = [*stamps[1:], _stamp()]
            self._file.replace_meta(self.meta)

    def check(self, problem: Problem, settings: Describable, seed: int | None) -> None:
        """`JournalError`, with the differences, unless the journal is of this very run."""
        lines = changes(self.meta, problem, settings)
        if seed is not None and seed != self.seed:
            lines.append(f"seed: {self.seed} in the journal, {seed} now")
        self._refuse(lines)

    def check_beginning(self, starts: FloatArray | None, given: Evaluations | None) -> None:
        """The same for what the run began with, where the caller passes it again."""
        lines = []
        if starts is not None and not np.array_equal(starts, self.starts):
            lines.append(f"start: {len(self.starts)} points in the journal, {len(starts)} others")
        if given is not None:
            recorded = self.head_start()
            if not _same(recorded, given):
                counts = f"{len(recorded)} in the journal, {len(given)} others now"
                lines.append(f"evaluations: {counts}")
        self._refuse(lines)

    def events(self) -> Iterator[list[Event]]:
        """What happened since the run began, in order; what was recorded together, together."""
        rows = [row for row in self._rows if row.kind != "given"]
        for _, together in groupby(rows, key=lambda row: row.call):
            yield [row.event() for row in together]

    def evaluated(self) -> list[Answered]:
        """The answers there were when it was opened that can be made again; see `rows`."""
        return evaluated(self._rows)

    @property
    def pending(self) -> bool:
        """Whether points were under evaluation when it was opened."""
        done = {row.index for row in self._rows if row.kind in ("tell", "forget")}
        return any(row.kind == "ask" and row.index not in done for row in self._rows)

    def about(self) -> str:
        """From when the journal is, and what it had when it was opened; "" for a new one."""
        if not self._rows:
            return ""
        n = sum(row.kind == "tell" for row in self._rows)
        begun = self.meta.get("created", {}).get("at", self._rows[0].at)
        times = [
            f"{datetime.fromtimestamp(at):%Y-%m-%d %H:%M}" for at in (begun, self._rows[-1].at)
        ]
        return (
            f"continues the journal {self.path.name!r} of {times[0]}, with {n} evaluations until "
            f"{times[1]}"
        )

    def append(self, events: Sequence[Event]) -> None:
        """Record events that belong together, all or none; they are on disk when this returns."""
        self._call += 1
        waiting = {} if self._waiting is None else self._waiting.entries()
        if self._plan is not None:
            waiting |= self._plan.entry()
        self._file.append([Row.of(event, self._call) for event in events], waiting)
        self._waiting = self._plan = None

    def plan(self, budget: int | None) -> None:
        """Note the budget for those who look on, None for the default; with the next events."""
        self._plan = Plan(budget or 0)

    def keep(self, data: bytes, about: About, *, at_once: bool = False) -> None:
        """Keep the result so far, in place of the one before; see `snapshots`.

        It is written with the next events, so that it costs no sync of its own, or ``at_once``.
        """
        self._waiting = Snapshot(data, replace(about, events=self._file.digest))
        if at_once:
            self._file.append([], self._waiting.entries())
            self._waiting = None

    def finished(self) -> Snapshot | None:
        """The result of a run that has ended, unless there are events since; None otherwise."""
        snapshot = Snapshot.of_entries(self._file.entry(BYTES), self._file.entry(ABOUT))
        if snapshot is None or not snapshot.about.ended:
            return None
        return snapshot if snapshot.about.events == self._file.digest else None

    def close(self) -> None:
        """Close the file and release the lock."""
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
        if warning := keep_ignored_log(self.path):
            warnings.warn(warning, UserWarning, stacklevel=7)
        if is_write_ahead(self.path) and is_empty(self.path):  # before its header is changed
            raise JournalError(_without_log(self.path))
        store = Store(self.path)
        try:
            if store.is_new():
                return store
            self.meta, self._rows = store.read()
        except Damaged as damage:
            store.close()
            warnings.warn(rescue(self.path, str(damage)), UserWarning, stacklevel=7)
            store = Store(self.path)
            self.meta, self._rows = store.read()
        except BaseException:
            store.close()
            raise
        return store

    def _refuse(self, lines: Sequence[str]) -> None:
        if lines:
            text = "\n".join(f"  {line}" for line in lines)
            raise JournalError(
                f"the journal {str(self.path)!r} belongs to another run:\n{text}\n"
                "Go back to what it was, or choose another path for a new run; "
                "evaluations=quell.read_journal(path).evaluations gives that a head start"
            )


def _stamp() -> dict[str, Any]:
    """When, by whom, and with which version of Quell."""
    return {"by": this_process(), "at": time.time(), "version": __version__}


def _without_log(path: Path) -> str:
    return (
        f"the journal {str(path)!r} is empty, but says that its rows are in a second file, "
        f"{str(log_of(path))!r}, which is missing or damaged. Put that back beside it, and the run "
        "goes on; if it is gone, remove the journal, and the run begins anew"
    )


def _same(recorded: Evaluations, given: Evaluations) -> bool:
    """Whether two head starts are equal in all that a run reads of them."""
    pairs = ((getattr(recorded, name), getattr(given, name)) for name in ("theta", "value", "sd"))
    return recorded.error == given.error and all(
        np.array_equal(a, b, equal_nan=True) for a, b in pairs
    )
