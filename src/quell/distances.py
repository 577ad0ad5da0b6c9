"""Squared distances between points.

They are SciPy's, whose module is slow to import: it is imported with the first distances, not
with `quell`.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from quell.arrays import FloatArray


def squared_distances(a: FloatArray, b: FloatArray) -> FloatArray:
    """|a_i - b_j|² of points (n, D) and (m, D), shape (n, m).

    Coordinates are subtracted before they are squared: exact for near-duplicates, where
    |a|² + |b|² - 2ab is not.

    >>> import numpy as np
    >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [1.0, 0.0]]))
    array([[25.,  1.]])
    """
    distances: FloatArray = _cdist()(a, b, "sqeuclidean")
    return distances


@cache
def _cdist() -> Callable[..., Any]:
    from scipy.spatial.distance import cdist

    return cdist
