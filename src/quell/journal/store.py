"""The file of a journal: SQLite, every transaction synced to the disk.

All rows are in the one file. While a transaction is written there is a second one beside it,
``<journal>-journal``, by which it is undone if the process is killed in the middle. A write-ahead
log would cost a fifth of the time (6 ms instead of 30 ms where a sync takes 6 ms), but the rows
would be in that log, and lost with it.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from quell.errors import JournalError
from quell.journal.meta import CHECKSUMS, OPTIONAL, REQUIRED, seal, unseal
from quell.journal.rows import COLUMNS, Row, what_is_wrong
from quell.version import __version__

APPLICATION_ID = 0x5155454C  #: "QUEL", in the file's header
FORMAT = 1

_TYPES = {"index": "INTEGER", "call": "INTEGER", "reported": "INTEGER", "value": "REAL",
          "sd": "REAL", "seconds": "REAL", "at": "REAL"}  # fmt: skip
_COLUMNS = ", ".join(f'"{name}"' for name in (*COLUMNS, "checksum"))
_SCHEMA = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE events (id INTEGER PRIMARY KEY, "
    + ", ".join(f'"{name}" {_TYPES.get(name, "TEXT")}' for name in COLUMNS)
    + ", checksum INTEGER NOT NULL)",
)
_INSERT = f"INSERT INTO events (id, {_COLUMNS}) VALUES ({', '.join('?' * (len(COLUMNS) + 2))})"
_SELECT = f"SELECT id, {_COLUMNS} FROM events ORDER BY id"
SELECT_AFTER = f"SELECT id, {_COLUMNS} FROM events WHERE id > ? ORDER BY id"
_REPLACE = "INSERT OR REPLACE INTO meta VALUES (?, ?)"
KEYS = (*REQUIRED, *OPTIONAL, CHECKSUMS)
ENTRIES = f"SELECT key, value FROM meta WHERE key IN ({', '.join('?' * len(KEYS))})"
#: By the places of the columns, not by their names: those may be what is damaged.
SELECT_ONE = (
    f"WITH row(id, {_COLUMNS}) AS (SELECT * FROM events WHERE rowid = ?) "
    f"SELECT id, {_COLUMNS} FROM row"
)


#: What reading a damaged file may raise; the second where SQLite's own message has its bytes.
UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)


class Damaged(Exception):
    """The file is a journal, but parts of it cannot be read."""


class Store:
    """An open journal file; `append` is durable when it returns.

    ``last`` is the id of the last row: a row with the next id that is already there means
    that someone else has written, and is refused. ``digest`` is that of all rows.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.last = 0
        self._digest = sha256()
        self._connection = self._guard("open", lambda: _connect(path))

    def is_new(self) -> bool:
        """Whether nothing was ever recorded; `Damaged`, or an error for another kind of file."""
        try:
            schema = self._query("SELECT count(*) FROM sqlite_schema")[0][0]
            identity = self._query("PRAGMA application_id")[0][0]
            if schema == 0 and identity == 0:
                return True
            version = self._query("PRAGMA user_version")[0][0]
            if identity == APPLICATION_ID and version == FORMAT:
                refuse_other_tables(self._connection, self.path)
        except UNREADABLE as error:
            if "not a database" in str(error):
                raise JournalError(
                    f"{str(self.path)!r} is no journal, or its beginning is destroyed ({error}); "
                    "it is left as it is"
                ) from error
            raise Damaged(str(error)) from error
        if identity != APPLICATION_ID:
            raise JournalError(f"{str(self.path)!r} is an SQLite file, but no journal")
        refuse_other_format(self._connection, self.path)
        return False

    def create(self, meta: dict[str, Any], rows: Iterable[Row]) -> None:
        """Set up an empty file: all of it, or nothing if the process dies on the way."""

        def write() -> None:
            for statement in _SCHEMA:
                self._connection.execute(statement)
            self._connection.executemany("INSERT INTO meta VALUES (?, ?)", list(seal(meta).items()))
            self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._connection.execute(f"PRAGMA user_version = {FORMAT}")
            self._insert(rows)

        self._transaction(write)

    @property
    def digest(self) -> str:
        """The digest of all rows."""
        return self._digest.hexdigest()

    def replace_meta(self, meta: dict[str, Any]) -> None:
        """Write all entries about the run again."""
        self.append([], seal(meta))

    def append(self, rows: Sequence[Row], entries: Mapping[str, Any] | None = None) -> None:
        """Record rows, and ``entries`` of the table of entries in place of what is there.

        All or none.
        """

        def write() -> None:
            self._connection.executemany(_REPLACE, list((entries or {}).items()))
            written.extend(self._insert(rows))

        written: list[tuple[Any, ...]] = []
        try:
            self._transaction(write)
        except JournalError:
            raise
        except BaseException:  # Ctrl-C during the sync shows when all of it is on the disk
            if self._query("SELECT max(id) FROM events")[0][0] == self.last + len(written):
                self._count(written)
            raise
        self._count(written)

    def entry(self, key: str) -> Any:
        """An entry of the table of entries, as it is; None if there is none."""
        found = self._query("SELECT value FROM meta WHERE key = ?", key)
        return found[0][0] if found else None

    def read(self) -> tuple[dict[str, Any], list[Row]]:
        """What was set up, and all rows in order; `Damaged` if any of it is."""
        try:
            problems = self._query("PRAGMA quick_check(1)")[0][0]
            if problems != "ok":
                raise Damaged(" ".join(problems.split()))
            meta, damaged = unseal(dict(self._query(ENTRIES, *KEYS)))
            found = self._query(_SELECT)
        except (sqlite3.DatabaseError, ValueError) as error:
            raise Damaged(str(error)) from error
        damaged += [key for key in REQUIRED if key not in (*meta, *damaged)]
        if damaged:
            raise Damaged(f"its entry {damaged[0]!r} cannot be read, or its checksum is wrong")
        width = len(meta["problem"]["names"])
        rows = [Row.of_values(values[1:], width) for values in found]
        bad = [what_is_wrong(*v) for v, row in zip(found, rows, strict=True) if row is None]
        if bad:
            raise Damaged(bad[0])
        self.last, self._digest = 0, sha256()
        self._count(found)
        return meta, [row for row in rows if row is not None]

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _insert(self, rows: Iterable[Row]) -> list[tuple[Any, ...]]:
        values = [(self.last + i, *row.values()) for i, row in enumerate(rows, 1)]
        self._connection.executemany(_INSERT, values)
        return values

    def _count(self, values: Sequence[tuple[Any, ...]]) -> None:
        """Take rows, as they are in the file, into the digest; it is one of their checksums."""
        for number, *_, checksum in values:
            self.last = number
            self._digest.update(f"{number} {checksum} ".encode())

    def _transaction(self, write: Any) -> None:
        def run() -> None:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                write()
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

        self._guard("write to", run)

    def _query(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._connection.execute(statement, values).fetchall()

    def _guard(self, what: str, action: Any) -> Any:
        try:
            return action()
        except sqlite3.IntegrityError as error:
            raise JournalError(
                f"another process has written to the journal {str(self.path)!r} in spite of the "
                "lock, as can happen on network drives without locking; stop one of them"
            ) from error
        except sqlite3.Error as error:
            raise JournalError(
                f"cannot {what} the journal {str(self.path)!r}: {error}. What it has is safe; "
                "make sure that the disk has room and the folder can be written to, then run "
                "again to continue"
            ) from error


def refuse_other_format(connection: sqlite3.Connection, path: Path) -> None:
    """`JournalError` for a journal of another version of Quell: it may mean something else."""
    (identity,), (version,) = (
        connection.execute(f"PRAGMA {name}").fetchone()
        for name in ("application_id", "user_version")
    )
    if identity == APPLICATION_ID and version != FORMAT:
        raise JournalError(
            f"the journal {str(path)!r} has format {version}, and this version of Quell "
            f"({__version__}) reads format {FORMAT}: install the latest one"
        )


def refuse_other_tables(connection: sqlite3.Connection, path: Path) -> None:
    """`JournalError` for a file with views or the like: reading one may compute for ever."""
    objects = connection.execute(
        "SELECT name, CAST(sql AS BLOB) FROM sqlite_schema WHERE type != 'index' OR sql IS NOT NULL"
    ).fetchall()
    for name, sql in objects:
        if name not in ("meta", "events") or not (sql or b"").startswith(b"CREATE TABLE "):
            raise JournalError(
                f"{str(path)!r} was not written by quell: it has {str(name)!r}, which no journal "
                "has; it is left as it is"
            )


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    try:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA synchronous = EXTRA")  # also that the second file is gone
    except sqlite3.OperationalError:
        connection.close()
        raise
    except UNREADABLE:
        pass  # damage shows again when the file is read; whoever reads it says so
    return connection
