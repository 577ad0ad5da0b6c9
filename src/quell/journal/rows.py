"""How events are written to the file: one row of SQL values each, with a checksum."""

import json
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from math import inf, isfinite, isnan, nan
from typing import Any, Literal, cast, get_args

import numpy as np

from quell.arrays import FloatArray
from quell.evaluations import Origin
from quell.evaluations.events import (
    NOT_ASKED,
    TOLD_BY,
    Answered,
    Asked,
    Event,
    Forgotten,
    this_process,
)
from quell.journal.meta import LATEST
from quell.problem.outcome import FailureKind, Outcome
from quell.streams import RESERVED

#: "given": an answer of a head start. "tell": any other. "attempt": one that is not final.
Kind = Literal["given", "ask", "tell", "forget", "attempt"]


@dataclass(frozen=True)
class Row:
    """One row of the journal.

    ``call`` is the same for all rows that were recorded together; ``index`` that of the
    evaluation, −1 for a point of the user's own; ``theta`` the point; ``at`` the time in seconds
    since 1970 and ``who`` the host and process that asked or evaluated.
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
    def of(cls, event: Event, call: int) -> "Row":
        """The row of an event."""
        match event:
            case Asked():
                return cls(
                    "ask", call, event.index, _floats(event.theta), str(event.origin),
                    who=this_process(), at=event.at,
                )  # fmt: skip
            case Forgotten():
                return cls("forget", call, event.index, who=this_process())
            case Answered():
                asked, outcome = event.asked, event.outcome
                return cls(
                    _kind(event), call, asked.index, _floats(asked.theta), str(asked.origin),
                    outcome.value, outcome.sd, outcome.reported, outcome.error or "",
                    outcome.kind or "", outcome.seconds, outcome.note, outcome.traceback,
                    event.who or this_process(),
                )  # fmt: skip

    def event(self) -> Event:
        """The event behind the row."""
        if self.kind == "forget":
            return Forgotten(self.index)
        asked = Asked(self.index, np.array(self.theta), Origin(self.origin), self.at)
        if self.kind == "ask":
            return asked
        outcome = Outcome(
            self.value, self.sd, self.error or None, self.seconds, self.traceback, self.note,
            cast(FailureKind, self.failure) if self.failure else None, self.reported,
        )  # fmt: skip
        return Answered(asked, outcome, self.who, final=self.kind != "attempt")

    def values(self) -> tuple[Any, ...]:
        """The row as SQL values, with a checksum of them at the end; nan is NULL."""
        values = tuple(_to_sql(getattr(self, name)) for name in COLUMNS)
        return (*values, checksum(values))

    @classmethod
    def of_values(cls, values: tuple[Any, ...], width: int | None = None) -> "Row | None":
        """The row of SQL values with their checksum; None if they have been damaged.

        ``width`` is the number of parameters, None where it is not known.
        """
        *entries, _ = values
        if not _is_intact(values):
            return None
        columns = dict(zip(COLUMNS, entries, strict=True))
        try:
            columns["theta"] = tuple(json.loads(columns["theta"]))
        except (TypeError, ValueError, RecursionError):
            return None
        for name in ("value", "sd", "seconds"):
            columns[name] = nan if columns[name] is None else columns[name]
        if not _is_sound(columns, width):
            return None
        columns["reported"] = bool(columns["reported"])
        return cls(**columns)


def evaluated(rows: Iterable[Row]) -> list[Answered]:
    """The answers with a value that a run made itself, each with its ``attempt``, in order.

    So the very evaluations can be made again. What a user told is not among them: nobody knows
    which random numbers, if any, it was made with.
    """
    attempts: Counter[int] = Counter()
    answers = []
    for row in rows:
        attempts[row.index] += row.kind == "attempt"
        own = not row.who.startswith(TOLD_BY) and not isnan(row.seconds)
        if row.kind == "tell" and own and row.index >= 0 and not row.error:
            event = row.event()
            assert isinstance(event, Answered)
            answers.append(replace(event, attempt=attempts[row.index]))
    return answers


COLUMNS = tuple(column.name for column in fields(Row))


def _is_sound(columns: dict[str, Any], width: int | None) -> bool:
    """Whether the columns have the types and ranges that `Row.event` relies on."""
    texts = ("kind", "origin", "error", "failure", "note", "traceback", "who")
    whole = ("call", "index", "reported")
    real = ("value", "sd", "seconds", "at")
    if not (
        all(type(columns[name]) is str for name in texts)
        and all(type(columns[name]) is int for name in whole)
        and all(type(columns[name]) is float for name in real)
        and NOT_ASKED <= columns["index"] < RESERVED
        and abs(columns["at"]) < LATEST
        and columns["kind"] in get_args(Kind)
        and columns["failure"] in ("", *get_args(FailureKind))
    ):
        return False
    if columns["kind"] == "forget":
        return True
    theta, sd = columns["theta"], columns["sd"]
    if (
        columns["origin"] not in tuple(Origin)
        or not all(type(x) is float and isfinite(x) for x in theta)
        or len(theta) != (len(theta) or 1 if width is None else width)
    ):
        return False
    has_value = columns["kind"] in ("given", "tell") and not columns["error"]
    return not has_value or (isfinite(columns["value"]) and (isnan(sd) or 0.0 <= sd < inf))


def what_is_wrong(number: int, *values: Any) -> str:
    """What to say of a row that cannot be used."""
    if not _is_intact(values):
        return f"the checksum of row {number} is wrong"
    return f"row {number} has the checksum of a row, but not the form"


def checksum(values: tuple[Any, ...]) -> int:
    """CRC-32 of SQL values: SQLite itself does not notice a changed number."""
    return zlib.crc32(repr(values).encode())


def _is_intact(values: Sequence[Any]) -> bool:
    """Whether SQL values have the checksum that comes last.

    SQLite has no negative zero, of which earlier versions did not know.
    """
    *entries, found = values
    if found == checksum(tuple(entries)):
        return True
    place = COLUMNS.index("value")
    entries[place] = -0.0 if entries[place] == 0.0 else entries[place]
    return bool(found == checksum(tuple(entries)))


def _kind(answer: Answered) -> Kind:
    if answer.asked.origin == Origin.GIVEN:
        return "given"
    return "tell" if answer.final else "attempt"


def _floats(theta: FloatArray) -> tuple[float, ...]:
    return tuple(map(float, theta))


def _to_sql(value: Any) -> Any:
    if isinstance(value, tuple):
        return json.dumps(value)  # the shortest text that gives the same binary64 again
    if isinstance(value, float):
        return None if isnan(value) else float(value) + 0.0  # SQLite has no negative zero
    if isinstance(value, str):  # half of a character, as in the name of a file, is none to SQLite
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return int(value) if isinstance(value, bool | np.integer) else value
