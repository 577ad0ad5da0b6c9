"""What a journal records: one event per point given, asked for, told, forgotten or tried."""

import json
import time
import zlib
from dataclasses import dataclass, field, fields
from math import isnan, nan
from typing import Any, Literal, cast

import numpy as np

from quell.arrays import FloatArray
from quell.problem.outcome import FailureKind, Outcome
from quell.run.told import Ask, Told

#: "given": of a head start. "ask", "tell", "forget": as in `quell.Sampler`. "attempt": an
#: evaluation that failed and is tried again, recorded for the user and not replayed.
Kind = Literal["given", "ask", "tell", "forget", "attempt"]


@dataclass(frozen=True)
class Event:
    """One row of the journal.

    ``call`` is the same for all rows of one call; ``index`` that of the evaluation, −1 for a
    point of the user's own; ``theta`` the point; ``at`` the time in seconds since 1970 and
    ``who`` the host and process that asked or evaluated.
    """

    kind: Kind
    call: int
    index: int
    theta: tuple[float, ...] = ()
    origin: str = ""
    value: float = nan
    sd: float = nan
    reported: bool = False
    error: str = ""
    failure: str = ""
    seconds: float = nan
    note: str = ""
    traceback: str = ""
    who: str = ""
    at: float = field(default_factory=time.time)

    @classmethod
    def of_ask(cls, call: int, ask: Ask, who: str) -> "Event":
        """The event of a point asked for."""
        return cls("ask", call, ask.index, _floats(ask.theta), ask.origin, who=who)

    @classmethod
    def of_told(cls, call: int, told: Told, who: str, kind: Kind = "tell") -> "Event":
        """The event of an answer."""
        outcome = told.outcome
        return cls(
            kind, call, told.index, _floats(told.theta), told.origin, outcome.value, outcome.sd,
            outcome.reported, outcome.error or "", outcome.kind or "", outcome.seconds,
            outcome.note, outcome.traceback, who,
        )  # fmt: skip

    def ask(self) -> Ask:
        """The ask behind the event."""
        return Ask(self.index, np.array(self.theta), self.origin)

    def told(self) -> Told:
        """The answer behind the event."""
        outcome = Outcome(
            self.value, self.sd, self.error or None, self.seconds, self.traceback, self.note,
            cast(FailureKind, self.failure) if self.failure else None, self.reported,
        )  # fmt: skip
        return Told(self.index, np.array(self.theta), self.origin, outcome)

    def row(self) -> tuple[Any, ...]:
        """The event as SQL values, with a checksum of them at the end; nan is NULL."""
        values = tuple(_to_sql(getattr(self, name)) for name in COLUMNS)
        return (*values, checksum(values))

    @classmethod
    def of_row(cls, row: tuple[Any, ...]) -> "Event | None":
        """The event of SQL values with their checksum; None if they have been damaged."""
        *values, found = row
        if found != checksum(tuple(values)):
            return None
        entries = dict(zip(COLUMNS, values, strict=True))
        entries["theta"] = tuple(json.loads(entries["theta"]))
        entries["reported"] = bool(entries["reported"])
        for name in ("value", "sd", "seconds"):
            entries[name] = nan if entries[name] is None else entries[name]
        return cls(**entries)


COLUMNS = tuple(column.name for column in fields(Event))


def checksum(values: tuple[Any, ...]) -> int:
    """CRC-32 of SQL values: SQLite itself does not notice a changed number."""
    return zlib.crc32(repr(values).encode())


def _floats(theta: FloatArray) -> tuple[float, ...]:
    return tuple(map(float, theta))


def _to_sql(value: Any) -> Any:
    if isinstance(value, tuple):
        return json.dumps(value)  # the shortest text that gives the same binary64 again
    if isinstance(value, float):
        return None if isnan(value) else float(value)
    return int(value) if isinstance(value, bool | np.integer) else value
