"""The result so far, kept in the journal beside the events it follows from.

A snapshot is the bytes of a ``.quell`` file, in two entries of the table ``meta``: the bytes
themselves, and what they are about, as JSON. It replaces the one before it. Nothing of a run
depends on it: events alone decide how a run goes on. Versions of Quell that do not know of
snapshots pass over these entries.
"""

import json
import sqlite3
import time
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from quell.archive.plain import restore
from quell.journal.recovery import readable
from quell.journal.store import UNREADABLE
from quell.version import __version__

BYTES, ABOUT = "snapshot", "snapshot_about"
_SELECT = "SELECT value FROM meta WHERE key = ?"


@dataclass(frozen=True)
class About:
    """What a snapshot is of.

    ``evaluations`` counts those in it that count, ``iterations`` those of the algorithm;
    ``events`` is the digest of all events it follows from. ``ended`` is why the run ended, "" while
    it goes on; else ``budget`` is the one it had, and ``default_budget`` the one it would have had
    without any. ``at`` is the time in seconds since 1970, ``version`` that of Quell, and ``digest``
    that of the bytes.
    """

    evaluations: int
    iterations: int
    events: str = ""
    ended: str = ""
    budget: int = 0
    default_budget: int = 0
    at: float = field(default_factory=time.time)
    version: str = __version__
    digest: str = ""


@dataclass(frozen=True)
class Snapshot:
    """The bytes of a result, and what it is of."""

    data: bytes
    about: About

    def entries(self) -> dict[str, Any]:
        """The two entries of the table."""
        about = replace(self.about, digest=sha256(self.data).hexdigest())
        return {BYTES: self.data, ABOUT: json.dumps(asdict(about))}

    @classmethod
    def of_entries(cls, data: Any, about: Any) -> "Snapshot | None":
        """The snapshot behind two entries; None if there is none, or it is damaged.

        >>> snapshot = Snapshot(b"data", About(3, 1))
        >>> Snapshot.of_entries(*snapshot.entries().values()).about.evaluations
        3
        """
        if not isinstance(data, bytes) or not isinstance(about, str):
            return None
        try:
            found = restore(About, json.loads(about))
        except (TypeError, ValueError, RecursionError):
            return None
        return cls(data, found) if found.digest == sha256(data).hexdigest() else None


def read_snapshot(path: Path) -> Snapshot | None:
    """The last snapshot in a journal; None if there is none. Writes nothing, wherever it is.

    Also while the run goes on, and after a crash.
    """
    with readable(path) as connection:
        return Snapshot.of_entries(entry(connection, BYTES), entry(connection, ABOUT))


def read_about(path: Path) -> About | None:
    """What the last snapshot in a journal is of, as it says itself, without its bytes: quick."""
    with readable(path) as connection:
        return about_of(entry(connection, ABOUT))


def about_of(text: Any) -> About | None:
    """What the entry says; None if there is none, or it is damaged."""
    try:
        return restore(About, json.loads(text))
    except (TypeError, ValueError, RecursionError):
        return None


def entry(connection: sqlite3.Connection, key: str) -> Any:
    """An entry of the table, None if it cannot be read."""
    try:
        found = connection.execute(_SELECT, (key,)).fetchone()
    except UNREADABLE:
        return None
    return None if found is None else found[0]
