"""A report of what is on disk; what `quell report` does."""

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path

from quell.errors import FileError
from quell.loading import load
from quell.pages.door import report
from quell.results import Result


def report_files(
    paths: Sequence[str | PathLike[str]], out: str | PathLike[str], *, title: str = ""
) -> Path:
    """Write a report of one run or study, or of several runs of one problem; returns where it is.

    ``FileError`` where one cannot be read, or they do not belong together.
    """
    if len(paths) == 1:
        return report(load(paths[0]), out, title=title)
    runs: dict[str, Result] = {}
    for path in paths:
        found = load(path)
        if not isinstance(found, Result):
            raise FileError(
                f"{fspath(path)!r} has more than one run: report it alone, or name the files of "
                "single runs"
            )
        runs[_name(path, runs)] = found
    try:
        return report(runs, out, title=title)
    except FileError:
        raise
    except ValueError as error:
        raise FileError(
            f"{error}. To compare models: quell.compare({{name: quell.load(path), ...}})"
            ".report(...)"
        ) from error


def _name(path: str | PathLike[str], taken: dict[str, Result]) -> str:
    """The name of a file without its folder and ending, and never twice the same."""
    stem = Path(fspath(path)).stem or fspath(path)
    name, number = stem, 2
    while name in taken:
        name, number = f"{stem} ({number})", number + 1
    return name
