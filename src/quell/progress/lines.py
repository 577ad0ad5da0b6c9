"""Plain lines, for pipes, files and logs: at intervals, and when something happens."""

import logging
import sys
from collections.abc import Callable
from datetime import datetime
from math import nan

from quell.progress.update import Update
from quell.progress.words import Shown, clock, line
from quell.text import printable

LOGGER = "quell"
#: Seconds between lines: a share of the time that has passed, within limits. A run of an hour has
#: about 60 lines, one of a week a thousand.
SHARE, SHORTEST, LONGEST = 0.05, 10.0, 600.0


class Lines:
    """Writes a line now and then; ``write`` is given its text."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._last: Update | None = None
        self._failures_said = 0
        self._replayed = 0

    def open(self) -> None:
        """Nothing to prepare."""

    def close(self) -> None:
        """Nothing to release."""

    def show(self, update: Update, left: float) -> None:
        """A line, if one is due."""
        if self._is_due(update):
            self._last, self._failures_said = update, update.n_failed
            self._write(line(Shown(update, left)))

    def say(self, text: str) -> None:
        """A line."""
        self._write(printable(text))

    note = say

    def end(self, update: Update | None, text: str) -> None:
        """The last line, with how long it took."""
        took = "" if update is None else f", {clock(update.wall_seconds)} elapsed"
        self._write(printable(f"{text}{took}"))

    def replaying(self, done: int, total: int) -> None:
        """A line when a journal begins to be read, and one when it has been."""
        if not self._replayed or done == total:
            self._write(f"replaying the journal: {done}/{total} evaluations")
        self._replayed = done

    def _is_due(self, update: Update) -> bool:
        """Whether enough time has passed, or something has happened."""
        last = self._last
        if last is None or update.phase != last.phase:
            return True
        if update.n_failed > 2 * self._failures_said:  # the first, the third, the seventh, ...
            return True
        if update.n_evaluations >= update.budget > last.n_evaluations:
            return True
        interval = min(LONGEST, max(SHORTEST, SHARE * update.wall_seconds))
        return update.wall_seconds - last.wall_seconds >= interval


def to_standard_error(text: str) -> None:
    """A line with the time on standard error; not at all where that is closed.

    Characters that it has no place for are written out.
    """
    if sys.stderr is not None:
        now = f"{datetime.now():%Y-%m-%d %H:%M:%S}"
        encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
        known = text.encode(encoding, "backslashreplace").decode(encoding)
        print(f"{now} quell: {known}", file=sys.stderr, flush=True)


def to_log(text: str) -> None:
    """A line to the logger "quell", as information.

    Where logging was never set up nobody would see it, and it goes to standard error instead.
    """
    logger = logging.getLogger(LOGGER)
    if logger.hasHandlers():
        logger.info("%s", text)
    else:
        to_standard_error(text)


def left_of(seconds: float, done: int, total: int) -> float:
    """Seconds that the rest takes, if ``done`` of ``total`` took so many; nan if none is done.

    >>> left_of(60.0, 3, 5)
    40.0
    """
    return seconds / done * (total - done) if done > 0 else nan
