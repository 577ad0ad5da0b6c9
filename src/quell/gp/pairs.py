"""The kernel between all pairs of training points, for many hyperparameters.

Without compiled kernels the squared differences of the pairs, D N (N - 1)/2 numbers, are kept:
distances for new length scales are then one product of a vector with a matrix, and half of the
exponentials are saved.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from quell.arrays import FloatArray
from quell.gp.model import NUGGET, Hyperparameters, noise_variance
from quell.native import kernels


class Pairs:
    """All pairs of the points ``x`` (N, D).

    >>> from quell.gp.model import Layout
    >>> hyper = Layout(1).unpack(np.zeros(6))
    >>> Pairs(np.array([[0.0], [2.0]])).covariance(hyper, np.array([0.5, 0.25])).round(3)
    array([[2.5  , 0.   ],
           [0.135, 2.25 ]])
    """

    def __init__(self, x: FloatArray) -> None:
        self.size = len(x)
        self._columns = np.ascontiguousarray(x.T)

    @cached_property
    def _squares(self) -> tuple[NDArray[np.intp], FloatArray]:
        """Places of the pairs in a lower triangle, and their squared differences (D, pairs)."""
        above, below = np.triu_indices(self.size, 1)
        all_squares = np.empty((len(self._columns), len(above)))
        # Subtracted before squared: exact for near-duplicates.
        for squares, column in zip(all_squares, self._columns, strict=True):
            np.subtract(column[above], column[below], out=squares)
            np.square(squares, out=squares)
        # In Fortran order, where a column is one run.
        return above * self.size + below, all_squares

    def fill_kernel(self, out: FloatArray, hyper: Hyperparameters) -> None:
        """Write κ(x_n, x_m), n > m, into the strictly lower triangle of ``out`` (Fortran order)."""
        if kernels is not None:
            weights, variance = 0.5 / hyper.lengths**2, float(hyper.output_variance)
            kernels.fill_kernel(out.T, self._columns, weights, variance)
            return
        places, squares = self._squares
        condensed = (-0.5 / hyper.lengths**2) @ squares
        np.exp(condensed, out=condensed)
        condensed *= hyper.output_variance
        out.ravel(order="K")[places] = condensed

    def covariance(self, hyper: Hyperparameters, reported: FloatArray) -> FloatArray:
        """Lower triangle (zeros above) of K_y of one sample, noise and nugget included.

        ``reported`` (N,) are the reported noise variances.
        """
        out = np.zeros((self.size, self.size), order="F")
        self.fill_kernel(out, hyper)
        np.fill_diagonal(out, kernel_diagonal(hyper) + noise_variance(hyper, reported))
        return out


def kernel_diagonal(hyper: Hyperparameters) -> FloatArray:
    """κ(x, x) at a training point, nugget included."""
    return hyper.output_variance * (1.0 + NUGGET)
