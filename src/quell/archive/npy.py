"""Arrays as NumPy's ``.npy``: of three types, little-endian, in row order.

The header is compared with the one form that NumPy writes, not evaluated, and the shape it claims
with the bytes that are there, before there is an array.
"""

import io
import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Numbers, whole numbers, truth values.
TYPES = {"f": "<f8", "i": "<i8", "b": "|b1"}
MOST_AXES = 3
_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '(<f8|<i8|\|b1)', 'fortran_order': False, 'shape': \(([0-9, ]{0,60})\), \} *\n"
)
_SHAPE = re.compile(rb"(\d{1,15},)?|\d{1,15}(, \d{1,15})+")


def to_npy(array: NDArray[Any]) -> bytes:
    """An array of floats, integers or truth values as the bytes of a ``.npy`` file.

    >>> from_npy(to_npy(np.array([[1.5, np.nan]])))
    array([[1.5, nan]])
    """
    kind = array.dtype.kind
    if kind not in TYPES:
        raise TypeError(f"an array of type {array.dtype} has no place in a file")
    stream = io.BytesIO()
    plain = np.asarray(array, dtype=TYPES[kind], order="C")
    np.lib.format.write_array(stream, plain, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def from_npy(data: bytes) -> NDArray[Any]:
    """The array behind the bytes; ``ValueError`` for anything that `to_npy` does not write."""
    if data[:8] != _MAGIC or len(data) < 10:
        raise ValueError("it is no array of NumPy's format 1.0")
    start = 10 + int.from_bytes(data[8:10], "little")
    header = _HEADER.fullmatch(data[10:start])
    if header is None or not _SHAPE.fullmatch(header[2]):
        raise ValueError("it is no plain array of floats, integers or truth values")
    dtype = np.dtype(header[1].decode())
    shape = tuple(int(length) for length in header[2].split(b",") if length.strip())
    if len(shape) > MOST_AXES:
        raise ValueError(f"it has {len(shape)} axes, more than {MOST_AXES}")
    claimed, there = math.prod(shape) * dtype.itemsize, len(data) - start
    if claimed != there:
        raise ValueError(f"it claims the shape {shape}, {claimed} bytes, and has {there}")
    if dtype.kind == "b" and data[start:].strip(b"\0\1"):
        raise ValueError("it has truth values that are neither true nor false")
    array = np.frombuffer(data, dtype=dtype, offset=start).reshape(shape)
    return array.astype(dtype.newbyteorder("="))
