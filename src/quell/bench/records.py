"""Files of records: one line of JSON per finished run, only ever appended to."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quell.bench.problems.base import BenchError
from quell.bench.single import Spec

try:
    import fcntl
except ImportError:  # no such locks on Windows
    fcntl = None  # type: ignore[assignment]


@dataclass
class Records:
    """What was read: the runs, one per spec (the last counts), and what had to be left out.

    ``damaged`` counts lines that are no records, such as one cut short by a crash; ``repeated``
    those that a later line with the same spec replaces.
    """

    runs: dict[Spec, dict[str, Any]] = field(default_factory=dict)
    damaged: int = 0
    repeated: int = 0

    def add(self, line: bytes) -> None:
        """Add the record in one line of a file."""
        if not line.strip():
            return
        try:
            record = json.loads(line)
            spec = Spec.of_record(record)
            hash(spec)
        except (ValueError, KeyError, TypeError):
            self.damaged += 1
            return
        self.repeated += spec in self.runs
        self.runs[spec] = record


def read_records(paths: Iterable[str | Path]) -> Records:
    """The records in these files; :class:`BenchError` for a file that cannot be read."""
    records = Records()
    for path in paths:
        try:
            with open(path, "rb") as file:
                for line in file:
                    records.add(line)
        except OSError as error:
            raise BenchError(f"cannot read {path}: {error.strerror}") from None
    return records


class Writer:
    """Appends records to a file, each as a whole and safely on disk before the next.

    Several processes may write to the same file.
    """

    def __init__(self, path: str | Path) -> None:
        try:
            self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        except OSError as error:
            raise BenchError(f"cannot write {path}: {error.strerror}") from None
        self.path = path
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            self.close()
            raise BenchError(f"cannot write {path}: it is not an ordinary file")

    def append(self, record: dict[str, Any]) -> None:
        """Write one record; where that fails it is saved elsewhere, as runs are expensive."""
        line = json.dumps(record, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        try:
            if fcntl is not None:
                fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                self._append(line)
            finally:
                if fcntl is not None:
                    fcntl.flock(self._file, fcntl.LOCK_UN)
        except OSError as error:
            message = f"cannot write {self.path}: {error.strerror}"
            raise BenchError(f"{message}; {_rescue(line)}") from None

    def _append(self, line: bytes) -> None:
        size = os.lseek(self._file, 0, os.SEEK_END)
        if size > 0:
            # A line cut short by a crash must not swallow this one.
            os.lseek(self._file, size - 1, os.SEEK_SET)
            line = line if os.read(self._file, 1) == b"\n" else b"\n" + line
        try:
            while line:
                line = line[os.write(self._file, line) :]
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, size)
            raise

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _rescue(line: bytes) -> str:
    """Save a record that could not be written where it belongs; says where it is."""
    try:
        handle, name = tempfile.mkstemp(prefix="quell-run-", suffix=".jsonl")
        with open(handle, "wb") as file:
            file.write(line)
    except OSError:
        return "the finished run is lost"
    return f"the finished run is in {name}"
