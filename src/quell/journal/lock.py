"""One process per journal: an advisory lock on a file beside it.

The lock is one of the operating system's (POSIX ``fcntl`` or Windows' ``msvcrt``), held while
the file ``<journal>.lock`` is open. It vanishes with its process, however that ends, so a dead
process leaves no stale lock; nor do workers forked from it keep the lock alive. POSIX locks hold
across machines on NFS unless it is mounted with ``nolock`` or ``local_lock``. The text in the
file says who has it, for the message to others; it is not what locks.
"""

import json
import os
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import Any

from quell.errors import JournalError
from quell.evaluations.events import this_process

#: A link in place of the lock is not followed: what it points at would be emptied.
FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
BEGINNING = b'{"process": '
#: Locks held by this process, by device and inode: POSIX locks do not exclude their own process.
_held: dict[tuple[int, int], int] = {}


class Lock:
    """The lock of a journal, held until released.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lock = Lock(Path(folder) / "run.quelljournal")
    ...     lock.release()
    """

    def __init__(self, journal: Path) -> None:
        self.path = journal.with_name(journal.name + ".lock")
        self._descriptor = _acquire(self.path, journal)
        status = os.fstat(self._descriptor)
        self._key = (status.st_dev, status.st_ino)
        _held[self._key] = os.getpid()
        owner = {"process": this_process(), "since": time.strftime("%Y-%m-%d %H:%M:%S %z")}
        with suppress(OSError):  # a full disk: the text is not what locks
            os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, json.dumps(owner).encode())

    def release(self) -> None:
        """Let others have the journal; harmless the second time, and in a forked process."""
        if self._descriptor < 0:
            return
        if _held.get(self._key) == os.getpid():
            # Removed while it is still locked: whoever waits for it looks again (see _acquire).
            self.path.unlink(missing_ok=True)
            del _held[self._key]
        os.close(self._descriptor)
        self._descriptor = -1


def _acquire(path: Path, journal: Path) -> int:
    """The descriptor of the locked file."""
    while True:
        try:
            descriptor = os.open(path, FLAGS, 0o666)
        except OSError as error:
            if path.is_symlink():
                raise JournalError(_no_lock(path)) from error
            raise JournalError(
                f"cannot write beside the journal {str(journal)!r}: {error.strerror} (a journal "
                "needs a folder it may write to; choose another path)"
            ) from error
        status = os.fstat(descriptor)
        if not S_ISREG(status.st_mode):
            os.close(descriptor)
            raise JournalError(_no_lock(path))
        own = _held.get((status.st_dev, status.st_ino)) == os.getpid()
        # Closing a second descriptor of a file would end this process's own lock on it.
        if own:
            raise JournalError(_busy(journal, "this process"))
        try:
            _lock(descriptor)
        except OSError:
            owner = _owner(descriptor)
            os.close(descriptor)
            raise JournalError(_busy(journal, owner)) from None
        try:
            current = os.stat(path, follow_symlinks=False)
        except FileNotFoundError:
            current = None
        if current is not None and (current.st_dev, current.st_ino) == (
            status.st_dev, status.st_ino,
        ):  # fmt: skip
            if not _is_ours(descriptor):
                os.close(descriptor)
                raise JournalError(_no_lock(path))
            return descriptor
        os.close(descriptor)  # its last owner has removed it just now


def _is_ours(descriptor: int) -> bool:
    """Whether the file is empty, or has the text of a lock, if only its beginning."""
    text = os.read(descriptor, len(BEGINNING))
    os.lseek(descriptor, 0, os.SEEK_SET)
    return BEGINNING.startswith(text)


def holder(journal: Path) -> str | None:
    """Who has a journal open, "" if nobody has; None where that cannot be told.

    Asks for nothing that would keep a run from beginning, and writes nothing.
    """
    path = journal.with_name(journal.name + ".lock")
    try:
        status = os.stat(path, follow_symlinks=False)
        if _held.get((status.st_dev, status.st_ino)) == os.getpid():
            return this_process()  # a second descriptor would end this process's own lock
        if not S_ISREG(status.st_mode):
            return None
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return ""
    except OSError:
        return None
    try:
        locked = _is_locked(descriptor)
        if not locked:
            return None if locked is None else ""
        text: Any = json.loads(os.read(descriptor, 1000))
        return str(text["process"])
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
    finally:
        os.close(descriptor)


def _no_lock(path: Path) -> str:
    return (
        f"{str(path)!r} is no lock of a journal, and is left as it is: move it away, or choose "
        "another path for the journal"
    )


def _busy(journal: Path, owner: str) -> str:
    return (
        f"the journal {str(journal)!r} is in use by {owner}: two runs cannot share one journal "
        "(wait for the other, stop it, or choose another path)"
    )


def _owner(descriptor: int) -> str:
    try:
        text: Any = json.loads(os.read(descriptor, 1000))
        return f"process {text['process']!r} since {text['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _is_locked(_: int) -> bool | None:
        return None  # Windows has no way to ask
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    #: ``struct flock``: how it is laid out, and the place of its type.
    _LAYOUTS = {"linux": ("hhqqi4x", 0), "darwin": ("qqihh", 3)}

    def _is_locked(descriptor: int) -> bool | None:
        """Whether another process has the lock, asked without taking it; None if unknown."""
        if sys.platform not in _LAYOUTS:
            return None
        layout, place = _LAYOUTS[sys.platform]
        fields = [0] * 5
        fields[place] = fcntl.F_WRLCK
        answer = fcntl.fcntl(descriptor, fcntl.F_GETLK, struct.pack(layout, *fields))
        return bool(struct.unpack(layout, answer)[place] != fcntl.F_UNLCK)
