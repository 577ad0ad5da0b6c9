"""The folder of a study: for every run its journal and, when it is finished, its row as JSON."""

import json
import os
import zlib
from collections.abc import Iterable
from dataclasses import asdict, fields
from hashlib import sha256
from os import PathLike, fspath
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from quell.errors import JournalError
from quell.journal import read_journal
from quell.journal.identity import changes
from quell.problem import Problem
from quell.settings import Settings
from quell.studies.result import Row
from quell.text import jsonable

JOURNAL, SUMMARY = ".quelljournal", ".json"
LONGEST_NAME = 100


def file_stem(problem: str, seed: int) -> str:
    """A file name for a run, whatever the problem is called; no two runs have the same.

    >>> file_stem("subject 1/model A", 3)
    'subject%201%2Fmodel%20A-seed3'
    >>> file_stem("../.hidden", 0)
    '%2E.%2F.hidden-seed0'
    """
    name = quote(problem, safe="")
    if name.startswith("."):
        name = "%2E" + name[1:]
    if len(name) > LONGEST_NAME:
        name = f"{name[: LONGEST_NAME - 20]}~{sha256(problem.encode()).hexdigest()[:16]}"
    return f"{name}-seed{seed}"


def check_names(names: Iterable[str]) -> None:
    """``ValueError`` unless all file systems can tell the runs of these problems apart."""
    seen: dict[str, str] = {}
    for name in names:
        if not isinstance(name, str) or not name:
            raise ValueError(f"names of problems must be non-empty strings, got {name!r}")
        try:
            other = seen.setdefault(file_stem(name, 0).casefold(), name)
        except UnicodeEncodeError:
            raise ValueError(f"{name!r} is no valid text, so it cannot name a file") from None
        if other != name:
            raise ValueError(
                f"the problems {other!r} and {name!r} differ only by upper and lower case, which "
                "not all file systems tell apart; rename one"
            )


def read_rows(folder: Path) -> tuple[Row, ...]:
    """The rows of all runs in the folder of a study, by name and seed; nothing is written.

    Runs that are not finished have an error that says how far they are. Journals by other names are
    those of other runs.
    """
    rows = []
    for journal in folder.glob(f"*{JOURNAL}"):
        name, _, seed = journal.name.removesuffix(JOURNAL).rpartition("-seed")
        if not (name and seed.isdecimal()):
            continue
        content = _read_summary(journal.with_name(journal.name.removesuffix(JOURNAL) + SUMMARY))
        rows.append(_unfinished(journal) if content is None else content[1])
    return tuple(sorted(rows, key=lambda row: (row.problem, row.seed)))


def _unfinished(journal: Path) -> Row:
    name, _, seed = journal.name.removesuffix(JOURNAL).rpartition("-seed")
    number = int(seed) if len(seed) < 40 else 0
    try:
        n = read_journal(journal).evaluations.n_counted
    except JournalError as error:
        return Row(unquote(name), number, error=str(error))
    return Row(unquote(name), number, error=f"not finished: {n} evaluations so far")


def _read_summary(path: Path) -> tuple[int | None, Row] | None:
    """The budget and the row of a finished run; None if there is none, or it is damaged."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["checksum"] != _checksum(content["budget"], content["row"]):
            return None
        return content["budget"], _read_row(content["row"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # it is made again from the journal


class StudyFolder:
    """Where a study keeps its runs; made if it is not there, unless told otherwise."""

    def __init__(self, path: str | PathLike[str], *, make: bool = True) -> None:
        if not isinstance(path, str | PathLike):
            raise TypeError(f"folder must be a path, got {type(path).__name__}")
        self.path = Path(fspath(path)).absolute()
        if not make:
            return
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise JournalError(f"folder: cannot make {fspath(path)!r}: {error.strerror}") from error

    def journal(self, problem: str, seed: int) -> Path:
        """The path of a run's journal."""
        return self.path / (file_stem(problem, seed) + JOURNAL)

    def check(self, name: str, seed: int, problem: Problem, settings: Settings) -> None:
        """`JournalError`, with the differences, if the run there is another."""
        path = self.journal(name, seed)
        if not path.exists():
            return
        try:
            found = read_journal(path)
        except JournalError:
            return  # not begun, or damaged: the run itself will say
        recorded = {"problem": found.problem, "settings": found.settings}
        lines = changes(recorded, problem, settings) if found.problem else []
        if found.seed not in (None, seed):
            lines.append(f"seed: {found.seed} in the journal, {seed} now")
        if lines:
            text = "\n".join(f"  {line}" for line in lines)
            raise JournalError(
                f"the run of problem {name!r} with seed {seed} in {str(self.path)!r} was another "
                f"one:\n{text}\nGo back to what it was, or choose another folder"
            )

    def finished(self, name: str, seed: int, budget: int | None) -> Row | None:
        """The row of a run that was finished with this budget; None if there is none."""
        found = _read_summary(self._summary(name, seed))
        if found is None:
            return None
        of_budget, row = found
        same = of_budget == budget and (row.problem, row.seed) == (name, seed)
        return row if same and self.journal(name, seed).exists() else None

    def finish(self, row: Row, budget: int | None) -> None:
        """Keep the row of a run that was finished with this budget."""
        content = jsonable({"budget": budget, "row": asdict(row)})
        content["checksum"] = _checksum(content["budget"], content["row"])
        path = self._summary(row.problem, row.seed)
        beside = path.with_name(path.name + ".new")
        try:
            with open(beside, "w", encoding="utf-8") as file:
                json.dump(content, file, allow_nan=False)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        except OSError as error:
            raise JournalError(f"cannot write {str(path)!r}: {error.strerror}") from error

    def _summary(self, problem: str, seed: int) -> Path:
        return self.path / (file_stem(problem, seed) + SUMMARY)


def _checksum(budget: int | None, row: Any) -> int:
    """CRC-32 of what is kept of a run: a row must not change by itself."""
    return zlib.crc32(json.dumps([budget, row], sort_keys=True).encode())


def _read_row(entries: dict[str, Any]) -> Row:
    """The row of plain data; ``TypeError`` or ``ValueError`` for what is none."""
    kinds = {column.name: column.type for column in fields(Row)}
    values: dict[str, Any] = {
        name: float(entry) if kinds[name] is float else entry for name, entry in entries.items()
    }
    if wrong := [name for name, value in values.items() if type(value) is not kinds[name]]:
        raise TypeError(f"{wrong[0]} must be {kinds[wrong[0]]}")
    return Row(**values)
