"""Quasi-random points: Sobol sequences, randomised by a digital shift.

A Sobol sequence is a fixed list of integers per coordinate; combining all of them with one
random integer by exclusive or makes every point uniform and keeps the points as evenly spread
as before. The list is made once per dimension and length, and a shift costs almost nothing;
scrambling the sequence again for every use would cost more than using it.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from quell.arrays import FloatArray

BITS = 30


def uniform_points(rng: np.random.Generator, n: int, dimension: int) -> FloatArray:
    """``n`` points (n, dimension) spread evenly over the open unit cube.

    Powers of two fill space most evenly; other numbers take the beginning of the next longer
    sequence.

    >>> u = uniform_points(np.random.default_rng(0), 64, 2)
    >>> np.histogram(u[:, 0], bins=8, range=(0, 1))[0]
    array([8, 8, 8, 8, 8, 8, 8, 8])
    """
    if n < 1:
        return np.empty((0, dimension))
    shift = rng.integers(2**BITS, size=dimension)
    integers = _sobol_integers(dimension, (n - 1).bit_length())[:n] ^ shift
    # The points lie on a grid that contains 0: move them to the middle of its cells.
    return np.asarray((integers + 0.5) * 0.5**BITS, dtype=np.float64)


@lru_cache(maxsize=64)
def _sobol_integers(dimension: int, log2_n: int) -> NDArray[np.int64]:
    """The first 2^log2_n points of the sequence, in units of 2^-BITS."""
    from scipy.stats import qmc  # slow to import

    points = qmc.Sobol(dimension, scramble=False, bits=BITS).random_base2(log2_n)
    integers = np.asarray(points * 2.0**BITS, dtype=np.int64)
    integers.setflags(write=False)
    return integers
