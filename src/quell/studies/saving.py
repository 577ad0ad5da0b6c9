"""A study as one file: its rows, and the file of every run's result in it."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from quell.archive import pack
from quell.results.writing import about, result_bytes

if TYPE_CHECKING:  # its own method calls this
    from quell.studies.result import StudyResult


def study_bytes(study: "StudyResult") -> bytes:
    """The whole file."""
    rows = [asdict(row) for row in study.rows]
    runs = {
        run_member(i): result_bytes(study.result(row.problem, row.seed))
        for i, row in enumerate(study.rows)
        if not row.error
    }
    return pack({"format.json": about("study"), "study.json": {"rows": rows}, **runs})


def run_member(i: int) -> str:
    """The name in the file of the result of the run in row ``i``."""
    return f"runs/{i}.quell"
