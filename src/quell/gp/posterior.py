"""The surrogate itself: a Gaussian process given data, for S hyperparameter samples.

Per sample (paper, Eq. S6), with K_y the training covariance and α = K_y⁻¹ (y - m(X)):

    f̄(x)     = m(x) + κ(x, X) α
    C(x, x') = κ(x, x') - κ(x, X) K_y⁻¹ κ(X, x').

What is known of f (the data's ``edges``) is left out of y here, and added to every mean.

A *pending* point has a place but no value yet: it enters K_y, and so every covariance, but has
α = 0 and leaves every mean alone. That is exact, because C does not depend on values.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import blas, lapack

from quell.arrays import FloatArray
from quell.checks import as_floats, matrix, vector
from quell.gp.data import TrainingData, as_noise_variance
from quell.gp.factor import extend_factor, factorise
from quell.gp.model import (
    NUGGET,
    Hyperparameters,
    Layout,
    kernel,
    kernel_product,
    mean_function,
    noise_variance,
)
from quell.gp.pairs import Pairs
from quell.gp.pooling import between_variance, pooled_mean


@dataclass(frozen=True, eq=False)
class GaussianProcess:
    """Posterior of the log joint given observations, over S weighted hyperparameter samples.

    Build it with :meth:`condition`; it never changes. ``x`` (M, D) and ``variance`` (M,) hold
    the N observed points followed by the pending ones; ``theta`` (S, size), ``weights`` (S,)
    sum to one; ``factors`` (S, M, M) are upper Cholesky factors of K_y (row-major, so that a
    transposed view is the lower factor LAPACK wants); ``alpha`` (S, M); ``jitter`` (S,) what
    the factorisation added to the diagonal, almost always 0.

    >>> data = TrainingData.from_arrays([[0.0], [1.0], [2.0]], [0.0, -0.5, -2.0])
    >>> gp = GaussianProcess.condition(data, [[0.0, 0.0, -5.0, 0.0, 0.0, 0.0]])
    >>> mean, variance = gp.pooled([[1.0]])
    >>> mean.round(3), bool(variance < 1e-3)
    (array([-0.5]), True)
    """

    data: TrainingData
    x: FloatArray
    variance: FloatArray
    theta: FloatArray
    weights: FloatArray
    factors: FloatArray
    alpha: FloatArray
    jitter: FloatArray

    @classmethod
    def condition(
        cls,
        data: TrainingData,
        theta: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        pending: ArrayLike | None = None,
        pending_sd: ArrayLike = 0.0,
    ) -> "GaussianProcess":
        """The posterior given ``data`` for hyperparameter vectors ``theta`` (S, size).

        ``pending`` (P, D) are points under evaluation, ``pending_sd`` the noise SD expected
        of them (nan = unknown, where the data have unknown noise as well).
        """
        layout = Layout(data.dimension, data.has_unknown_noise)
        theta = matrix("theta", theta, layout.size, names=layout.names)
        if len(theta) == 0:
            raise ValueError("theta must have at least one row, got none")
        weights = _as_weights(weights, len(theta))
        x, variance = data.x, data.variance
        if pending is not None:
            pending = matrix("pending", pending, data.dimension)
            pending_variance = as_noise_variance(pending_sd, len(pending), argument="pending_sd")
            if np.isnan(pending_variance).any() and not data.has_unknown_noise:
                raise ValueError("pending_sd is nan (unknown), but the data's noise is all known")
            x = np.concatenate([x, pending])
            variance = np.concatenate([variance, pending_variance])

        n_samples, size = len(theta), len(x)
        factors = np.zeros((n_samples, size, size))
        alpha = np.zeros((n_samples, size))
        jitter = np.zeros(n_samples)
        pairs = Pairs(x)
        for s in range(n_samples):
            hyper = layout.unpack(theta[s])
            _, jitter[s] = factorise(pairs.covariance(hyper, variance), out=factors[s].T)
            alpha[s, : data.size] = _solve_observed(factors[s].T, hyper, data)
        return cls(data, x, variance, theta, weights, factors, alpha, jitter)

    @property
    def n_samples(self) -> int:
        """Number of hyperparameter samples S."""
        return len(self.theta)

    @property
    def dimension(self) -> int:
        """Number of coordinates D."""
        return self.data.dimension

    @property
    def n_pending(self) -> int:
        """Number of points without a value."""
        return len(self.x) - self.data.size

    @property
    def layout(self) -> Layout:
        """Where each hyperparameter sits in a row of ``theta``."""
        return Layout(self.data.dimension, self.data.has_unknown_noise)

    @cached_property
    def hyper(self) -> Hyperparameters:
        """The hyperparameters by name, with a leading sample axis."""
        return self.layout.unpack(self.theta)

    @cached_property
    def samples(self) -> tuple[Hyperparameters, ...]:
        """The same, one by one."""
        return tuple(self.hyper[s] for s in range(self.n_samples))

    def only(self, s: int) -> "GaussianProcess":
        """The posterior under sample ``s`` alone."""
        return self.select(slice(s, s + 1))

    def select(self, samples: slice | NDArray[np.intp]) -> "GaussianProcess":
        """The posterior under some of the samples, their weights in proportion."""
        weights = self.weights[samples]
        return replace(
            self,
            theta=self.theta[samples],
            weights=weights / weights.sum(),
            factors=self.factors[samples],
            alpha=self.alpha[samples],
            jitter=self.jitter[samples],
        )

    def lower(self, s: int) -> FloatArray:
        """Lower Cholesky factor of K_y under sample ``s``, (M, M) in Fortran order."""
        return self.factors[s].T

    def known(self, x: FloatArray) -> FloatArray | float:
        """The part of f that is known, at points (..., D): shape (...), or 0 without any."""
        return 0.0 if self.data.edges is None else self.data.edges.at(x)

    def predict(self, x: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Latent mean and variance per sample at points (n, D), each (S, n)."""
        x = matrix("x", x, self.dimension)
        mean = np.empty((self.n_samples, len(x)))
        variance = np.empty_like(mean)
        for s in range(self.n_samples):
            mean[s], variance[s] = self.sample_moments(s, x)
        return mean, variance

    def sample_moments(
        self, s: int, x: FloatArray, cross: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Latent mean and variance of sample ``s`` at points (n, D), each (n,).

        ``cross`` (n, M) is κ(x, X) where it is known; it is overwritten.
        """
        hyper = self.samples[s]
        cross = kernel(hyper, x, self.x) if cross is None else cross
        mean = mean_function(hyper, x) + cross @ self.alpha[s] + self.known(x)
        half = blas.dtrsm(1.0, self.lower(s), cross.T, lower=1, overwrite_b=1)
        variance = hyper.output_variance - np.einsum("mn,mn->n", half, half)
        return mean, np.maximum(variance, 0.0, out=variance)

    def predict_mean(self, x: ArrayLike) -> FloatArray:
        """Latent mean per sample at points (n, D), (S, n); cheaper than :meth:`predict`."""
        x = matrix("x", x, self.dimension)
        known = self.known(x)
        return np.stack(
            [
                mean_function(hyper, x) + kernel_product(hyper, x, self.x, alpha) + known
                for hyper, alpha in zip(self.samples, self.alpha, strict=True)
            ]
        )

    def pooled(self, x: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Latent mean and variance over all samples at points (n, D), each (n,).

        The variance is the average within samples plus the variance between their means.
        """
        mean, variance = self.predict(x)
        total = pooled_mean(variance, self.weights) + between_variance(mean, self.weights)
        return pooled_mean(mean, self.weights), total

    def covariance(self, a: ArrayLike, b: ArrayLike) -> FloatArray:
        """C(a, b) per sample between points (n, D) and (m, D), shape (S, n, m)."""
        a, b = matrix("a", a, self.dimension), matrix("b", b, self.dimension)
        out = np.empty((self.n_samples, len(a), len(b)))
        for s in range(self.n_samples):
            hyper = self.samples[s]
            half_a = self.whiten(s, kernel(hyper, self.x, a))
            half_b = self.whiten(s, kernel(hyper, self.x, b))
            out[s] = kernel(hyper, a, b) - half_a.T @ half_b
        return out

    def whiten(self, s: int, columns: FloatArray) -> FloatArray:
        """L⁻¹ B for the factor of sample ``s`` and columns B (M, ...)."""
        return np.asarray(lapack.dtrtrs(self.lower(s), columns, lower=1)[0])

    def unwhiten(self, s: int, columns: FloatArray) -> FloatArray:
        """L⁻ᵀ B for the factor of sample ``s``: after :meth:`whiten` it is :meth:`solve`."""
        return np.asarray(lapack.dtrtrs(self.lower(s), columns, lower=1, trans=1)[0])

    def solve(self, s: int, columns: FloatArray) -> FloatArray:
        """K_y⁻¹ B for sample ``s`` and columns B (M, ...)."""
        return np.asarray(lapack.dpotrs(self.lower(s), columns, lower=1)[0])

    def new_observation_variance(self, noise_sd: ArrayLike, size: int) -> FloatArray:
        """What a new observation of this noise SD adds to the latent variance, (S, size).

        σ̄² + s² and the kernel's nugget; ``noise_sd`` is a number or one per point, nan = ν.
        """
        reported = as_noise_variance(noise_sd, size)
        self._check_known(reported)
        return np.stack(
            [noise_variance(h, reported) + NUGGET * h.output_variance for h in self.samples]
        )

    def append(self, x: ArrayLike, y: ArrayLike, noise_sd: ArrayLike = 0.0) -> "GaussianProcess":
        """The posterior after more observations, hyperparameters unchanged.

        One at ``x`` (D,) with the value y, or P of them at (P, D) with values (P,). A bordered
        Cholesky update, O(N²) per sample and point; with pending points in the way, or where
        rounding demands it, the covariance is factorised again.
        """
        new = TrainingData.from_arrays(self._points(x), np.atleast_1d(y), noise_sd)
        self._check_known(new.variance)
        data = self.data.append(new)
        if self.n_pending:
            return self._rebuild(data, self.x[self.data.size :], self.variance[self.data.size :])
        extended = self._extend(new.x, new.variance)
        if extended is None:
            return self._rebuild(data)
        alpha = np.stack(
            [
                _solve_observed(extended.factors[s].T, hyper, data)
                for s, hyper in enumerate(self.samples)
            ]
        )
        return replace(extended, data=data, alpha=alpha)

    def append_pending(self, x: ArrayLike, noise_sd: ArrayLike = 0.0) -> "GaussianProcess":
        """The posterior with one more point ``x`` (D,) under evaluation, or P more, (P, D)."""
        points = self._points(x)
        variance = as_noise_variance(noise_sd, len(points))
        self._check_known(variance)
        extended = self._extend(points, variance)
        if extended is None:
            return self._rebuild(
                self.data,
                np.concatenate([self.x[self.data.size :], points]),
                np.append(self.variance[self.data.size :], variance),
            )
        return extended

    def _points(self, x: ArrayLike) -> FloatArray:
        x = as_floats("x", x)
        return matrix(
            "x", vector("x", x, self.dimension)[None] if x.ndim == 1 else x, self.dimension
        )

    def _check_known(self, variance: FloatArray) -> None:
        if np.isnan(variance).any() and not self.data.has_unknown_noise:
            raise ValueError(
                "noise_sd is nan (unknown), but all noise was known when the hyperparameters "
                "were fitted: train again with the new observation"
            )

    def _rebuild(
        self,
        data: TrainingData,
        pending: FloatArray | None = None,
        pending_variance: FloatArray | float = 0.0,
    ) -> "GaussianProcess":
        return self.condition(
            data, self.theta, self.weights, pending=pending, pending_sd=np.sqrt(pending_variance)
        )

    def _extend(self, x: FloatArray, variance: FloatArray) -> "GaussianProcess | None":
        """Factors with ``x`` (P, D) appended as pending points; None if one needs a rebuild."""
        size, more = len(self.x), len(x)
        if more == 0:
            return self
        factors = np.zeros((self.n_samples, size + more, size + more))
        factors[:, :size, :size] = self.factors
        for s, hyper in enumerate(self.samples):
            corner = kernel(hyper, x, x)
            own = hyper.output_variance * (1 + NUGGET) + noise_variance(hyper, variance)
            np.fill_diagonal(corner, own + self.jitter[s])
            border = extend_factor(self.lower(s), kernel(hyper, self.x, x), corner)
            if border is None:
                return None
            rows, lower = border
            factors[s, :size, size:], factors[s, size:, size:] = rows, lower.T
        return replace(
            self,
            x=np.concatenate([self.x, x]),
            variance=np.concatenate([self.variance, variance]),
            factors=factors,
            alpha=np.pad(self.alpha, ((0, 0), (0, more))),
        )


def _solve_observed(lower: FloatArray, hyper: Hyperparameters, data: TrainingData) -> FloatArray:
    """α of the observed points: the leading block of the factor is their own factor."""
    residual = data.rest - mean_function(hyper, data.x)
    size = data.size
    half = blas.dtrsv(lower[:size, :size], residual, lower=1)
    return np.asarray(blas.dtrsv(lower[:size, :size], half, lower=1, trans=1))


def _as_weights(weights: ArrayLike | None, n_samples: int) -> FloatArray:
    if weights is None:
        return np.full(n_samples, 1.0 / n_samples)
    weights = as_floats("weights", weights)
    if weights.shape != (n_samples,):
        raise ValueError(
            f"weights must have shape ({n_samples},), one per row of theta, got {weights.shape}"
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise ValueError(f"weights must be non-negative with a positive sum, got {weights}")
    return np.asarray(weights / weights.sum())
