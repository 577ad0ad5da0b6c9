"""The surrogate of GP-IMIQR: a Gaussian process on a quadratic with coefficients integrated out.

    f(x) = Σ_j β_j h_j(x) + z(x),    β_j ~ N(0, 30²),    z ~ GP(0, κ),
    h(x) = (1, x_1, ..., x_D, x_1², ..., x_D²),    κ the squared exponential kernel,

observed with noise of known variance. With H (N, p) the basis at the data, K the covariance of z
plus noise there, A = B⁻¹ + Hᵀ K⁻¹ H and R(x) = h(x) − Hᵀ K⁻¹ κ(X, x) (Rasmussen and Williams 2006,
section 2.7),

    β̄ = A⁻¹ Hᵀ K⁻¹ y,    f̄(x) = κ(x, X) K⁻¹ (y − H β̄) + h(x) β̄,
    C(x, x') = κ(x, x') − κ(x, X) K⁻¹ κ(X, x') + R(x)ᵀ A⁻¹ R(x').

Hyperparameters are (log ℓ_1..D, log σ_f); the process z is one of `quell.gp` with mean zero.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack, solve_triangular

from quell.arrays import FloatArray
from quell.gp import FactorisationError, GaussianProcess, TrainingData
from quell.gp.factor import factorise
from quell.gp.model import Layout, kernel
from quell.gp.pairs import kernel_diagonal

#: SD of the coefficients, and variance added to the diagonal (Järvenpää et al. 2021, their code).
COEFFICIENT_SD, JITTER = 30.0, 1e-9
#: Degrees of freedom of the priors of ℓ and σ_f (the same).
PRIOR_DF = 4.0
LOG_2PI = float(np.log(2 * np.pi))
# log ω of a mean function that is flat for all practical purposes.
_FLAT = 40.0


def basis(x: FloatArray) -> FloatArray:
    """h (n, 1 + 2D) at points (n, D).

    >>> basis(np.array([[2.0, 3.0]]))
    array([[1., 2., 3., 4., 9.]])
    """
    return np.concatenate([np.ones((len(x), 1)), x, x**2], axis=1)


def process_vector(h: FloatArray) -> FloatArray:
    """(log ℓ, log σ_f) as the hyperparameter vector of `quell.gp`, with mean zero."""
    layout = Layout(len(h) - 1)
    theta = np.zeros(layout.size)
    theta[layout.lengths] = h[:-1]
    theta[layout.output_scale] = h[-1]
    theta[layout.base_noise] = 0.5 * np.log(JITTER)
    theta[layout.mean_scales] = _FLAT
    return theta


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The basis given data: K⁻¹ H (N, p), the lower factor of A (p, p), and Hᵀ K⁻¹ y (p,)."""

    weighted: FloatArray
    root: FloatArray
    projected: FloatArray

    @classmethod
    def of(cls, lower: FloatArray, x: FloatArray, y: FloatArray) -> "Coefficients":
        """Given the lower factor of K (N, N), points (N, D) and values (N,)."""
        at_data = basis(x)
        weighted, _ = lapack.dpotrs(lower, at_data, lower=1)
        precision = at_data.T @ weighted
        precision[np.diag_indices_from(precision)] += COEFFICIENT_SD**-2
        root, _ = factorise(precision)
        return cls(weighted, np.tril(root), weighted.T @ y)

    @property
    def mean(self) -> FloatArray:
        """β̄ (p,)."""
        return np.asarray(lapack.dpotrs(self.root, self.projected, lower=1)[0])

    def whiten(self, columns: FloatArray) -> FloatArray:
        """A^{-½} B for columns B (p, n)."""
        return np.asarray(solve_triangular(self.root, columns, lower=True))


