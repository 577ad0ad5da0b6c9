"""Log marginal likelihood of the surrogate and its gradient in θ.

With K_y = κ(X, X) + diag(σ̄² + s²), e = y - m(X) and α = K_y⁻¹ e,

    log p(y | θ)  = -½ eᵀα - ½ log|K_y| - (N/2) log 2π
    ∂ log p / ∂ψ  = ½ tr[(ααᵀ - K_y⁻¹) ∂K_y/∂ψ] + αᵀ ∂m/∂ψ.

The trace over a length scale needs Σ_nm W_nm (x_ni - x_mi)² with W = (ααᵀ - K_y⁻¹) ∘ κ, which
is written as products of W with X.
"""

import numpy as np
from scipy.linalg import blas, lapack

from quell.arrays import FloatArray
from quell.gp.data import TrainingData
from quell.gp.factor import factorise, inverse_from_factor
from quell.gp.model import Hyperparameters, Layout, mean_function, noise_variance
from quell.gp.pairs import Pairs, kernel_diagonal

LOG_2PI = float(np.log(2 * np.pi))


class MarginalLikelihood:
    """log p(y | θ) of one training set, for many θ.

    Calling it with θ (size,) gives the value and its gradient (size,); :meth:`value` the value
    alone, at half the cost. It owns two N x N work arrays, so one instance must not be used
    from two threads at a time.

    >>> data = TrainingData.from_arrays([[0.0], [1.0], [2.0]], [0.0, -0.5, -2.0], noise_sd=0.1)
    >>> value, gradient = MarginalLikelihood(data)(np.zeros(6))
    >>> gradient.shape
    (6,)
    """

    def __init__(self, data: TrainingData) -> None:
        self.data = data
        self.layout = Layout(data.dimension, data.has_unknown_noise)
        # Centred, because differences of squares are taken below.
        self._centred = data.x - data.x.mean(axis=0)
        self._centred_squared = self._centred**2
        self._unknown = np.isnan(data.variance)
        # Lower triangles in Fortran order: there, a column is one run of the condensed
        # distances, and the triangle above stays zero for good.
        size = data.size
        self._kernel = np.zeros((size, size), order="F")
        self._factor = np.zeros((size, size), order="F")
        self.pairs = Pairs(data.x)

    def value(self, theta: FloatArray) -> float:
        """log p(y | θ) alone."""
        return self._solve(self.layout.unpack(theta))[0]

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """log p(y | θ) and its gradient."""
        layout, x = self.layout, self._centred
        hyper = layout.unpack(theta)
        value, alpha, lower = self._solve(hyper)

        # One triangle of K_y⁻¹ - ααᵀ is enough: the inverse comes as one, the update changes one.
        inverse = inverse_from_factor(lower)
        weights = blas.dsyr(-1.0, alpha, a=inverse, lower=1, overwrite_a=1)
        noise_sensitivity = -weights.diagonal()
        weights *= self._kernel

        gradient = np.empty(layout.size)
        sums = weights.sum(axis=0) + weights.sum(axis=1)  # the diagonal counted twice
        spread = 2 * np.einsum("ni,ni->i", x, weights @ x) - sums @ self._centred_squared
        gradient[layout.lengths] = spread / hyper.lengths**2
        gradient[layout.output_scale] = weights.diagonal().sum() - sums.sum()
        gradient[layout.base_noise] = hyper.base_variance * noise_sensitivity.sum()
        if hyper.unknown_variance is not None:
            unknown = noise_sensitivity[self._unknown].sum()
            gradient[layout.unknown_variance] = 0.5 * hyper.unknown_variance * unknown
        gradient[layout.mean_function] = alpha @ mean_jacobian(hyper, self.data.x)
        return value, gradient

    def _solve(self, hyper: Hyperparameters) -> tuple[float, FloatArray, FloatArray]:
        """Value, α and the lower factor (in a work array); leaves κ in the other one."""
        data, kernel = self.data, self._kernel
        self.pairs.fill_kernel(kernel, hyper)
        diagonal = kernel_diagonal(hyper)
        np.fill_diagonal(kernel, diagonal + noise_variance(hyper, data.variance))
        lower, jitter = factorise(kernel, out=self._factor)
        # From here on without the noise. The jitter scales with σ_f², like the nugget: so the
        # gradient stays that of the value.
        np.fill_diagonal(kernel, diagonal + jitter)

        residual = data.rest - mean_function(hyper, data.x)
        alpha, _ = lapack.dpotrs(lower, residual, lower=1)
        log_determinant = 2.0 * float(np.log(lower.diagonal()).sum())
        value = -0.5 * (float(residual @ alpha) + log_determinant + data.size * LOG_2PI)
        return value, alpha, lower


def mean_jacobian(hyper: Hyperparameters, x: FloatArray) -> FloatArray:
    """∂m(x_n)/∂(m_0, x_m, log ω) at points (N, D), shape (N, 2D + 1)."""
    scaled = (x - hyper.mean_location) / hyper.mean_scales
    return np.column_stack([np.ones(len(x)), scaled / hyper.mean_scales, scaled**2])
