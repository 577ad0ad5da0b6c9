"""The benchmark's data files, which are not part of the package."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from quell.bench.problems.base import BenchError

VARIABLE = "QUELL_DATA"


def data_file(name: str) -> Path:
    """The path of a file in the folder that QUELL_DATA names; :class:`BenchError` without it."""
    folder = os.environ.get(VARIABLE)
    hint = f"set it with: export {VARIABLE}=/path/to/benchmark-data"
    if not folder:
        raise BenchError(f"{VARIABLE} is not set; it must name the folder that has {name} ({hint})")
    path = Path(folder).expanduser() / name
    if not path.is_file():
        raise BenchError(f"there is no {name} in {VARIABLE}={folder} ({hint})")
    return path


def read_json(name: str) -> Any:
    """The content of a JSON file in the data folder, read once per process."""
    return _read(str(data_file(name).resolve()))


@cache
def _read(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        raise BenchError(f"cannot read {path}: {error}") from None
