"""Derivatives of the surrogate in x: of its mean and of its variance, per hyperparameter sample.

With h = K_y⁻¹ κ(X, x), and ∂κ(x, x_n)/∂x_i = κ(x, x_n) (x_n,i - x_i)/ℓ_i²,

    ∂f̄(x)/∂x = ∂m(x)/∂x + Σ_n α_n ∂κ(x, x_n)/∂x
    ∂v(x)/∂x = -2 Σ_n h_n ∂κ(x, x_n)/∂x,        v(x) = C(x, x).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import blas

from quell.arrays import FloatArray
from quell.checks import vector
from quell.gp.pooling import between_divisor, between_variance
from quell.gp.posterior import GaussianProcess
from quell.native import kernels


@dataclass(frozen=True, eq=False)
class LocalPrediction:
    """The posterior at one point, with what its derivatives there need; build it with :meth:`at`.

    ``x`` (D,); ``cross`` (S, M) is κ(x, X) and ``solved`` (S, M) is K_y⁻¹ κ(X, x), over the
    observed and pending points; ``mean`` and ``variance`` (S,) are the latent ones.

    >>> from quell.gp import TrainingData
    >>> data = TrainingData.from_arrays([[-1.0], [1.0]], [-0.5, -0.5])
    >>> gp = GaussianProcess.condition(data, [[0.0, 0.0, -5.0, 0.0, 0.0, 0.0]])
    >>> local = LocalPrediction.at(gp, [0.0])
    >>> bool(abs(local.mean_gradient()[0, 0]) < 1e-12)   # the data are symmetric
    True
    """

    gp: GaussianProcess
    x: FloatArray
    cross: FloatArray
    solved: FloatArray
    mean: FloatArray
    variance: FloatArray

    @classmethod
    def at(cls, gp: GaussianProcess, x: ArrayLike) -> "LocalPrediction":
        """The prediction of ``gp`` at ``x`` (D,)."""
        x = vector("x", x, gp.dimension)
        if kernels is None:
            return cls._by_numpy(gp, x)
        n_samples, m = gp.alpha.shape
        out = np.empty(n_samples * (2 * m + 2))
        arrays = (x, gp.x, gp.theta, gp.factors, gp.alpha)
        kernels.local_prediction(*map(np.ascontiguousarray, arrays), out)
        size = n_samples * m
        cross, solved = out[: 2 * size].reshape(2, n_samples, m)
        mean, variance = out[2 * size :].reshape(2, n_samples)
        mean += gp.known(x)
        return cls(gp, x, cross, solved, mean, variance)

    @classmethod
    def _by_numpy(cls, gp: GaussianProcess, x: FloatArray) -> "LocalPrediction":
        """The same as :meth:`at`."""
        hyper = gp.hyper
        cross = squared_exponential(gp, gp.x - x)
        mean = np.einsum("sm,sm->s", cross, gp.alpha)
        mean += hyper.mean_max
        mean -= 0.5 * (((x - hyper.mean_location) / hyper.mean_scales) ** 2).sum(axis=1)
        mean += gp.known(x)
        solved = np.empty_like(cross)
        explained = np.empty(gp.n_samples)
        for s in range(gp.n_samples):
            lower = gp.lower(s)
            half = blas.dtrsv(lower, cross[s], lower=1)
            explained[s] = half @ half
            solved[s] = blas.dtrsv(lower, half, lower=1, trans=1, overwrite_x=1)
        return cls(gp, x, cross, solved, mean, np.maximum(hyper.output_variance - explained, 0.0))

    def cross_gradient(self, coefficients: FloatArray) -> FloatArray:
        """Σ_n c_n ∂κ(x, x_n)/∂x for coefficients (S, M), shape (S, D)."""
        weighted = coefficients * self.cross
        # Differences first: x_n - x is exact for near-duplicates, Σ c x_n - x Σ c is not.
        return (weighted @ (self.gp.x - self.x)) / self.gp.hyper.lengths**2

    def mean_gradient(self) -> FloatArray:
        """∂f̄/∂x per sample, (S, D)."""
        hyper = self.gp.hyper
        trend = (hyper.mean_location - self.x) / hyper.mean_scales**2
        if self.gp.data.edges is not None:
            trend = trend + self.gp.data.edges.gradient(self.x)
        return trend + self.cross_gradient(self.gp.alpha)

    def variance_gradient(self) -> FloatArray:
        """∂v/∂x per sample, (S, D)."""
        return self.cross_gradient(-2 * self.solved)

    def pooled_variance(self) -> float:
        """Variance over all samples: that within them plus that between their means."""
        w = self.gp.weights
        return float(w @ self.variance + between_variance(self.mean, w))

    def pooled(self) -> tuple[float, float, FloatArray, FloatArray]:
        """Mean and variance over all samples, and their gradients (D,).

        The same pooling as :meth:`GaussianProcess.pooled`.
        """
        w = self.gp.weights
        mean = float(w @ self.mean)
        by_mean = self.mean_gradient()
        between_slope = 2 * w * (self.mean - mean) / between_divisor(w) if len(w) > 1 else 0 * w
        variance_gradient = w @ self.variance_gradient() + between_slope @ by_mean
        return mean, self.pooled_variance(), w @ by_mean, variance_gradient


def squared_exponential(gp: GaussianProcess, offsets: FloatArray) -> FloatArray:
    """κ of every sample at offsets x_n - x, (M, D) or one set per sample (S, M, D); (S, M)."""
    hyper = gp.hyper
    inverse = (-0.5 / hyper.lengths**2)[:, :, None]
    out = (offsets**2 @ inverse)[:, :, 0]
    np.exp(out, out=out)
    out *= hyper.output_variance[:, None]
    return np.asarray(out)


__all__ = ["LocalPrediction", "squared_exponential"]
