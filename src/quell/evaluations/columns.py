"""A table of evaluations as named columns, and as a file of comma-separated values.

The columns are one for each parameter, then value, sd, log_prior, error, seconds, origin and index.
Numbers are written with all their digits, so that a table comes back from a file bit for bit. Text
is escaped: a spreadsheet never takes it for a formula, nor a terminal for a command.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from quell.checks import as_floats, did_you_mean
from quell.evaluations.events import NOT_ASKED
from quell.evaluations.head_start import error_texts
from quell.evaluations.origin import Origin
from quell.text import FORMULA_BEGINS

if TYPE_CHECKING:
    from quell.evaluations.table import Evaluations

Table = TypeVar("Table", bound="Evaluations")

#: The columns after those of the parameters.
COLUMNS = ("value", "sd", "log_prior", "error", "seconds", "origin", "index")
#: A parameter with such a name has this prefix put before it, so that no two columns are equal.
PREFIX = "theta_"
_TAKEN = re.compile(f"({PREFIX})*({'|'.join(COLUMNS)})")
#: −inf, which is a formula to spreadsheets, as a number that every reader takes for it.
MINUS_INFINITY = "-1e999"
_ESCAPE = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[nrt\\])")


def to_columns(table: Evaluations) -> dict[str, Any]:
    """The columns by name: arrays, and lists of text."""
    keys = [PREFIX + name if _TAKEN.fullmatch(name) else name for name in table.names]
    parameters = {key: column.copy() for key, column in zip(keys, table.theta.T, strict=True)}
    return parameters | {
        "value": table.value.copy(),
        "sd": table.sd.copy(),
        "log_prior": table.log_prior.copy(),
        "error": list(table.error),
        "seconds": table.seconds.copy(),
        "origin": [str(origin) for origin in table.origin],
        "index": table.index.copy(),
    }


def from_columns(kind: type[Table], columns: Mapping[str, Any]) -> Table:
    """The table with these columns; all but the parameters and ``value`` may be missing."""
    if "value" not in columns:
        raise ValueError(
            "there must be a column 'value' with the log-likelihoods, got the columns "
            f"{list(columns)}{did_you_mean('value', columns)}"
        )
    keys = [key for key in columns if key not in COLUMNS]
    if not keys:
        raise ValueError(f"there is no column of a parameter, only {list(columns)}")
    names = tuple(
        key.removeprefix(PREFIX) if key.startswith(PREFIX) and _TAKEN.fullmatch(key) else key
        for key in keys
    )
    value = as_floats("value", columns["value"])
    if value.ndim != 1:
        raise ValueError(f"value must have shape (N,), got {value.shape}")
    n = len(value)
    unknown = np.full(n, np.nan)
    parameters = [as_floats(key, columns[key]) for key in keys]
    for key, column in zip(keys, parameters, strict=True):
        if column.shape != (n,):
            raise ValueError(f"{key} must have shape ({n},) like value, got {column.shape}")
    index = as_floats("index", columns.get("index", np.full(n, NOT_ASKED)))
    if (index != np.rint(index)).any():
        raise ValueError(f"index must be whole numbers, got {index[index != np.rint(index)][0]:g}")
    errors = [str(text) for text in columns.get("error", [""] * n)]
    return kind(
        names,
        np.stack(parameters, axis=1),
        value,
        as_floats("sd", columns.get("sd", unknown)),
        as_floats("log_prior", columns.get("log_prior", unknown)),
        error_texts(errors, value),
        as_floats("seconds", columns.get("seconds", unknown)),
        tuple(Origin(text) for text in columns.get("origin", [Origin.GIVEN] * n)),
        index.astype(np.int64),
    )


def write_csv(table: Evaluations, path: str | PathLike[str]) -> None:
    """Write the columns, with a header."""
    columns = to_columns(table)
    lists = [
        column.tolist() if hasattr(column, "tolist") else column for column in columns.values()
    ]
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([_escaped(key) for key in columns])
        writer.writerows([_cell(value) for value in row] for row in zip(*lists, strict=True))


def read_csv(kind: type[Table], path: str | PathLike[str]) -> Table:
    """The table in a file that `write_csv` made, or one with the same columns."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        header, *rows = list(csv.reader(file)) or [[]]
    keys = [_unescaped(cell) for cell in header]
    if not keys or len(set(keys)) < len(keys):
        raise ValueError(f"{path} must begin with a row of column names, all different, got {keys}")
    columns: dict[str, list[Any]] = {key: [] for key in keys}
    for number, row in enumerate((row for row in rows if row), start=2):
        if len(row) != len(keys):
            raise ValueError(
                f"{path} has {len(row)} cells in row {number}, expected {len(keys)} as in row 1"
            )
        for key, cell in zip(keys, row, strict=True):
            columns[key].append(_parsed(path, number, key, cell))
    return from_columns(kind, columns)


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return _escaped(value)
    return MINUS_INFINITY if value == -np.inf else repr(value)


def _parsed(path: Any, row: int, key: str, cell: str) -> Any:
    if key in ("error", "origin"):
        return _unescaped(cell)
    try:
        return int(cell) if key == "index" else float(cell) if cell else np.nan
    except ValueError:
        raise ValueError(
            f"{path} has {cell!r:.50} in row {row}, column {key!r}, where a number must be"
        ) from None


def _escaped(text: str) -> str:
    """Text for a cell; see `_unescaped`.

    >>> print(_escaped("=1+1"), _escaped("a\\n"), _escaped("it's"))
    '=1+1 a\\n it's
    """
    text = "".join(
        c if c.isprintable() and c != "\\" else c.encode("unicode_escape").decode() for c in text
    )
    return f"'{text}" if text.lstrip().startswith((*FORMULA_BEGINS, "'")) else text


def _unescaped(cell: str) -> str:
    """The text that was escaped.

    >>> text = "'=\\n\\\\n\\x1b \\ud800"
    >>> _unescaped(_escaped(text)) == text
    True
    """
    cell = cell[1:] if cell.startswith("'") else cell
    return _ESCAPE.sub(lambda found: found[0].encode().decode("unicode_escape"), cell)
