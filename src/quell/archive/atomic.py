"""A file is written as a whole or not at all."""

import os
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from os import PathLike, fspath
from pathlib import Path

from quell.archive.members import FIRST, MAGIC
from quell.errors import FileError

#: Bytes by which a file is known.
BEGINNING = 256


def is_archive(beginning: bytes) -> bool:
    """Whether a file that begins like this is a ``.quell`` file."""
    return beginning.startswith(MAGIC) and beginning[30 : 30 + len(FIRST)] == FIRST.encode()


def write_atomically(
    path: str | PathLike[str],
    data: bytes,
    *,
    overwrite: bool = True,
    is_ours: Callable[[bytes], bool] = is_archive,
    written_by: str = "result.save",
    example: str = "fit.quell",
) -> Path:
    """Write a file; it is on disk when this returns, and was never half there.

    The bytes go to a new file in the same folder, which takes the other's place when it is on disk:
    if that fails, as where the disk is full, what was there is left, and nothing else. A file that
    ``is_ours`` by its beginning, by default a ``.quell`` file, is replaced if ``overwrite``, any
    other file never. ``written_by`` and an ``example`` are for messages. Returns where it is.
    """
    target = _target(path, example)
    if target.exists():
        _refuse_other(target, is_ours, written_by, overwrite=overwrite)
    beside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.new")
    try:
        try:
            with open(beside, "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                shutil.copymode(target, beside)
            os.replace(beside, target)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise FileError(
            f"cannot write {str(path)!r}: {error.strerror or error}. Nothing was changed; make "
            "sure that the disk has room and the folder can be written to, or choose another path"
        ) from error
    _sync_folder(target.parent)
    return target


def _target(path: str | PathLike[str], example: str) -> Path:
    """The file meant, without links: what a link points at is replaced, not the link."""
    if not isinstance(path, str | PathLike):
        raise TypeError(f"path must be a path, got {type(path).__name__}")
    text = fspath(path)
    try:
        target = Path(text).resolve()
        wrong = ""
        if target.is_dir():
            wrong = f"is a folder: add the name of a file, such as {example!r}"
        elif not target.parent.is_dir():
            wrong = "is in a folder that does not exist: make it first"
    except (OSError, RuntimeError, ValueError) as error:
        raise FileError(f"cannot write {text!r}: it can be no path of a file ({error})") from error
    if wrong:
        raise FileError(f"cannot write {text!r}, which {wrong}")
    return target


def _refuse_other(
    target: Path, is_ours: Callable[[bytes], bool], written_by: str, *, overwrite: bool
) -> None:
    if not overwrite:
        raise FileError(
            f"{str(target)!r} exists: choose another path, or pass overwrite=True to replace it"
        )
    beginning = b""
    with suppress(OSError), open(target, "rb") as file:
        beginning = file.read(BEGINNING)
    if not is_ours(beginning):
        raise FileError(
            f"{str(target)!r} exists and was not written by {written_by}, so it is left as it is: "
            "choose another path, or remove it first"
        )


def _sync_folder(folder: Path) -> None:
    """That the new name is on disk too, where folders can be synced."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
