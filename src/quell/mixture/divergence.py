"""Distances between distributions."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from quell.arrays import FloatArray


def gaussian_kl(
    mean_a: FloatArray, covariance_a: FloatArray, mean_b: FloatArray, covariance_b: FloatArray
) -> float:
    """KL divergence KL(a‖b) of two normals; infinite if a covariance is singular to rounding.

    >>> gaussian_kl(np.zeros(2), np.eye(2), np.array([1.0, 0.0]), np.eye(2))
    0.5
    """
    try:
        factor_a, factor_b = cho_factor(covariance_a), cho_factor(covariance_b)
    except LinAlgError:
        return float("inf")
    shift = mean_a - mean_b
    trace = np.trace(cho_solve(factor_b, covariance_a))
    logs = np.log(np.diag(factor_b[0]) / np.diag(factor_a[0])).sum()
    return float(0.5 * (trace + shift @ cho_solve(factor_b, shift) - len(mean_a)) + logs)


def gaussian_skl(
    mean_a: FloatArray, covariance_a: FloatArray, mean_b: FloatArray, covariance_b: FloatArray
) -> float:
    """Symmetrised KL divergence of two normals, ½ [KL(a‖b) + KL(b‖a)] (paper, Eq. S21).

    Between the normals with the moments of two distributions it is their "Gaussianised" gsKL. It
    does not change under invertible affine maps of the space. It is infinite if a covariance is
    singular to rounding.

    >>> gaussian_skl(np.zeros(2), np.eye(2), np.array([1.0, 0.0]), np.eye(2))
    0.5
    """
    dimension = len(mean_a)
    try:
        factor_a, factor_b = cho_factor(covariance_a), cho_factor(covariance_b)
    except LinAlgError:
        return float("inf")
    shift = mean_a - mean_b
    trace = np.trace(cho_solve(factor_a, covariance_b)) + np.trace(
        cho_solve(factor_b, covariance_a)
    )
    distance = shift @ cho_solve(factor_a, shift) + shift @ cho_solve(factor_b, shift)
    return float(0.25 * (trace + distance - 2 * dimension))
