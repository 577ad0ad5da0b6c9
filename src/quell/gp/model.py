"""The surrogate's model: squared-exponential kernel, negative quadratic mean, noise.

    κ(x, x') = σ_f² exp(-½ Σ_i (x_i - x'_i)² / ℓ_i²)            (paper, Eq. S4)
    m(x)     = m_0 - ½ Σ_i (x_i - x_m,i)² / ω_i²                 (paper, Eq. S5)
    y_n      = f(x_n) + ε_n,  Var ε_n = σ̄² + s_n²                (paper, Eq. 4 and Table S1)

Where the noise variance s_n² of an observation is unknown (nan) it is replaced by one common
ν, fitted with the other hyperparameters. Hyperparameters travel as flat vectors

    θ = (log ℓ_1..D, log σ_f, log σ̄, m_0, x_m,1..D, log ω_1..D [, log ν]),

one row per posterior sample; :class:`Hyperparameters` gives them their names.

On the diagonal of the training covariance the kernel is σ_f² (1 + ``NUGGET``): part of the
model, smooth in θ, and just enough to keep the Cholesky factorisation of nearly singular
kernel matrices from failing by rounding.
"""

from dataclasses import dataclass

import numpy as np

from quell.arrays import FloatArray
from quell.distances import squared_distances
from quell.native import kernels

#: Relative addition to the kernel's diagonal at training points: some 500 roundings.
NUGGET = 1e-13
#: Rows of κ that are computed at a time for a product with it; what is better than all is flat.
ROWS_AT_ONCE = 512


@dataclass(frozen=True)
class Layout:
    """Where each hyperparameter sits in the flat vector θ.

    >>> Layout(1).names
    ('log ell_1', 'log sigma_f', 'log sigma_obs', 'm_0', 'x_m_1', 'log omega_1')
    """

    dimension: int
    unknown_noise: bool = False

    @property
    def size(self) -> int:
        """Length of θ: 3D + 3, one more with unknown noise."""
        return 3 * self.dimension + 3 + self.unknown_noise

    @property
    def lengths(self) -> slice:
        """Input length scales, log ℓ."""
        return slice(0, self.dimension)

    @property
    def output_scale(self) -> int:
        """Output scale, log σ_f."""
        return self.dimension

    @property
    def base_noise(self) -> int:
        """Base observation noise, log σ̄ (an SD)."""
        return self.dimension + 1

    @property
    def mean_max(self) -> int:
        """Maximum of the mean function, m_0."""
        return self.dimension + 2

    @property
    def mean_location(self) -> slice:
        """Location of the mean function's maximum, x_m."""
        return slice(self.dimension + 3, 2 * self.dimension + 3)

    @property
    def mean_scales(self) -> slice:
        """Scales of the mean function, log ω."""
        return slice(2 * self.dimension + 3, 3 * self.dimension + 3)

    @property
    def unknown_variance(self) -> int:
        """Common variance of the observations with unknown noise, log ν."""
        if not self.unknown_noise:
            raise AttributeError("this layout has no unknown noise")
        return 3 * self.dimension + 3

    @property
    def kernel_and_noise(self) -> list[int]:
        """Indices of all hyperparameters that change the training covariance."""
        mean = range(self.size)[self.mean_function]
        return [j for j in range(self.size) if j not in mean]

    @property
    def mean_function(self) -> slice:
        """All 2D + 1 hyperparameters of the mean function."""
        return slice(self.dimension + 2, 3 * self.dimension + 3)

    @property
    def names(self) -> tuple[str, ...]:
        """Readable names, in order."""
        axes = range(1, self.dimension + 1)
        return (
            *(f"log ell_{i}" for i in axes),
            "log sigma_f",
            "log sigma_obs",
            "m_0",
            *(f"x_m_{i}" for i in axes),
            *(f"log omega_{i}" for i in axes),
            *(["log nu"] if self.unknown_noise else []),
        )

    def unpack(self, theta: FloatArray) -> "Hyperparameters":
        """Name the entries of θ (..., size); scales leave their logarithm."""
        return Hyperparameters(
            lengths=np.exp(theta[..., self.lengths]),
            output_variance=np.exp(2 * theta[..., self.output_scale]),
            base_variance=np.exp(2 * theta[..., self.base_noise]),
            mean_max=theta[..., self.mean_max],
            mean_location=theta[..., self.mean_location],
            mean_scales=np.exp(theta[..., self.mean_scales]),
            unknown_variance=np.exp(theta[..., self.unknown_variance])
            if self.unknown_noise
            else None,
        )


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """Hyperparameters by name; every array may have leading sample axes."""

    lengths: FloatArray
    output_variance: FloatArray
    base_variance: FloatArray
    mean_max: FloatArray
    mean_location: FloatArray
    mean_scales: FloatArray
    unknown_variance: FloatArray | None = None

    def __getitem__(self, index: int) -> "Hyperparameters":
        """One sample of a batch."""
        return Hyperparameters(
            self.lengths[index],
            self.output_variance[index],
            self.base_variance[index],
            self.mean_max[index],
            self.mean_location[index],
            self.mean_scales[index],
            None if self.unknown_variance is None else self.unknown_variance[index],
        )


def mean_function(hyper: Hyperparameters, x: FloatArray) -> FloatArray:
    """m(x) of one sample at points (n, D), shape (n,)."""
    return np.asarray(
        hyper.mean_max - 0.5 * (((x - hyper.mean_location) / hyper.mean_scales) ** 2).sum(axis=1)
    )


def kernel(hyper: Hyperparameters, a: FloatArray, b: FloatArray) -> FloatArray:
    """κ(a, b) of one sample at points (n, D) and (m, D), shape (n, m)."""
    if kernels is not None:
        out = np.empty((len(a), len(b)))
        a, b = np.ascontiguousarray(a, dtype=float), np.ascontiguousarray(b, dtype=float)
        kernels.cross_kernel(out, a, b, hyper.lengths, float(hyper.output_variance))
        return out
    out = squared_distances(a / hyper.lengths, b / hyper.lengths)
    out *= -0.5
    np.exp(out, out=out)
    out *= hyper.output_variance
    return out


def kernel_product(
    hyper: Hyperparameters, a: FloatArray, b: FloatArray, coefficients: FloatArray
) -> FloatArray:
    """κ(a, b) c of one sample at points (n, D) and (m, D), for coefficients c (m,); shape (n,).

    Not more rows of κ at a time than stay in the processor's cache: for thousands of points that
    halves the time.
    """
    out = np.empty(len(a))
    for start in range(0, len(a), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        out[rows] = kernel(hyper, a[rows], b) @ coefficients
    return out


def noise_variance(hyper: Hyperparameters, reported: FloatArray) -> FloatArray:
    """σ̄² + s_n² of one sample, with nan in ``reported`` (n,) read as the unknown ν."""
    if hyper.unknown_variance is None:
        return hyper.base_variance + reported
    return hyper.base_variance + np.where(np.isnan(reported), hyper.unknown_variance, reported)
