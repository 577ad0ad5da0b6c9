"""Plain text and plain data: tables for people, JSON for files."""

from collections.abc import Sequence
from typing import Any

import numpy as np

#: With these a spreadsheet begins to calculate.
FORMULA_BEGINS = ("=", "+", "-", "@")


def table(rows: Sequence[Sequence[str]], indent: str = "  ") -> str:
    """Rows of cells as aligned columns, one line per row; see `printable`.

    >>> print(table([("name", "value"), ("a", "1")]))
      name  value
      a     1
    """
    rows = [[printable(cell) for cell in row] for row in rows]
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


def csv_cell(value: Any) -> Any:
    """What goes into a cell of a spreadsheet: text so that it is never taken for a formula.

    >>> csv_cell("=1+1"), csv_cell("a=1"), csv_cell(-2.0)
    ("'=1+1", 'a=1', -2.0)
    """
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.lstrip().startswith(FORMULA_BEGINS) else text


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
