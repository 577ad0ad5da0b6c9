"""The linear part of the inference space: x = (v R)/s, and the R and s that whiten a covariance.

Variational whitening (Acerbi 2020, arXiv 2006.08655, Section 2.2 and supplement B.2): choose the
rotation R and the scales s such that a distribution with covariance C in v has unit covariance in
x. Correlations of at most 0.05 in absolute value are taken as zero when the axes are chosen.
"""

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.checks import matrix, raise_at, vector

NEGLIGIBLE_CORRELATION = 0.05  # supplement B.2
EPSILON = float(np.finfo(np.float64).eps)


def whitening(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """R (D, D), orthogonal with determinant +1, and s (D,) that whiten ``covariance`` (D, D).

    The columns of R are the eigenvectors of the covariance without its negligible correlations
    (with them, if the matrix is not positive definite otherwise). Each is assigned to the
    coordinate axis it is closest to and points the same way, so R is the identity when nothing is
    correlated, and permuting the coordinates merely permutes the axes of x.

    s is the standard deviation along each of these axes under the *full* covariance: variances
    become exactly one, and correlations exactly zero unless some were neglected.

    >>> R, s = whitening(np.diag([4.0, 9.0]))
    >>> R, s
    (array([[1., 0.],
           [0., 1.]]), array([2., 3.]))
    """
    from scipy.optimize import linear_sum_assignment  # slow to import

    correlation = _correlation(covariance)
    keep = np.abs(correlation) > NEGLIGIBLE_CORRELATION
    # Zeroing entries can make a matrix indefinite, whose "principal axes" mean nothing.
    if np.linalg.eigvalsh(np.where(keep, correlation, 0.0))[0] <= 0.0:
        keep = np.ones_like(keep)
    _, vectors = np.linalg.eigh(np.where(keep, covariance, 0.0))
    _, order = linear_sum_assignment(vectors**2, maximize=True)
    rotation = vectors[:, order]
    rotation = rotation * np.where(np.diag(rotation) < 0.0, -1.0, 1.0)
    if np.linalg.det(rotation) < 0.0:
        rotation[:, np.argmin(np.diag(rotation))] *= -1.0
    # Second-order accurate in the error of the axes, unlike the computed eigenvalues.
    variances = np.einsum("ij,ik,kj->j", rotation, covariance, rotation)
    # Rounding can lose the smallest variance of an all but singular matrix.
    return rotation, np.sqrt(np.where(variances > 0.0, variances, EPSILON * variances.max()))


def check_linear(
    rotation: ArrayLike, scales: ArrayLike, dimension: int
) -> tuple[FloatArray, FloatArray]:
    """R (D, D) and s (D,), refused unless R is a rotation and s positive."""
    rotation = matrix("rotation", rotation, dimension)
    error = np.inf
    if rotation.shape == (dimension, dimension):
        error = float(np.abs(rotation.T @ rotation - np.eye(dimension)).max())
    if not error < 1e-10:
        raise ValueError(
            f"rotation must be an orthogonal ({dimension}, {dimension}) matrix, got shape "
            f"{rotation.shape} with largest entry of |RᵀR - I| = {error:.3g}"
        )
    if np.linalg.det(rotation) < 0.0:
        raise ValueError("rotation must have determinant +1, got -1 (flip the sign of a column)")
    scales = vector("scales", scales, dimension)
    bad = ~((scales > 0.0) & np.isfinite(scales))
    if bad.any():
        raise_at("scales", scales, bad, "must be positive and finite")
    return rotation, scales


def check_covariance(covariance: ArrayLike, dimension: int) -> FloatArray:
    """The covariance (D, D), symmetrised; refused unless symmetric and positive definite."""
    covariance = matrix("covariance", covariance, dimension)
    if covariance.shape != (dimension, dimension):
        raise ValueError(
            f"covariance must have shape ({dimension}, {dimension}), got {covariance.shape}"
        )
    variances = np.diag(covariance)
    if not (variances > 0.0).all():
        bad = (covariance <= 0.0) & np.eye(dimension, dtype=bool)
        raise_at("covariance", covariance, bad, "is a variance and must be positive")
    asymmetry = np.abs(_correlation(covariance) - _correlation(covariance).T).max()
    if asymmetry > 1e-8:
        raise ValueError(
            "covariance must be symmetric, but its correlations differ from their transpose by up "
            f"to {asymmetry:.3g} (pass 0.5 * (C + C.T) if this is rounding)"
        )
    covariance = 0.5 * (covariance + covariance.T)
    smallest = float(np.linalg.eigvalsh(_correlation(covariance))[0])
    if smallest <= dimension * EPSILON:
        raise ValueError(
            "covariance must be positive definite, but the smallest eigenvalue of its correlation "
            f"matrix is {smallest:.3g} (add a small multiple of its diagonal to the diagonal)"
        )
    return covariance


def _correlation(covariance: FloatArray) -> FloatArray:
    deviations = np.sqrt(np.diag(covariance))
    return covariance / deviations / deviations[:, None]
