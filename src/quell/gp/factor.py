"""Cholesky factors of training covariances that may be numerically singular."""

import numpy as np
from scipy.linalg import blas, lapack

from quell.arrays import FloatArray

#: Jitter tried in turn when a factorisation fails, relative to the largest diagonal entry.
JITTER_LADDER = (0.0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8)


class FactorisationError(np.linalg.LinAlgError):
    """The covariance cannot be factorised even with the largest documented jitter."""


def factorise(covariance: FloatArray, out: FloatArray | None = None) -> tuple[FloatArray, float]:
    """Lower Cholesky factor of a covariance (N, N) and the jitter it took.

    Only the lower triangle is read. The factor is in Fortran order; above its diagonal stands
    what stood in ``covariance``. It is written to ``out`` where that is given. ``jitter`` is
    the variance that was added to the diagonal: 0 but for covariances that are singular to
    working precision, never more than 10⁻⁸ of the largest diagonal entry; beyond that
    :class:`FactorisationError` is raised.
    """
    diagonal = covariance.diagonal()
    largest = float(diagonal.max())
    factor = np.empty(covariance.shape, order="F") if out is None else out
    for relative in JITTER_LADDER:
        jitter = relative * largest
        np.copyto(factor, covariance)
        if jitter:
            np.fill_diagonal(factor, diagonal + jitter)
        lower, info = lapack.dpotrf(factor, lower=1, clean=0, overwrite_a=1)
        if info == 0 and np.isfinite(lower[-1, -1]):
            return lower, jitter
    raise FactorisationError(
        f"the {len(factor)} x {len(factor)} training covariance is not positive definite, even "
        f"with a jitter of {jitter:.3g} (largest variance {largest:.3g}); are there non-finite "
        f"values in it, or hyperparameters far out of scale?"
    )


#: Up to this size LAPACK's own inversion is slow and one block split pays; beyond it does not.
_SPLIT_BELOW = 350


def inverse_from_factor(lower: FloatArray) -> FloatArray:
    """Lower triangle of K_y⁻¹ from the lower factor (N, N) of K_y, which it overwrites."""
    size = len(lower)
    if not 64 <= size < _SPLIT_BELOW:
        return lapack.dpotri(lower, lower=1, overwrite_c=1)[0]
    # [[A, 0], [B, C]]⁻¹ = [[A⁻¹, 0], [-C⁻¹ B A⁻¹, C⁻¹]], and then the product L⁻ᵀ L⁻¹.
    half = size // 2
    first, _ = lapack.dtrtri(lower[:half, :half], lower=1)
    last, _ = lapack.dtrtri(lower[half:, half:], lower=1)
    border = blas.dtrmm(-1.0, first, lower[half:, :half], side=1, lower=1)
    lower[:half, :half] = first
    lower[half:, :half] = blas.dtrmm(1.0, last, border, lower=1, overwrite_b=1)
    lower[half:, half:] = last
    return lapack.dlauum(lower, lower=1, overwrite_c=1)[0]


def extend_factor(
    lower: FloatArray, columns: FloatArray, corner: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Bordered Cholesky: what P more points add to a lower factor (N, N).

    ``columns`` (N, P) are their covariances with the old points, ``corner`` (P, P) those among
    themselves, noise included. Returns the transposed new rows of the factor (N, P) and the lower
    factor (P, P) of what the old points leave of the corner, or None where rounding has eaten a new
    pivot, so that the whole matrix has to be factorised again.
    """
    rows, _ = lapack.dtrtrs(lower, columns, lower=1)
    remainder = corner - rows.T @ rows
    own, info = lapack.dpotrf(remainder, lower=1, clean=1)
    # A pivot carries a rounding error of some N ulp of the variance.
    rounding = 1e-15 * (len(rows) + len(corner)) * corner.diagonal()
    if info != 0 or not np.all(own.diagonal() ** 2 > rounding):
        return None
    return rows, own
