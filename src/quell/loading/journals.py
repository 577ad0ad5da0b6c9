"""The result in a journal, without the problem and without taking part in the run."""

import sqlite3
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from quell.errors import FileError, JournalError
from quell.journal.reading import read_journal
from quell.journal.snapshots import read_snapshot
from quell.results import Result
from quell.results.reading import read_result

#: How every SQLite file begins.
SQLITE = b"SQLite format 3\0"


def load_journal(path: Path, **given: Any) -> Result:
    """The result so far, as the journal has it; `FileError` if it has none.

    ``given`` is a constraint or a support, as in `read_result`.
    """
    try:
        contents = read_journal(path)
        snapshot = read_snapshot(path)
    except (JournalError, sqlite3.Error, OSError, UnicodeDecodeError) as error:
        raise FileError(f"{str(path)!r} cannot be read as a journal: {error}") from error
    n = contents.evaluations.n_counted
    algorithm = contents.settings.get("algorithm")
    if algorithm is not None:
        raise FileError(
            f"the journal {str(path)!r} is of the baseline {algorithm}, whose results are not kept "
            "in files: the same call of quell.baselines makes it again from its "
            f"{n} evaluation{'' if n == 1 else 's'}"
        )
    if snapshot is None:
        raise FileError(
            f"the journal {str(path)!r} has {n} evaluation{'' if n == 1 else 's'}, but no result "
            "yet: quell.infer(problem, journal=...) goes on with the run, or makes its result, and "
            "quell.fit(problem, quell.read_journal(path).evaluations) fits what there is"
        )
    result = read_result(snapshot.data, str(path), **given)
    since = n - snapshot.about.evaluations
    at = f"{datetime.fromtimestamp(snapshot.about.at):%Y-%m-%d %H:%M}"
    about = f"from the journal {path.name!r}, as of {at}"
    if since > 0:
        about += f"; {since} evaluation{'' if since == 1 else 's'} since then not used"
    return replace(result, journal=about)
