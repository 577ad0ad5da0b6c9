"""Plain text and plain data: tables for people, JSON for files."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def table(rows: Sequence[Sequence[str]], indent: str = "  ") -> str:
    """Rows of cells as aligned columns, one line per row.

    >>> print(table([("name", "value"), ("a", "1")]))
      name  value
      a     1
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def printable(text: str) -> str:
    """Text on one line, with what a terminal would act upon written out.

    >>> print(printable("ü\\x1b[2J\\n"))
    ü\\x1b[2J\\n
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def jsonable(value: Any) -> Any:
    """Arrays as lists and non-finite numbers as strings, within dicts, lists and tuples.

    >>> jsonable({"lower": np.array([0.0, -np.inf])})
    {'lower': [0.0, '-inf']}
    """
    if isinstance(value, dict):
        return {key: jsonable(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return jsonable(value.tolist())
    if isinstance(value, list | tuple):
        return [jsonable(entry) for entry in value]
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value
