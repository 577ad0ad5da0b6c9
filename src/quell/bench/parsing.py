"""Whatever is wrong with a data file becomes one clear error that names it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scipy.io import loadmat

from quell.bench.data import data_file
from quell.bench.problems.base import BenchError


@contextmanager
def parsing(name: str) -> Iterator[Path]:
    """The path of a file in the data folder; failures inside the block are :class:`BenchError`.

    The block reads the file and raises ``ValueError`` where its content is not as it should be.
    """
    path = data_file(name)
    try:
        yield path
    except Exception as error:  # what a reader raises on a damaged file is not documented
        text = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        raise BenchError(
            f"{path} cannot be used: {text} (a damaged or different file? fetch it again)"
        ) from error


def read_mat(path: Path) -> dict[str, Any]:
    """The variables of a MATLAB file: structs as dictionaries, cells and matrices as arrays."""
    return loadmat(path, simplify_cells=True)
