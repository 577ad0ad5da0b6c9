"""Write-ahead logs of journals from earlier versions, where new rows were in a second file.

Quell writes its rows into the journal itself. A journal that was left by a killed run of an
earlier version may have most of its rows in ``<journal>-wal``; SQLite takes them over when the
file is opened, but ignores a log from the first changed bit on without a word. The format of the
log is that of https://www.sqlite.org/fileformat2.html#walformat.
"""

import struct
from pathlib import Path

_HEADER, _FRAME = 32, 24
_MAGIC = {0x377F0682: "<", 0x377F0683: ">"}  # the order of the bytes in checksums


def is_write_ahead(path: Path) -> bool:
    """Whether the file says that rows may be in a write-ahead log."""
    try:
        with open(path, "rb") as file:
            return file.read(20)[18:20] == b"\2\2"
    except OSError:
        return False


def log_of(path: Path) -> Path:
    """The write-ahead log of a journal."""
    return path.with_name(path.name + "-wal")


def ignored_frames(path: Path) -> int:
    """How many frames of a journal's log SQLite ignores although they belong to it.

    They come after, and with, the first one that is damaged. Frames that are left from before the
    log was begun again, or were cut off in the middle, do not count.
    """
    try:
        log = log_of(path).read_bytes()
    except OSError:
        return 0
    if len(log) <= _HEADER + _FRAME:
        return 0
    magic, _, page = struct.unpack(">3I", log[:12])
    size = _FRAME + page
    if magic not in _MAGIC or not 512 <= page <= 65536:
        return max(1, (len(log) - _HEADER) // (_FRAME + 4096))
    n = (len(log) - _HEADER) // size
    order = _MAGIC[magic]
    sums = _checksum(order, log[:24], (0, 0))
    if sums != struct.unpack(">2I", log[24:32]):
        return n
    for i in range(n):
        frame = log[_HEADER + i * size : _HEADER + (i + 1) * size]
        sums = _checksum(order, frame[:8], sums)
        sums = _checksum(order, frame[_FRAME:], sums)
        if frame[8:16] != log[16:24] or sums != struct.unpack(">2I", frame[16:24]):
            rest = (log[_HEADER + j * size :][8:16] for j in range(i, n))
            return sum(salt == log[16:24] for salt in rest)
    return 0


def _checksum(order: str, data: bytes, sums: tuple[int, int]) -> tuple[int, int]:
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    first, second = sums
    for a, b in zip(words[::2], words[1::2], strict=True):
        first = (first + a + second) & 0xFFFFFFFF
        second = (second + b + first) & 0xFFFFFFFF
    return first, second
