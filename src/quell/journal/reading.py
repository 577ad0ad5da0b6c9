"""Looking into a journal without taking part in the run."""

import sqlite3
import warnings
from dataclasses import dataclass
from datetime import datetime
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from quell.arrays import FloatArray
from quell.errors import JournalError
from quell.evaluations import Evaluations
from quell.evaluations.answers import as_recorded
from quell.evaluations.events import Answered
from quell.journal.recovery import salvage
from quell.journal.rows import evaluated
from quell.journal.write_ahead import ignored_frames, is_write_ahead, log_of


@dataclass(frozen=True, eq=False)
class JournalContents:
    """What a journal holds.

    ``problem`` and ``settings`` as plain data; ``evaluations`` with nan as log prior, which is
    not recorded; ``pending`` (n, D) the points asked for and not told; ``who``, for each
    evaluation the host and process that made it, and ``when`` it was recorded; ``n_lost`` rows
    could not be read; ``version`` is that of Quell by which it was begun, "" before there was one,
    ``versions`` all by which it was written.
    """

    problem: dict[str, Any]
    settings: dict[str, Any]
    seed: int | None
    evaluations: Evaluations
    pending: FloatArray
    who: tuple[str, ...]
    when: tuple[datetime, ...]
    n_lost: int
    version: str = ""
    versions: tuple[str, ...] = ()

    def __repr__(self) -> str:
        n = len(self.pending)
        lost = f", {self.n_lost} rows cannot be read" if self.n_lost else ""
        return f"Journal: {self.evaluations!r}, {n} pending, seed {self.seed}{lost}"


def read_evaluated(path: Path) -> list[Answered]:
    """The answers in a journal that can be made again (see `rows`)."""
    return evaluated(salvage(path).rows.values())


def read_journal(path: str | PathLike[str]) -> JournalContents:
    """The contents of a journal; also while its run goes on, and as far as it is readable.

    Parameters
    ----------
    path
        The journal. It is not changed.

    Returns
    -------
    JournalContents
        With its ``evaluations``, which may be passed to :func:`quell.infer`.

    Raises
    ------
    JournalError
        There is none, or nothing of it can be read.

    Examples
    --------
    >>> import os, tempfile
    >>> from quell import Problem, Sampler
    >>> problem = Problem(
    ...     sum, lower=0, upper=9, plausible_lower=2, plausible_upper=4, noise="exact")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "run.quelljournal")
    ...     with Sampler(problem, seed=1, journal=path) as sampler:
    ...         points = sampler.ask(3)
    ...         sampler.tell(points[:2], [-1.0, -2.0])
    ...     read_journal(path)
    Journal: Evaluations: 2 rows, 2 counted, 1 pending, seed 1
    """
    path = Path(fspath(path))
    if not path.is_file():
        raise JournalError(f"there is no journal {str(path)!r}")
    if n := ignored_frames(path):
        warnings.warn(
            f"the write-ahead log {str(log_of(path))!r} is damaged: {n} pages of the latest "
            "evaluations in it cannot be read",
            UserWarning,
            stacklevel=2,
        )
    try:
        saved = salvage(path)
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        raise JournalError(f"{str(path)!r} cannot be read as a journal: {error}") from error
    rows = list(saved.rows.values())
    told = [row for row in rows if row.kind in ("given", "tell")]
    if not told and not saved.meta:
        log = f"; its rows are in {str(log_of(path))!r}, which is missing or damaged"
        why = log if is_write_ahead(path) else ""
        raise JournalError(f"{str(path)!r} is no journal, or nothing of it can be read{why}")
    names = saved.meta.get("problem", {}).get("names")
    if names is None:
        names = [f"x{i + 1}" for i in range(len(told[0].theta))]
    stamps = [saved.meta.get("created", {}), *saved.meta.get("continued", [])]
    done = {row.index for row in rows if row.kind in ("tell", "forget")}
    pending = [row.theta for row in rows if row.kind == "ask" and row.index not in done]
    answers = [event for row in told if isinstance(event := row.event(), Answered)]
    return JournalContents(
        problem=saved.meta.get("problem", {}),
        settings=saved.meta.get("settings", {}),
        seed=saved.meta.get("seed"),
        evaluations=as_recorded(answers, names),
        pending=np.array(pending, dtype=np.float64).reshape(-1, len(names)),
        who=tuple(row.who for row in told),
        when=tuple(datetime.fromtimestamp(row.at).astimezone() for row in told),
        n_lost=len(saved.lost),
        version=stamps[0].get("version", ""),
        versions=tuple(dict.fromkeys(stamp.get("version", "") for stamp in stamps)),
    )
