"""The truth about the problems with simulated data: small files that come with the package.

Made by ``benchmarks/make_truth.py``. A file belongs to one data set, so it has a checksum of that:
another version of NumPy may simulate other data from the same seed.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from quell.arrays import FloatArray
from quell.bench.compact import shorten
from quell.bench.density import Density, total_variation
from quell.bench.problems.base import BenchError
from quell.bench.truth.known import Truth

#: How far, in total variation, a marginal may move when it is cut down to fewer points.
TOLERANCE = 2e-4
#: Below this share of its peak a density counts as zero.
NEGLIGIBLE = 1e-7
MAKE = "make truth"


def shipped_truth(key: str, data: object) -> Truth:
    """The truth about a problem whose simulated data are ``data``."""
    path = files("quell.bench.truth").joinpath(f"{key}.json")
    if not path.is_file():
        raise BenchError(f"no truth comes with {key} for simulated data (compute it: {MAKE})")
    content = json.loads(path.read_text(encoding="utf-8"))
    if not same_data(content["checksum"], checksum(data)):
        other = content["made"]["versions"]["numpy"]
        raise BenchError(
            f"the data that NumPy {np.__version__} simulates for {key} are not those behind its "
            f"truth, which NumPy {other} simulated (compute it anew: {MAKE})"
        )
    return Truth(
        log_evidence=content["log_evidence"],
        mean=np.array(content["mean"]),
        covariance=np.array(content["covariance"]),
        marginals=tuple(_density(**marginal) for marginal in content["marginals"]),
        log_evidence_error=content["log_evidence_error"],
        on_box=True,
    )


def write_truth(path: Path, truth: Truth, data: object, made: dict[str, Any]) -> None:
    """Store the truth about a problem with these data, and how it was ``made``."""
    content = {
        "log_evidence": round(truth.log_evidence, 6),
        "log_evidence_error": round(truth.log_evidence_error, 6),
        "mean": shorten(truth.mean),
        "covariance": shorten(truth.covariance),
        "made": made,
        "checksum": checksum(data),
        "marginals": [_compact(marginal) for marginal in truth.marginals],
    }
    # One key per line: readable, and a change shows where it is.
    lines = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in content.items())
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def _compact(marginal: Density) -> dict[str, Any]:
    """The values of a density on as few of its grid's points as are enough."""
    grid = marginal.grid
    heights = marginal(grid)
    inside = np.flatnonzero(heights > NEGLIGIBLE * heights.max())
    first, last = int(inside[0]), int(inside[-1])
    for step in (64, 32, 16, 8, 4, 2, 1):
        count = -(-(last - first) // step) + 1
        stop = min(first + (count - 1) * step, len(grid) - 1)
        x = np.linspace(grid[first], grid[stop], count)
        values = [float(f"{height:.6g}") for height in marginal(x)]
        cut: dict[str, Any] = {"lower": float(x[0]), "upper": float(x[-1]), "density": values}
        if count > 3 and total_variation(_density(**cut), marginal) < TOLERANCE:
            return cut
    raise ValueError("a marginal is too narrow for its grid")


def _density(lower: float, upper: float, density: Sequence[float]) -> Density:
    return Density.from_grid(np.linspace(lower, upper, len(density)), np.array(density))


def checksum(data: object) -> list[float]:
    """Numbers that change with any of the numbers in ``data``.

    ``data`` is a dataclass of arrays, numbers and further such, or an array. Sums rather than a
    hash of the bytes: the last digit of a simulated number may differ between machines.

    >>> checksum(np.array([1.0, 2.0]))
    [2.0, 3.0, 2.0]
    """
    parts = [array.astype(np.float64).ravel() for array in _arrays(data)]
    values: FloatArray = np.concatenate(parts)
    finite = np.nan_to_num(values, nan=-1.0, posinf=1e6, neginf=-1e6)
    places = np.arange(len(values)) % 8191
    return [float(len(values)), float(finite.sum()), float(places @ finite)]


def _arrays(data: object) -> Iterator[np.ndarray[Any, np.dtype[Any]]]:
    if dataclasses.is_dataclass(data):
        for field in dataclasses.fields(data):
            yield from _arrays(getattr(data, field.name))
    elif isinstance(data, tuple | list):
        for entry in data:
            yield from _arrays(entry)
    else:
        yield np.atleast_1d(np.asarray(data))


def same_data(a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether two checksums are of the same data, up to rounding."""
    return len(a) == len(b) and bool(np.allclose(a, b, rtol=1e-9, atol=1e-9))
