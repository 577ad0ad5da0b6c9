"""The posterior density of the hyperparameters, in unconstrained coordinates u.

log p(u | y) = log p(y | θ(u)) + log p(θ(u)) + Σ log dθ/du + constant
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack, solve_triangular

from quell.arrays import FloatArray
from quell.gp.factor import FactorisationError, factorise
from quell.gp.marginal import NO_GRADIENT, MarginalLikelihood, mean_jacobian
from quell.gp.model import mean_function
from quell.gp.prior import HyperparameterPrior
from quell.native import kernels

#: Step of the forward differences of gradients, in u (scales are of order one there).
_DIFFERENCE_STEP = 1e-4
#: Values and gradients remembered. A search begins where another one ended, or at a sample, and the
#: curvature is taken at its end: no farther back than a search and the differences at a mode.
_REMEMBERED = 64


class Hyperposterior:
    """Log density of u given a training set; calling it gives value and gradient.

    A θ at which the training covariance cannot be factorised has density zero: -inf, and a
    gradient of zeros. The last few answers are kept, and not computed again; ``evaluations`` counts
    those that were computed.
    """

    def __init__(self, marginal: MarginalLikelihood, prior: HyperparameterPrior) -> None:
        if prior.layout != marginal.layout:
            raise ValueError(f"prior is for {prior.layout}, the data need {marginal.layout}")
        self.marginal = marginal
        self.prior = prior
        self.evaluations = 0
        self._answers: dict[bytes, tuple[float, FloatArray]] = {}

    def __call__(self, u: FloatArray) -> tuple[float, FloatArray]:
        """Log density of u (size,) and its gradient, which is read-only."""
        key = u.tobytes()
        answer = self._answers.get(key)
        if answer is None:
            if len(self._answers) == _REMEMBERED:
                del self._answers[next(iter(self._answers))]
            answer = self._answers[key] = self._evaluate(u)
        return answer

    def _evaluate(self, u: FloatArray) -> tuple[float, FloatArray]:
        """What a call gives, computed."""
        self.evaluations += 1
        if kernels is None:
            value, gradient = self._by_numpy(u)
        else:
            gradient = np.empty(self.prior.layout.size)
            value = self._compiled(kernels.hyperposterior, u, gradient)
        gradient.setflags(write=False)
        return value, gradient

    def _compiled(
        self, kernel: Callable[..., float], vector: FloatArray, gradient: FloatArray
    ) -> float:
        """The log density of u, with its gradient; or that of θ, where that is empty."""
        table, constant = self.prior.as_table
        vector = np.ascontiguousarray(vector, dtype=float)
        marginal = self.marginal
        return kernel(vector, table, constant, marginal.observations, marginal.room, gradient)

    def _by_numpy(self, u: FloatArray) -> tuple[float, FloatArray]:
        """The same as a call."""
        theta = self.prior.constrain(u)
        try:
            likelihood, likelihood_gradient = self.marginal(theta)
        except FactorisationError:
            return -np.inf, np.zeros_like(u)
        prior, prior_gradient = self.prior.log_density(theta)
        slope, log_slope, log_slope_slope = self.prior.constrain_derivatives(u)
        value = likelihood + prior + float(log_slope.sum())
        gradient = (likelihood_gradient + prior_gradient) * slope + log_slope_slope
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return -np.inf, np.zeros_like(u)
        return value, gradient

    def score(self, theta: FloatArray) -> float:
        """Log posterior density of θ itself, for ranking candidate starts; -inf on failure."""
        if kernels is not None:
            return self._compiled(kernels.hyperposterior, theta, NO_GRADIENT)
        try:
            return self.marginal.value(theta) + self.prior.log_density(theta)[0]
        except FactorisationError:
            return -np.inf

    def negative_hessian(self, u: FloatArray) -> FloatArray:
        """Minus the matrix of second derivatives at u, (size, size), symmetric.

        Columns of kernel and noise hyperparameters are differences of gradients; the block of
        the mean function, two thirds of all entries, is exact and needs one factorisation.
        """
        layout = self.prior.layout
        hessian = np.zeros((layout.size, layout.size))
        _, gradient = self(u)
        kernel_part = layout.kernel_and_noise
        for j in kernel_part:
            moved = u.copy()
            moved[j] += _DIFFERENCE_STEP
            hessian[:, j] = (gradient - self(moved)[1]) / _DIFFERENCE_STEP
            hessian[j, :] = hessian[:, j]
        mean_part = np.setdiff1d(np.arange(layout.size), kernel_part)
        hessian[np.ix_(mean_part, mean_part)] = self._mean_block(u)
        square = np.ix_(kernel_part, kernel_part)
        hessian[square] = 0.5 * (hessian[square] + hessian[square].T)
        return hessian

    def _mean_block(self, u: FloatArray) -> FloatArray:
        """The exact block of :meth:`negative_hessian` over m_0, x_m and log ω.

        With J = ∂m/∂ψ it is Jᵀ K_y⁻¹ J - αᵀ ∂²m/∂ψ∂ψ' in θ, then the chain rule to u.
        """
        layout, data = self.prior.layout, self.marginal.data
        theta = self.prior.constrain(u)
        hyper = layout.unpack(theta)
        lower, _ = factorise(self.marginal.pairs.covariance(hyper, data.variance))
        jacobian = mean_jacobian(hyper, data.x)
        alpha, _ = lapack.dpotrs(lower, data.rest - mean_function(hyper, data.x), lower=1)
        half = solve_triangular(lower, jacobian, lower=True, check_finite=False)
        block = half.T @ half

        dimension = data.dimension
        location = np.arange(1, dimension + 1)
        scale = location + dimension
        # ∂²m: -1/ω² twice in x_m; -2 (x - x_m)/ω² in x_m and log ω; -2 (x - x_m)²/ω² in log ω.
        block[location, location] += alpha.sum() / hyper.mean_scales**2
        mixed = 2 * alpha @ jacobian[:, location]
        block[location, scale] += mixed
        block[scale, location] += mixed
        block[scale, scale] += 2 * alpha @ jacobian[:, scale]

        slope, _, log_slope_slope = (
            part[layout.mean_function] for part in self.prior.constrain_derivatives(u)
        )
        block *= np.outer(slope, slope)
        gradient = (alpha @ jacobian) * slope  # the prior of the mean function is flat
        block -= np.diag(gradient * log_slope_slope + self._log_slope_curvature(u))
        return block

    def _log_slope_curvature(self, u: FloatArray) -> FloatArray:
        """d²/du² log(dθ/du) for the mean function's entries."""
        step = 1e-5 * self.prior.softness
        above = self.prior.constrain_derivatives(u + step)[2]
        below = self.prior.constrain_derivatives(u - step)[2]
        return np.asarray(((above - below) / (2 * step))[self.prior.layout.mean_function])


@dataclass(frozen=True, eq=False)
class Laplace:
    """A normal approximation of the hyperposterior: mean and a root of its covariance.

    ``root`` (size, size) satisfies covariance = root rootᵀ.
    """

    mean: FloatArray
    root: FloatArray


#: Bounds on the SD of the approximation along an eigenvector, in u.
_SMALLEST_SD, _LARGEST_SD = 1e-4, 3.0


def laplace_approximation(hyperposterior: Hyperposterior, mode: FloatArray) -> Laplace:
    """Curvature at ``mode``; flat, negative and extreme directions get a bounded SD."""
    eigenvalues, vectors = np.linalg.eigh(hyperposterior.negative_hessian(mode))
    sd = 1 / np.sqrt(np.clip(np.abs(eigenvalues), _LARGEST_SD**-2, _SMALLEST_SD**-2))
    return Laplace(mode, vectors * sd)
