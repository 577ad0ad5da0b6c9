"""The truth about the problems with simulated data: small files that come with the package.

Made by ``benchmarks/make_truth.py``. A file belongs to one data set, so it has a checksum of that:
another version of NumPy may simulate other data from the same seed.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from quell.arrays import FloatArray
from quell.bench.density import Density
from quell.bench.problems.base import BenchError
from quell.bench.truth.known import Truth

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
            f"truth, which NumPy {other} simulated (compute it again: {MAKE})"
        )
    return Truth(
        log_evidence=content["log_evidence"],
        mean=np.array(content["mean"]),
        covariance=np.array(content["covariance"]),
        marginals=tuple(density_on_grid(**marginal) for marginal in content["marginals"]),
        log_evidence_error=content["log_evidence_error"],
        on_box=True,
    )


def density_on_grid(lower: float, upper: float, density: Sequence[float]) -> Density:
    """The density with these heights at equally spaced points from ``lower`` to ``upper``."""
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
