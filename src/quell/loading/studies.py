"""A study from the file it was saved to, or from its folder; nothing is run, nothing written."""

from functools import partial
from pathlib import Path

from quell.archive.plain import a, restore
from quell.errors import FileError
from quell.loading.journals import load_journal
from quell.results import Result
from quell.results.reading import open_archive, read_result
from quell.studies.folder import StudyFolder, read_rows
from quell.studies.result import Row, StudyResult
from quell.studies.saving import run_member

MOST_RUNS = 10_000


def load_study_file(path: Path) -> StudyResult:
    """The study in a file; its results are read when they are asked for."""
    with open(path, "rb") as file:
        archive, _ = open_archive(file, str(path))
        with archive.reading():
            entries = a(list, archive.json("study.json")["rows"])
            if len(entries) > MOST_RUNS:
                raise ValueError(f"it has {len(entries)} runs")
            rows = tuple(restore(Row, entry) for entry in entries)
            for i, row in enumerate(rows):
                if not row.error and run_member(i) not in archive:
                    raise ValueError(f"{run_member(i)!r} is missing")
    places = {(row.problem, row.seed): i for i, row in enumerate(rows)}
    return StudyResult(rows, {}, partial(_from_file, path, places))


def _from_file(path: Path, places: dict[tuple[str, int], int], problem: str, seed: int) -> Result:
    try:
        with open(path, "rb") as file:
            archive, _ = open_archive(file, str(path))
            member = run_member(places[problem, seed])
            with archive.reading():
                data = archive.bytes_of(member)
    except OSError as error:
        raise FileError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    return read_result(data, f"{path}, {member}")


def load_study_folder(path: Path) -> StudyResult:
    """The study in a folder, runs that are not finished with that as their error."""
    try:
        rows = read_rows(path)
    except OSError as error:
        raise FileError(f"cannot read the folder {str(path)!r}: {error.strerror}") from error
    if not rows:
        raise FileError(
            f"{str(path)!r} is a folder without runs of a study: give the path of a file in it, or "
            "the folder that quell.study(folder=...) was given"
        )
    folder = StudyFolder(path, make=False)
    return StudyResult(rows, {}, lambda name, seed: load_journal(folder.journal(name, seed)))
