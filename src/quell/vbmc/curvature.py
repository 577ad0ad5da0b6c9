"""Directions in which the log joint is flatter than the posterior says.

The posterior sees no further than the surrogate, and that no further along a narrow ridge than its
axes allow. The evaluations together may know more: a quadratic is fitted to them by Bayesian linear
regression, in coordinates z in which the posterior is round,

    y ≈ c + bᵀz − ½ zᵀHz,   a priori H = I (the posterior's own quadratic) with SD 3 per entry.

Where an eigenvalue of H is below 1 the posterior is stretched to fit it. That changes no result by
itself: the stretched covariance only gives the axes in which surrogate and posterior are fitted
next. Where the constants come from: docs/experiments/ridges.md.
"""

from contextlib import suppress

import numpy as np

from quell.arrays import FloatArray
from quell.gp import TrainingData

#: Prior SDs of the entries of H, of b and of c.
CURVATURE_SD, SLOPE_SD, LEVEL_SD = 3.0, 3.0, 100.0
#: The quadratic is off by this share of the distance below the top, and by this SD anywhere.
MISFIT, SMALLEST_SD = 0.1, 0.1
#: An eigenvalue counts as no smaller than this part of its standard error.
ERROR_PART = 0.5
LARGEST_STRETCH = 30.0
#: What an unknown noise variance counts as here.
UNKNOWN_VARIANCE = 1.0
#: The shortest axis of the posterior counts as at least this part of its longest.
THINNEST = 1e-6


def stretched(
    data: TrainingData, mean: FloatArray, covariance: FloatArray, to_standard: FloatArray
) -> FloatArray:
    """The ``covariance`` (D, D) around ``mean`` (D,), longer where the data are flat.

    Axes are not made longer than one plausible width: ``to_standard`` (D, D) takes directions in x
    to coordinates in which that is 1.

    >>> x = np.random.default_rng(0).normal(size=(100, 2))
    >>> data = TrainingData.from_arrays(x, -0.5 * x[:, 0]**2, noise_sd=0.1)
    >>> found = stretched(data, np.zeros(2), np.diag([1.0, 0.01]), np.eye(2) / 2)
    >>> np.round(np.sqrt(np.diag(found)), 1)
    array([1., 2.])
    """
    directions, sds = principal_axes(covariance)
    values, vectors, errors = curvature(data, (data.x - mean) @ directions / sds)
    axes = directions * sds @ vectors
    flatness = np.maximum(np.maximum(values, ERROR_PART * errors), LARGEST_STRETCH**-2)
    most = 1.0 / np.linalg.norm(axes.T @ to_standard, axis=1)
    axes = axes * np.maximum(1.0, np.minimum(1.0 / np.sqrt(flatness), most))
    return np.asarray(axes @ axes.T)


def principal_axes(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The axes of a covariance (D, D): directions (columns), and the SDs (D,) along them."""
    spread, directions = np.linalg.eigh(covariance)
    return directions, np.sqrt(np.maximum(spread, THINNEST**2 * spread[-1]))


def curvature(data: TrainingData, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Eigenvalues of H, eigenvectors (columns), and standard errors of the eigenvalues."""
    dimension = z.shape[1]
    variance = np.where(np.isnan(data.variance), UNKNOWN_VARIANCE, data.variance) + SMALLEST_SD**2
    top = np.max(data.rest - np.sqrt(variance))
    sd = np.sqrt(variance + (MISFIT * np.maximum(0.0, top - data.rest)) ** 2)
    row, column = np.triu_indices(dimension)
    diagonal = row == column
    products = -np.where(diagonal, 0.5, 1.0) * z[:, row] * z[:, column]
    design = np.concatenate([np.ones((len(z), 1)), z, products], axis=1) / sd[:, None]
    prior_sd = np.concatenate(
        [[LEVEL_SD], np.full(dimension, SLOPE_SD), np.full(len(row), CURVATURE_SD)]
    )
    design *= prior_sd
    residual = (data.rest - top + 0.5 * np.sum(z**2, axis=1)) / sd  # of the prior mean H = I
    covariance = _covariance(design)
    coefficients = covariance @ (design.T @ residual)
    residual = residual - design @ coefficients
    freedom = len(z) - np.einsum("ni,ij,nj->", design, covariance, design)
    inflation = max(1.0, float(residual @ residual) / max(1.0, freedom))
    h = np.eye(dimension)
    entries = CURVATURE_SD * coefficients[1 + dimension :]
    h[row, column] += entries
    h[column, row] = h[row, column]
    values, vectors = np.linalg.eigh(h)
    quadratic = inflation * CURVATURE_SD**2 * covariance[1 + dimension :, 1 + dimension :]
    weights = np.where(diagonal, 1.0, 2.0)[:, None] * vectors[row] * vectors[column]
    errors = np.sqrt(np.einsum("ik,ij,jk->k", weights, quadratic, weights))
    return values, vectors, errors


def _covariance(design: FloatArray) -> FloatArray:
    """(DᵀD + I)⁻¹ (p, p) of a design D (n, p).

    By its singular values where some points are so far out that DᵀD has lost the others.
    """
    with suppress(np.linalg.LinAlgError):
        found = np.linalg.inv(design.T @ design + np.eye(design.shape[1]))
        if (np.linalg.eigvalsh(0.5 * found + 0.5 * found.T) > 0).all():
            return np.asarray(found)
    _, values, vectors = np.linalg.svd(design)
    values = np.append(values, np.zeros(len(vectors) - len(values)))
    return np.asarray(vectors.T / (values**2 + 1.0) @ vectors)
