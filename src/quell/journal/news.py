"""Looking into a journal again and again: what is new since the last time. Nothing is written.

A reader keeps a writer waiting while it reads, so it takes what is new in one short transaction:
the new rows, and the snapshot only if it is another one.
"""

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quell.errors import JournalError
from quell.journal.meta import unseal
from quell.journal.plan import PLAN, Plan
from quell.journal.recovery import has_lost_its_end, readable, salvage
from quell.journal.rows import Row
from quell.journal.snapshots import ABOUT, About, Snapshot, about_of, entry, read_snapshot
from quell.journal.store import ENTRIES, KEYS, SELECT_AFTER, UNREADABLE, refuse_other_tables
from quell.journal.write_ahead import is_write_ahead


@dataclass(frozen=True)
class News:
    """What a journal has: its ``meta``, and the ``rows`` by id that are new.

    ``n_lost`` rows cannot be read; ``is_whole`` is False where all rows were read anew, one by
    one, because the file is damaged. ``about`` is what the last snapshot is of.
    """

    meta: dict[str, Any]
    rows: dict[int, Row]
    about: About | None
    plan: Plan | None
    n_lost: int = 0
    is_whole: bool = True


def read_news(path: Path, after: int = 0) -> News:
    """What a journal has, with the rows after this id.

    `JournalError` for what is no journal, and for one that is just now being written to for long.
    """
    try:
        with readable(path) as connection:
            refuse_other_tables(connection, path)
            meta, damaged = unseal(dict(connection.execute(ENTRIES, KEYS).fetchall()))
            found = connection.execute(SELECT_AFTER, (after,)).fetchall()
            about, plan = entry(connection, ABOUT), entry(connection, PLAN)
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise JournalError(f"the journal {str(path)!r} is being written to") from error
        return _salvaged(path)
    except UNREADABLE:
        return _salvaged(path)
    width = len(meta["problem"]["names"]) if "problem" in meta else None
    rows = {values[0]: Row.of_values(values[1:], width) for values in found}
    good = {number: row for number, row in rows.items() if row is not None}
    if damaged or len(good) < len(rows) or is_write_ahead(path) or has_lost_its_end(path):
        return _salvaged(path)
    return News(meta, good, about_of(about), Plan.of_entry(plan))


def snapshot_of(path: Path) -> Snapshot | None:
    """The result so far in a journal; None if there is none, or it cannot be read now."""
    try:
        return read_snapshot(path)
    except (sqlite3.Error, OSError, UnicodeDecodeError):
        return None


def _salvaged(path: Path) -> News:
    """What can be read of a damaged journal."""
    try:
        saved = salvage(path)
        with readable(path) as connection:
            about, plan = entry(connection, ABOUT), entry(connection, PLAN)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise JournalError(f"{str(path)!r} cannot be read as a journal: {error}") from error
    if not saved.rows and not saved.meta:
        raise JournalError(f"{str(path)!r} is no journal, or nothing of it can be read")
    return News(
        saved.meta,
        saved.rows,
        about_of(about),
        Plan.of_entry(plan),
        len(saved.lost),
        is_whole=False,
    )
