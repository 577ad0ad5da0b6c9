"""What `quell show` prints: what a file is, and what is in it."""

from os import PathLike
from pathlib import Path

from quell.archive import MAGIC
from quell.loading.load import load
from quell.results.reading import open_archive
from quell.studies.result import StudyResult
from quell.text import printable


def show(path: str | PathLike[str]) -> str:
    """The summary of a saved result, a stack or a journal, or the table of a study, as text."""
    found = load(path)
    text = found.table() if isinstance(found, StudyResult) else found.summary()
    about = _written(Path(path))
    return f"{text}\n{about}" if about else text


def _written(path: Path) -> str:
    """When a file was written and with what; "" for journals and folders."""
    if path.is_dir():
        return ""
    with open(path, "rb") as file:
        if file.read(2) != MAGIC[:2]:
            return ""
        _, about = open_archive(file, str(path))
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return printable(f"saved {about['written']} with {versions}")
