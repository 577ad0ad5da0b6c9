"""What is new in a journal, read as rarely and as briefly as possible."""

import time
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from quell.errors import FileError, JournalError
from quell.journal.lock import holder
from quell.journal.news import News, read_news, snapshot_of
from quell.journal.rows import Row
from quell.watch.answer import Answer, read_answer

#: Seconds after which the file is read although it says that nothing has changed: the times of
#: files on network drives may lag behind.
DISTRUST = 30.0


class Follower:
    """A journal, as it was at the last `look`.

    ``rows`` are all of its events in order, ``answer`` the result so far, None if there is none;
    ``trouble`` says why the last look saw nothing, "" if all is well.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = _checked(Path(fspath(path)))
        self.news = News({}, {}, None, None)
        self.rows: list[Row] = []
        self.answer: Answer | None = None
        self.holder: str | None = None
        self.trouble = ""
        self.version = 0  #: changes whenever there is something new to see
        self.epoch = 0  #: changes when rows were read anew from the first
        self._last = 0
        self._mark: Any = None
        self._read_at = -DISTRUST
        self._digest = ""

    def look(self) -> bool:
        """Read what is new; whether there is anything.

        `JournalError` the first time, where there is no journal; later that is a ``trouble``, and
        passes.
        """
        before = self.version
        owner = holder(self.path)
        if owner != self.holder:
            self.holder = owner
            self.version += 1
        try:
            self._read()
            self._say("")
        except (JournalError, FileError, OSError) as error:
            if not self.rows and not self.news.meta:
                raise error if isinstance(error, JournalError) else JournalError(str(error)) from (
                    error
                )
            self._say(f"the journal cannot be read just now: {error}")
        return self.version != before

    def state(self) -> dict[str, Any]:
        """All there is to see, as plain data; see `quell.watch.state`."""
        from quell.watch.state import state_of

        return state_of(self)

    def _read(self) -> None:
        status = self.path.stat()
        mark = status.st_ino, status.st_size, status.st_mtime_ns
        if mark == self._mark and time.monotonic() - self._read_at < DISTRUST:
            return
        if self._mark is not None and mark[0] != self._mark[0]:
            self._last = 0  # another file in its place: all of it is new
        news = read_news(self.path, self._last)
        self._mark, self._read_at = mark, time.monotonic()
        if not news.is_whole or self._last == 0:
            self.rows, self.epoch = [], self.epoch + 1
        self.rows += news.rows.values()
        self._last = max(news.rows, default=self._last) if news.is_whole else 0
        changed = bool(news.rows) or news.about != self.news.about or news.plan != self.news.plan
        self.news = news
        if news.about is not None and news.about.digest != self._digest:
            self._read_answer()
        self.version += changed

    def _read_answer(self) -> None:
        snapshot = snapshot_of(self.path)
        if snapshot is not None:
            self._digest = snapshot.about.digest
            self.answer = read_answer(snapshot, str(self.path))

    def _say(self, trouble: str) -> None:
        if trouble != self.trouble:
            self.trouble = trouble
            self.version += 1


def _checked(path: Path) -> Path:
    """The path of what may be a journal; `JournalError` for what is none."""
    if path.is_dir():
        raise JournalError(
            f"{str(path)!r} is a folder: give the journal of one run in it, *.quelljournal"
        )
    if not path.is_file():
        raise JournalError(f"there is no journal {str(path)!r}")
    with open(path, "rb") as file:
        beginning = file.read(16)
    if beginning != b"SQLite format 3\0":
        what = "a saved result (quell show prints it)" if beginning[:2] == b"PK" else "no journal"
        raise JournalError(f"{str(path)!r} is {what}; quell watch follows journals")
    return path
