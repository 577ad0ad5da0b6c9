"""Reading a journal without changing it, and what can be saved of a damaged one."""

import json
import os
import shutil
import sqlite3
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quell.errors import JournalError
from quell.journal.rows import Row
from quell.journal.store import SELECT_ONE, Store

SIDES = ("-wal", "-shm")  # files SQLite keeps beside its own
#: Rows are looked for until this many ids in a row are missing.
LARGEST_GAP = 1000


@dataclass(frozen=True)
class Salvage:
    """What could be read: ``meta``, ``rows`` by id, and the ids of rows that are ``lost``."""

    meta: dict[str, Any]
    rows: dict[int, Row]
    lost: tuple[int, ...]


def salvage(path: Path) -> Salvage:
    """Every row of a damaged journal that can still be read, looked up one by one."""
    if not _is_cut_off(path):
        return _salvage(path)
    # SQLite refuses a file shorter than its header says, so one is read that is filled up.
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "journal"
        shutil.copyfile(path, copy)
        wal = path.with_name(path.name + "-wal")
        if wal.exists():
            shutil.copyfile(wal, copy.with_name(copy.name + "-wal"))
        os.truncate(copy, _promised_size(path))
        return _salvage(copy)


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


def _salvage(path: Path) -> Salvage:
    meta: dict[str, Any] = {}
    rows: dict[int, Row] = {}
    lost: list[int] = []
    connection = read_only(path)
    try:
        for key in ("problem", "settings", "seed", "starts", "created"):
            try:
                query = "SELECT value FROM meta WHERE key = ?"
                meta[key] = json.loads(connection.execute(query, (key,)).fetchone()[0])
            except (sqlite3.DatabaseError, TypeError, ValueError):
                continue
        missing: list[int] = []
        number = 0
        while len(missing) < LARGEST_GAP:
            number += 1
            try:
                values = connection.execute(SELECT_ONE, (number,)).fetchone()
                row = Row.of_values(values[1:])
            except (sqlite3.DatabaseError, TypeError, ValueError):
                row = None  # unreadable, or not there: only a later row can tell
            if row is None:
                missing.append(number)
                continue
            lost, missing = [*lost, *missing], []
            rows[number] = row
    finally:
        connection.close()
    return Salvage(meta, rows, tuple(lost))


def rescue(path: Path, reason: str) -> str:
    """Replace a damaged journal by what can be read of it; returns what to tell the user.

    The damaged file is kept under another name.
    """
    saved = salvage(path)
    kept = _free_name(path)
    wanted = {"problem", "settings", "seed", "starts"}
    if not wanted <= set(saved.meta):
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


def read_only(path: Path) -> sqlite3.Connection:
    """A connection that changes nothing, also where the folder cannot be written to."""
    address = path.absolute().as_uri()
    connection = sqlite3.connect(f"{address}?mode=ro", uri=True)
    try:
        connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        connection = sqlite3.connect(f"{address}?mode=ro&immutable=1", uri=True)
    except sqlite3.DatabaseError:
        pass  # damaged: whoever reads on will see
    return connection


def _free_name(path: Path) -> Path:
    names = (path.with_name(f"{path.name}.damaged{i or ''}") for i in range(10_000))
    return next(name for name in names if not name.exists())
