"""Arrays and plain data as the members of one zip file, stored and not compressed.

A file from elsewhere may be damaged or hostile. What it claims of itself is checked before
anything of that size is allocated: the number of members and the size of their list at the very
end of the file, then that every one is stored as it is, so that together they are no larger than
the file, and has a name that could not leave a folder. Their checksums are those of zip.
"""

import io
import re
import struct
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

from numpy.typing import NDArray

from quell.archive.npy import from_npy, to_npy
from quell.archive.plain import from_json, to_json
from quell.errors import FileError
from quell.text import printable

#: How every ``.quell`` file begins: a zip file with this first member.
FIRST = "format.json"
MAGIC = b"PK\x03\x04"
#: Members, and bytes of their list: more than a study of ten thousand runs has.
MOST_MEMBERS, LONGEST_LIST = 20_000, 4_000_000
#: Bytes of a file; zip's own format ends at twice that.
LARGEST_FILE = 2**31
LARGEST_JSON = 2**28
_NAME = re.compile(r"[a-z][a-z0-9_]*(/[a-z0-9_]+)?\.(npy|json|quell)")
_END = struct.Struct("<4s4H2LH")  # the end of a zip file's list of members, without a comment


def pack(members: Mapping[str, Any]) -> bytes:
    """The bytes of a file with these members: arrays (.npy), plain data (.json), files (.quell).

    >>> data = pack({"format.json": {"version": 1}})
    >>> Archive(io.BytesIO(data), "example").json("format.json")
    {'version': 1}
    """
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED, allowZip64=False) as file:
        for name, content in members.items():
            assert _NAME.fullmatch(name), name
            kind = name.rpartition(".")[2]
            data = {"npy": to_npy, "json": to_json, "quell": bytes}[kind](content)
            file.writestr(zipfile.ZipInfo(name), data)  # a fixed date: equal data, equal bytes
    return stream.getvalue()


class Archive:
    """An open file with arrays and plain data; ``where`` is what messages call it.

    `FileError` at once for a file that is none, or not whole.
    """

    def __init__(self, file: BinaryIO, where: str) -> None:
        self.where = printable(where)
        with self.reading():
            _check_beginning(file, self.where)
            size = _check_end(file, self.where)
            self._zip = zipfile.ZipFile(file)
            self._members = _checked_members(self._zip, size)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Whatever goes wrong in the block, the file is to blame: `FileError` says why."""
        try:
            yield
        except FileError:
            raise
        except Exception as error:
            text = printable(" ".join(str(error).split()))[:300] or type(error).__name__
            raise FileError(
                f"{self.where!r} is damaged, or was not written by Quell ({text}): copy it again "
                "from where it was made, or save the result again"
            ) from error

    def __contains__(self, name: str) -> bool:
        return name in self._members

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all members."""
        return tuple(self._members)

    def bytes_of(self, name: str) -> bytes:
        """A member as it is."""
        if name not in self._members:
            raise ValueError(f"{name!r} is missing")
        return self._zip.read(self._members[name])

    def array(self, name: str, *shape: int | None, kind: str = "f") -> NDArray[Any]:
        """An array of this shape, None for any length, and of floats unless ``kind`` is another."""
        with _about(name):
            array = from_npy(self.bytes_of(f"{name}.npy"))
            fits = len(array.shape) == len(shape) and all(
                wanted in (None, length) for wanted, length in zip(shape, array.shape, strict=True)
            )
            if not fits or array.dtype.kind != kind:
                raise ValueError(f"it is an array of shape {array.shape}, type {array.dtype}")
            return array

    def any_array(self, name: str) -> NDArray[Any]:
        """An array of any shape and type."""
        with _about(name):
            return from_npy(self.bytes_of(f"{name}.npy"))

    def json(self, name: str) -> Any:
        """Plain data."""
        with _about(name):
            data = self.bytes_of(name)
            if len(data) > LARGEST_JSON:
                raise ValueError(f"it has {len(data)} bytes")
            return from_json(data)


@contextmanager
def _about(name: str) -> Iterator[None]:
    """Puts the name of a member before what is wrong with it."""
    try:
        yield
    except (ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{name}: {error}") from error


def _check_beginning(file: BinaryIO, where: str) -> None:
    file.seek(0)
    beginning = file.read(30 + len(FIRST))
    if not beginning:
        raise FileError(f"{where!r} is empty: save the result again")
    if not beginning.startswith(MAGIC):
        raise FileError(
            f"{where!r} is no file of Quell's (those are written by result.save), or its beginning "
            "is destroyed"
        )
    if beginning[30:] != FIRST.encode()[: max(0, len(beginning) - 30)]:
        raise FileError(f"{where!r} is a zip file, but was not written by Quell")


def _check_end(file: BinaryIO, where: str) -> int:
    """The size of a file that ends as it should, with a list of members of a sane length."""
    size = file.seek(0, io.SEEK_END)
    if size > LARGEST_FILE:
        raise FileError(
            f"{where!r} has {size} bytes, more than the {LARGEST_FILE} that Quell reads"
        )
    file.seek(max(0, size - _END.size))
    end = file.read(_END.size)
    if len(end) < _END.size or not end.startswith(b"PK\x05\x06"):
        raise FileError(
            f"{where!r} is cut off: its end is missing. Copy it again, or save it again"
        )
    _, disk, disk_of_list, here, members, length, offset, comment = _END.unpack(end)
    if (disk, disk_of_list, comment, here) != (0, 0, 0, members):
        raise ValueError("its list of members is in disorder")
    if members > MOST_MEMBERS or length > LONGEST_LIST:
        raise ValueError(f"it claims {members} members in a list of {length} bytes")
    if offset + length + _END.size != size:
        raise ValueError("its list of members is not where it should be")
    return size


def _checked_members(file: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    members: dict[str, zipfile.ZipInfo] = {}
    total = 0
    for member in file.infolist():
        name = member.filename
        if not _NAME.fullmatch(name):
            raise ValueError(f"it has a member {name!r:.60}, which no file of Quell's has")
        if name in members:
            raise ValueError(f"it has the member {name!r} twice")
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise ValueError(f"its member {name!r} is compressed")
        if member.flag_bits & 1:
            raise ValueError(f"its member {name!r} is encrypted")
        total += member.file_size
        members[name] = member
    if total > size:
        raise ValueError(f"its members claim {total} bytes, and the file has {size}")
    return members