@dataclass(frozen=True, eq=False)
class BasisProcess:
    """The surrogate given data; ``z`` is the process without the basis, with points pending or not.

    >>> x = np.linspace(-2, 2, 9)[:, None]
    >>> process = BasisProcess.of(x, 5 - x[:, 0]**2, np.full(9, 1e-4), np.zeros(2))
    >>> mean, variance = process.predict(np.array([[0.3], [9.0]]))
    >>> mean.round(1), bool(variance[0] < 0.01 < variance[1])
    (array([  4.9, -76. ]), True)
    """

    z: GaussianProcess

    @classmethod
    def of(
        cls,
        x: FloatArray,
        y: FloatArray,
        variance: FloatArray,
        h: FloatArray,
        pending: FloatArray | None = None,
        pending_sd: float = 0.0,
    ) -> "BasisProcess":
        """Given observations (N, D), (N,), (N,); ``pending`` (P, D) are points without a value."""
        data = TrainingData.from_arrays(x, y, np.sqrt(variance))
        theta = process_vector(h)[None]
        return cls(GaussianProcess.condition(data, theta, pending=pending, pending_sd=pending_sd))

    @cached_property
    def _observed(self) -> Coefficients:
        """The basis given the observations, which alone decide about means."""
        n = self.z.data.size
        return Coefficients.of(self.z.lower(0)[:n, :n], self.z.data.x, self.z.data.y)

    @cached_property
    def _all(self) -> Coefficients:
        """The basis given all points, pending ones too, which decide about covariances."""
        if not self.z.n_pending:
            return self._observed
        return Coefficients.of(self.z.lower(0), self.z.x, np.zeros(len(self.z.x)))

    @cached_property
    def _alpha(self) -> FloatArray:
        """K⁻¹ (y − H β̄), (N,)."""
        return self.z.alpha[0, : self.z.data.size] - self._observed.weighted @ self._observed.mean

    def mean(self, x: FloatArray) -> FloatArray:
        """f̄ (n,) at points (n, D)."""
        cross = kernel(self.z.hyper[0], x, self.z.data.x)
        return np.asarray(cross @ self._alpha + basis(x) @ self._observed.mean)

    def features(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """L⁻¹ κ(X, x) (M, n) and A^{-½} R(x) (p, n), of which covariances are made."""
        cross = kernel(self.z.hyper[0], self.z.x, x)
        rest = basis(x).T - self._all.weighted.T @ cross
        return self.z.whiten(0, cross), self._all.whiten(rest)

    def predict(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance at points (n, D), each (n,)."""
        return self.mean(x), self.variance(self.features(x))

    def variance(self, features: tuple[FloatArray, FloatArray]) -> FloatArray:
        """C(x, x) (n,) of the points with these features."""
        half, rest = features
        own = self.z.hyper[0].output_variance
        known = np.einsum("mn,mn->n", half, half)
        variance = own - known + np.einsum("pn,pn->n", rest, rest)
        return np.maximum(variance, 1e-14 * own)

    def covariance(
        self, a: FloatArray, of_a: tuple[FloatArray, FloatArray], b: FloatArray,
        of_b: tuple[FloatArray, FloatArray],
    ) -> FloatArray:  # fmt: skip
        """C(a, b) (n, m) between points (n, D) and (m, D), given their features."""
        out = kernel(self.z.hyper[0], a, b)
        out -= of_a[0].T @ of_b[0]
        out += of_a[1].T @ of_b[1]
        return out


class HyperPosterior:
    """Minus the log posterior of (log ℓ, log σ_f), with half Student-t priors of ℓ and σ_f.

    ``length_scales`` (D,) and ``output_scale`` are the scales of these priors.
    """

    def __init__(
        self, x: FloatArray, y: FloatArray, variance: FloatArray, length_scales: FloatArray,
        output_scale: float,
    ) -> None:  # fmt: skip
        self._x, self._y, self._variance = x, y, variance
        self._centred = x - x.mean(axis=0)
        self._scales = np.append(length_scales, output_scale)

    def __call__(self, h: FloatArray) -> tuple[float, FloatArray]:
        """The value, and its gradient (D + 1,); infinite where it cannot be computed."""
        hyper = Layout(self._x.shape[1]).unpack(process_vector(h))
        own = kernel(hyper, self._x, self._x)
        np.fill_diagonal(own, kernel_diagonal(hyper))
        with_noise = own + np.diag(self._variance + JITTER)
        try:
            lower, _ = factorise(with_noise)
            fitted = Coefficients.of(lower, self._x, self._y)
        except FactorisationError:
            return np.inf, np.zeros_like(h)
        simple, _ = lapack.dpotrs(lower, self._y, lower=1)
        alpha = simple - fitted.weighted @ fitted.mean
        n, p = fitted.weighted.shape
        log_determinant = 2 * float(
            np.log(lower.diagonal()).sum() + np.log(fitted.root.diagonal()).sum()
            + p * np.log(COEFFICIENT_SD)
        )  # fmt: skip
        fit = -0.5 * (float(self._y @ alpha) + log_determinant + n * LOG_2PI)
        # The inverse of the whole covariance is K⁻¹ − K⁻¹ H A⁻¹ Hᵀ K⁻¹.
        inverse, _ = lapack.dpotri(lower, lower=1)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        spread = fitted.whiten(fitted.weighted.T)
        sensitivity = np.outer(alpha, alpha) - inverse + spread.T @ spread
        sensitivity *= own
        sums, x = sensitivity.sum(axis=0), self._centred
        distances = 2 * (sums @ x**2) - 2 * np.einsum("ni,ni->i", x, sensitivity @ x)
        slope = np.append(0.5 * distances / hyper.lengths**2, sums.sum())
        squares = np.exp(2 * h) / (PRIOR_DF * self._scales**2)
        # The densities are those of the logarithms: hence the h.
        prior = float(np.sum(h - 0.5 * (PRIOR_DF + 1) * np.log1p(squares)))
        slope += 1.0 - (PRIOR_DF + 1) * squares / (1 + squares)
        return -fit - prior, -slope
