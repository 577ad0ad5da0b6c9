"""Reading a journal without changing it, and what can be saved of a damaged one."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quell.errors import JournalError
from quell.journal.meta import CHECKSUMS, OPTIONAL, REQUIRED, unseal
from quell.journal.rows import Row
from quell.journal.store import (
    SELECT_ONE,
    UNREADABLE,
    Store,
    refuse_other_format,
    refuse_other_tables,
)
from quell.journal.write_ahead import ignored_frames, is_write_ahead, log_of

SIDES = ("-journal", "-wal", "-shm")  # files SQLite keeps beside its own; the last is no data
#: Rows are looked for until this many ids in a row are missing.
LARGEST_GAP = 1000


@dataclass(frozen=True)
class Salvage:
    """What could be read: ``meta``, ``rows`` by id, and the ids of rows that are ``lost``."""

    meta: dict[str, Any]
    rows: dict[int, Row]
    lost: tuple[int, ...]


def salvage(path: Path) -> Salvage:
    """Every row of a journal that can still be read, looked up one by one; changes nothing."""
    with readable(path) as connection:
        return _salvage(connection, path)


@contextmanager
def readable(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection by which a journal can be read, as far as it can; nothing is written there.

    `JournalError` for one of another format.
    """
    with _connection(path) as connection:
        with suppress(*UNREADABLE):
            refuse_other_format(connection, path)
        yield connection


@contextmanager
def _connection(path: Path) -> Iterator[sqlite3.Connection]:
    if not _is_cut_off(path) and not is_write_ahead(path):
        with closing(_connect(path, "ro")) as connection:
            if _can_read(connection):
                yield connection
                return
    # SQLite refuses a file shorter than its header says, and one whose last transaction has to be
    # undone, or taken from its log, where it must not write; to read a file that may have a log it
    # makes one. So a copy is read.
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "journal"
        shutil.copyfile(path, copy)
        for side in SIDES[:2]:
            beside = path.with_name(path.name + side)
            if beside.exists():
                shutil.copyfile(beside, copy.with_name(copy.name + side))
        if _is_cut_off(copy):
            os.truncate(copy, _promised_size(copy))
        with closing(_connect(copy, "rw")) as connection:
            yield connection


def has_lost_its_end(path: Path) -> bool:
    """Whether a journal is shorter than its header says, and no transaction is about to mend that.

    What is missing need not be rows: the snapshot of the result may be.
    """
    undo = path.with_name(path.name + SIDES[0])
    return not undo.exists() and _is_cut_off(path) and not undo.exists()


def _is_cut_off(path: Path) -> bool:
    return path.stat().st_size < _promised_size(path)


def _promised_size(path: Path) -> int:
    """The size in bytes an SQLite file has according to its header; 0 for other files."""
    with open(path, "rb") as file:
        header = file.read(100)
    if len(header) < 100 or not header.startswith(b"SQLite format 3\0"):
        return 0
    page = int.from_bytes(header[16:18], "big")
    return (65536 if page == 1 else page) * int.from_bytes(header[28:32], "big")


def _salvage(connection: sqlite3.Connection, path: Path) -> Salvage:
    with suppress(*UNREADABLE):
        refuse_other_tables(connection, path)
    texts: dict[str, Any] = {}
    for key in (*REQUIRED, *OPTIONAL, CHECKSUMS):
        # What cannot be read is not there; of what can, the checksums tell if it is right.
        with suppress(sqlite3.DatabaseError, TypeError, ValueError):
            query = "SELECT value FROM meta WHERE key = ?"
            texts[key] = connection.execute(query, (key,)).fetchone()[0]
    meta, _ = unseal(texts)
    width = len(meta["problem"]["names"]) if "problem" in meta else None
    rows: dict[int, Row] = {}
    lost: list[int] = []
    missing: list[int] = []
    number = 0
    while len(missing) < LARGEST_GAP:
        number += 1
        try:
            values = connection.execute(SELECT_ONE, (number,)).fetchone()
            row = Row.of_values(values[1:], width)
        except (sqlite3.DatabaseError, TypeError, ValueError):
            row = None  # unreadable, or not there: only a later row can tell
        if row is None:
            missing.append(number)
            continue
        if width is None and row.theta:
            width = len(row.theta)
        lost, missing = [*lost, *missing], []
        rows[number] = row
    return Salvage(meta, rows, tuple(lost))


def rescue(path: Path, reason: str) -> str:
    """Replace a damaged journal by what can be read of it; returns what to tell the user.

    The damaged file is kept under another name.
    """
    saved = salvage(path)
    kept = _free_name(path)
    if not set(REQUIRED) <= set(saved.meta):
        raise JournalError(
            f"the journal {str(path)!r} is damaged ({reason}) and does not say any more what "
            f"problem it is for; {len(saved.rows)} of its rows can be read: "
            "quell.read_journal(path).evaluations has their evaluations, to be passed as "
            "evaluations= to a new run"
        )
    fresh = path.with_name(path.name + ".rescued")
    for name in (fresh, *(fresh.with_name(fresh.name + side) for side in SIDES)):
        name.unlink(missing_ok=True)
    store = Store(fresh)
    store.create(saved.meta, saved.rows.values())
    store.close()
    shutil.copy2(path, kept)
    for side in SIDES:
        beside = path.with_name(path.name + side)
        if beside.exists():
            os.replace(beside, kept.with_name(kept.name + side))
    os.replace(fresh, path)
    n_told = sum(row.kind == "tell" for row in saved.rows.values())
    lost = f"{len(saved.lost)} rows among them are lost" if saved.lost else (
        "what came after them, if anything, is lost")  # fmt: skip
    return (
        f"the journal {str(path)!r} was damaged ({reason}). {n_told} evaluations could be read "
        f"and are used; {lost}, and points whose answers are lost are evaluated again. The "
        f"damaged file is kept as {str(kept)!r}"
    )


def is_empty(path: Path) -> bool:
    """Whether there is an SQLite file, and nothing in it."""
    with closing(_connect(path, "ro")) as connection, suppress(*UNREADABLE):
        return not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    return False


def keep_ignored_log(path: Path) -> str:
    """Keep a journal whose write-ahead log is damaged under another name; what to tell the user.

    SQLite would drop the damaged part, and the log when it is done. "" where all is well.
    """
    n = ignored_frames(path)
    if not n:
        return ""
    kept = _free_name(path)
    shutil.copy2(path, kept)
    shutil.copy2(log_of(path), log_of(kept))
    return (
        f"the write-ahead log {str(log_of(path))!r} is damaged: {n} pages of the latest "
        f"evaluations in it are lost, and points whose answers are lost are evaluated again. "
        f"Both files are kept as {str(kept)!r} and {str(log_of(kept))!r}"
    )


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=30)


def _can_read(connection: sqlite3.Connection) -> bool:
    """Whether SQLite reads the file where it is; damage is for whoever reads on."""
    try:
        connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError:
        return False
    except UNREADABLE:
        pass
    return True


def _free_name(path: Path) -> Path:
    names = (path.with_name(f"{path.name}.damaged{i or ''}") for i in range(10_000))
    return next(name for name in names if not name.exists())
