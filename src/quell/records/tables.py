"""Tables as columns: evaluations, and the history of a run."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from quell.archive import Archive
from quell.archive.plain import a, texts
from quell.evaluations import Evaluations, Origin

NUMBERS = ("theta", "value", "sd", "log_prior", "seconds", "index")
#: Columns of the history that the figures of a result are made of.
NEEDED = {
    "action": str, "reliability": float, "n_training": int, "noise_sd": float,
    "n_evaluations": int, "elbo": float, "elbo_sd": float,
}  # fmt: skip
_COLUMN = re.compile("[a-z][a-z0-9_]*")


def evaluation_members(table: Evaluations) -> tuple[dict[str, Any], dict[str, Any]]:
    """The columns of numbers by their names in the file, and those of text."""
    arrays = {f"evaluations/{name}.npy": getattr(table, name) for name in NUMBERS}
    return arrays, {"origin": list(map(str, table.origin)), "error": list(table.error)}


def restore_evaluations(file: Archive, plain: Any, names: Sequence[str]) -> Evaluations:
    """The table in a file."""
    theta = file.array("evaluations/theta", None, len(names))
    n = len(theta)
    value, sd, log_prior, seconds = (
        file.array(f"evaluations/{name}", n) for name in ("value", "sd", "log_prior", "seconds")
    )
    index = file.array("evaluations/index", n, kind="i")
    error, origin = texts(plain["error"]), tuple(Origin(name) for name in texts(plain["origin"]))
    return Evaluations(tuple(names), theta, value, sd, log_prior, error, seconds, origin, index)


def history_members(rows: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns of numbers by their names in the file; the names of all, and the other columns."""
    columns = list(rows[0])
    entries = {name: [row[name] for row in rows] for name in columns}
    numbers = {name: np.array(column) for name, column in entries.items() if _is_numeric(column)}
    arrays = {f"history/{name}.npy": column for name, column in numbers.items()}
    others = {name: column for name, column in entries.items() if name not in numbers}
    return arrays, {"columns": columns, "others": others}


def _is_numeric(column: list[Any]) -> bool:
    return all(isinstance(value, int | float | np.number | np.bool_) for value in column)


def restore_history(file: Archive, plain: Any) -> list[dict[str, Any]]:
    """The rows in a file, with plain values."""
    names, others = texts(plain["columns"]), a(dict, plain["others"])
    columns: dict[str, list[Any]] = {}
    for name in names:
        if not _COLUMN.fullmatch(name):
            raise ValueError(f"the history has a column {name!r:.50}")
        inside = name in others
        columns[name] = others[name] if inside else file.any_array(f"history/{name}").tolist()
    for name, kind in NEEDED.items():
        if not all(type(value) is kind for value in columns[name]):
            raise ValueError(f"the history's column {name!r} must have a {kind.__name__} each")
    n = len(columns["action"])
    if not n or any(not isinstance(c, list) or len(c) != n for c in columns.values()):
        raise ValueError("the columns of the history must have one entry for each iteration")
    return [{name: columns[name][i] for name in names} for i in range(n)]
