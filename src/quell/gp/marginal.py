"""Log marginal likelihood of the surrogate and its gradient in θ.

With K_y = κ(X, X) + diag(σ̄² + s²), e = y - m(X) and α = K_y⁻¹ e,

    log p(y | θ)  = -½ eᵀα - ½ log|K_y| - (N/2) log 2π
    ∂ log p / ∂ψ  = ½ tr[(ααᵀ - K_y⁻¹) ∂K_y/∂ψ] + αᵀ ∂m/∂ψ.

The trace over a length scale needs Σ_nm W_nm (x_ni - x_mi)² with W = (ααᵀ - K_y⁻¹) ∘ κ, which
is written as products of W with X. The compiled kernel does all of this in one call.
"""

from functools import cached_property

import numpy as np
from scipy.linalg import blas, lapack

from quell.arrays import FloatArray
from quell.gp.data import TrainingData
from quell.gp.factor import factorise, inverse_from_factor
from quell.gp.model import Hyperparameters, Layout, mean_function, noise_variance
from quell.gp.pairs import Pairs, kernel_diagonal
from quell.native import kernels

LOG_2PI = float(np.log(2 * np.pi))
#: For a compiled kernel, in place of a gradient that is not wanted.
NO_GRADIENT = np.empty(0)


class MarginalLikelihood:
    """log p(y | θ) of one training set, for many θ.

    Calling it with θ (size,) gives the value and its gradient (size,); :meth:`value` the value
    alone, at half the cost. It owns work arrays, so one instance must not be used
    from two threads at a time.

    >>> data = TrainingData.from_arrays([[0.0], [1.0], [2.0]], [0.0, -0.5, -2.0], noise_sd=0.1)
    >>> value, gradient = MarginalLikelihood(data)(np.zeros(6))
    >>> gradient.shape
    (6,)
    """

    def __init__(self, data: TrainingData) -> None:
        self.data = data
        self.layout = Layout(data.dimension, data.has_unknown_noise)
        self.pairs = Pairs(data.x)
        if kernels is not None:
            #: What compiled kernels need of the data: an array (D + 2, N), and one for work.
            self.observations = np.array([*data.x.T, data.rest, data.variance])
            room = 2 * data.size**2 + 3 * data.size + data.dimension + self.layout.size
            self.room = np.empty(room)

    def value(self, theta: FloatArray) -> float:
        """log p(y | θ) alone."""
        value = self._compiled(theta, NO_GRADIENT)
        return self._solve(self.layout.unpack(theta))[0] if value is None else value

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """log p(y | θ) and its gradient."""
        gradient = np.empty(self.layout.size)
        value = self._compiled(theta, gradient)
        return self._by_numpy(theta) if value is None else (value, gradient)

    def _compiled(self, theta: FloatArray, gradient: FloatArray) -> float | None:
        """The value, with the gradient written out; None where that has to be left to NumPy.

        That is without compiled kernels, and where the covariance has no factor: what is wrong
        with it is then said by `factorise`.
        """
        if kernels is None:
            return None
        theta = np.ascontiguousarray(theta, dtype=float)
        return kernels.marginal_likelihood(theta, self.observations, self.room, gradient)

    @cached_property
    def _work(self) -> tuple[FloatArray, FloatArray]:
        """Two arrays (N, N) for lower triangles in Fortran order.

        There a column is one run of the condensed distances, and the triangle above stays zero
        for good.
        """
        shape = (self.data.size, self.data.size)
        return np.zeros(shape, order="F"), np.zeros(shape, order="F")

    def _by_numpy(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """The same as a call."""
        layout, data = self.layout, self.data
        # Centred, because differences of squares are taken below.
        x = data.x - data.x.mean(axis=0)
        hyper = layout.unpack(theta)
        value, alpha, lower = self._solve(hyper)

        # One triangle of K_y⁻¹ - ααᵀ is enough: the inverse comes as one, the update changes one.
        inverse = inverse_from_factor(lower)
        weights = blas.dsyr(-1.0, alpha, a=inverse, lower=1, overwrite_a=1)
        noise_sensitivity = -weights.diagonal()
        weights *= self._work[0]

        gradient = np.empty(layout.size)
        sums = weights.sum(axis=0) + weights.sum(axis=1)  # the diagonal counted twice
        spread = 2 * np.einsum("ni,ni->i", x, weights @ x) - sums @ x**2
        gradient[layout.lengths] = spread / hyper.lengths**2
        gradient[layout.output_scale] = weights.diagonal().sum() - sums.sum()
        gradient[layout.base_noise] = hyper.base_variance * noise_sensitivity.sum()
        if hyper.unknown_variance is not None:
            unknown = noise_sensitivity[np.isnan(data.variance)].sum()
            gradient[layout.unknown_variance] = 0.5 * hyper.unknown_variance * unknown
        gradient[layout.mean_function] = alpha @ mean_jacobian(hyper, data.x)
        return value, gradient

    def _solve(self, hyper: Hyperparameters) -> tuple[float, FloatArray, FloatArray]:
        """Value, α and the lower factor (in a work array); leaves κ in the other one."""
        data = self.data
        kernel, room = self._work
        self.pairs.fill_kernel(kernel, hyper)
        diagonal = kernel_diagonal(hyper)
        np.fill_diagonal(kernel, diagonal + noise_variance(hyper, data.variance))
        lower, jitter = factorise(kernel, out=room)
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
