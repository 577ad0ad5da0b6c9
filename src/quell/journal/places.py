"""Where a journal may be: the path of a regular file, resolved once."""

from os import PathLike, fspath
from pathlib import Path

from quell.errors import JournalError


def journal_path(path: str | PathLike[str]) -> Path:
    """The file meant, absolute and without links; `JournalError` for what can be none.

    So a target that changes the working folder does no harm, and two paths to one journal have
    one lock.
    """
    text = fspath(path)
    wrong = ""
    if text == ":memory:" or text.startswith("file:"):
        wrong = "is a name of SQLite's"
    elif "\0" in text:
        wrong = "has a zero character"
    else:
        try:
            found = Path(text).resolve()
        except (OSError, RuntimeError):
            wrong = "is a link to itself"
        else:
            if found.is_dir():
                wrong = "is a folder"
            elif not found.parent.is_dir():
                wrong = "is in a folder that does not exist"
            elif found.is_symlink():
                wrong = "is a link to itself"
            elif found.exists() and not found.is_file():
                wrong = "is no regular file"
    if wrong:
        raise JournalError(f"journal must be the path of a file; {text!r} {wrong}")
    return found
