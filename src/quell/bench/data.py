"""The benchmark's data files, which are not part of the package."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any, Literal

from quell.bench.problems.base import BenchError

VARIABLE = "QUELL_DATA"
HINT = f"set it with: export {VARIABLE}=/path/to/benchmark-data"
#: The part of the folder that is laid out like matlab/problems in the repository lacerbi/infbench.
ORIGINAL = "data/"


def folder() -> str | None:
    """The folder that QUELL_DATA names, None if it is not set."""
    return os.environ.get(VARIABLE) or None


def kind() -> Literal["real", "simulated"]:
    """Which data the benchmark's own problems have: real if QUELL_DATA is set."""
    return "simulated" if folder() is None else "real"


def data_file(name: str) -> Path:
    """The path of a file in the folder that QUELL_DATA names; :class:`BenchError` without it.

    A name that begins with "data/" is also found where the folder is the original repository's
    matlab/problems, which has no such subfolder.
    """
    place = folder()
    if place is None:
        raise BenchError(f"{VARIABLE} is not set; it must name the folder that has {name} ({HINT})")
    root = Path(place).expanduser()
    for path in (root / name, root / name.removeprefix(ORIGINAL)):
        if path.is_file():
            return path
    raise BenchError(f"there is no {name} in {VARIABLE}={place} ({HINT})")


def read_json(name: str) -> Any:
    """The content of a JSON file in the data folder, read once per process."""
    path = data_file(name).resolve()
    return _read(str(path), path.stat().st_mtime_ns)


@cache
def _read(path: str, _changed: int) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        raise BenchError(f"cannot read {path}: {error}") from None
