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
            wrong = _what_is_wrong(found)
    if wrong:
        raise JournalError(f"journal must be the path of a file; {text!r} {wrong}")
    return found


def _what_is_wrong(found: Path) -> str:
    """Why this can be no journal, "" if it can."""
    try:
        if found.is_dir():
            return "is a folder"
        if not found.parent.is_dir():
            return "is in a folder that does not exist"
        if found.is_symlink():
            return "is a link to itself"
        if found.exists() and not found.is_file():
            return "is no regular file"
    except OSError as error:  # a name that is too long
        return f"cannot be one: {error.strerror}"
    return ""
