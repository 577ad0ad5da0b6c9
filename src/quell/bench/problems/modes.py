"""Normals that are far apart, so that one that finds one of them does not know of the others, or
that lie across each other, in shapes that no single normal has.

All have integral one and no bounds; the plausible box is [−10, 10] in every coordinate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from quell.arrays import FloatArray
from quell.bench.problems.base import Benchmark
from quell.bench.problems.gaussian import log_normal, unbounded
from quell.bench.problems.lumpy import mixture_truth

HALF_WIDTH = 10.0


def two_modes(dimension: int) -> Benchmark:
    """Two equal normals of SD 0.5, at ∓6 on the first axis."""
    means = np.zeros((2, dimension))
    means[:, 0] = -6.0, 6.0
    return separate_normals("two_modes", means, np.full(means.shape, 0.5))


def four_modes(_dimension: int) -> Benchmark:
    """Four equal normals of SD 0.5, at the corners of a square of side 10; two dimensions."""
    means = np.array([[-5.0, -5.0], [-5.0, 5.0], [5.0, -5.0], [5.0, 5.0]])
    return separate_normals("four_modes", means, np.full(means.shape, 0.5))


def narrow_and_broad(dimension: int) -> Benchmark:
    """Two normals of equal mass and of SD 0.2 and 2, at ∓5 on the first axis.

    The narrow one is higher by a factor of ten in each dimension, but easily missed.
    """
    means = np.zeros((2, dimension))
    means[:, 0] = -5.0, 5.0
    sds = np.array([[0.2], [2.0]]) * np.ones(dimension)
    return separate_normals("narrow_and_broad", means, sds)


def labels(dimension: int) -> Benchmark:
    """Two components that a model does not know apart, with half of the parameters each; SD 0.5."""
    one, other = np.linspace(-6.0, 2.0, dimension // 2), np.linspace(5.0, -3.0, dimension // 2)
    means = np.array([[*one, *other], [*other, *one]])
    return separate_normals("labels", means, np.full(means.shape, 0.5))


def cross(_dimension: int) -> Benchmark:
    """Two equal normals of SDs 2 and 0.2 that cross at right angles; two dimensions."""
    return separate_normals("cross", np.zeros((2, 2)), np.array([[2.0, 0.2], [0.2, 2.0]]))


def halo(dimension: int) -> Benchmark:
    """A normal of SD 0.5 with 70 % of the mass within one of SD 2.5 with the rest."""
    sds = np.array([[0.5], [2.5]]) * np.ones(dimension)
    return separate_normals("halo", np.zeros((2, dimension)), sds, np.array([0.7, 0.3]))


def separate_normals(
    name: str, means: FloatArray, sds: FloatArray, weights: FloatArray | None = None
) -> Benchmark:
    """K normals, means and SDs (K, D); of equal mass without ``weights`` (K,), which sum to 1."""
    count, dimension = means.shape
    if weights is None:
        weights = np.full(count, 1 / count)
    log_weights = np.log(weights)

    def exact(theta: ArrayLike) -> FloatArray:
        theta = np.asarray(theta, dtype=np.float64)
        parts = log_normal(theta[..., None, :], means, sds).sum(-1) + log_weights
        return np.asarray(logsumexp(parts, axis=-1))

    return unbounded(
        name, np.zeros(dimension), HALF_WIDTH, exact=exact,
        make_truth=lambda: mixture_truth(0.0, weights, means, sds),
    )  # fmt: skip
