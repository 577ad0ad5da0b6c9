"""A study as one file: its rows, and the file of every run's result in it."""

from dataclasses import asdict
from os import PathLike
from typing import TYPE_CHECKING

from quell.archive import pack, write_atomically
from quell.results.writing import about, result_bytes

if TYPE_CHECKING:  # its own method calls this
    from quell.studies.result import StudyResult


def save_study(study: "StudyResult", path: str | PathLike[str], *, overwrite: bool = True) -> None:
    """Write the study to a file."""
    rows = [asdict(row) for row in study.rows]
    runs = {
        run_member(i): result_bytes(study.result(row.problem, row.seed))
        for i, row in enumerate(study.rows)
        if not row.error
    }
    data = pack({"format.json": about("study"), "study.json": {"rows": rows}, **runs})
    write_atomically(path, data, overwrite=overwrite)


def run_member(i: int) -> str:
    """The name in the file of the result of the run in row ``i``."""
    return f"runs/{i}.quell"
