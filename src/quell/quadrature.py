"""Bayesian quadrature: the expected log joint G = ∫ q(x) f(x) dx of a surrogate f.

f is a Gaussian process and q a mixture of Gaussians, so G is normal with moments in closed
form (paper, Eqs. 2 and S8). Per hyperparameter sample, notation of :mod:`quell.gp.model` and
:mod:`quell.mixture.mixture`:

    τ²_k,i   = σ_k² λ_i² + ℓ_i²
    z_k,n    = σ_f² Π_i (ℓ_i/τ_k,i) exp(-½ Σ_i (μ_k,i - x_n,i)²/τ²_k,i)         = E_k[κ(·, x_n)]
    I_k      = z_kᵀ α + m_0 - ½ Σ_i [(μ_k,i - x_m,i)² + σ_k² λ_i²]/ω_i²          = E_k[f̄]
    P_jk     = the same as z with μ_j for x_n and τ² = (σ_j² + σ_k²) λ² + ℓ²     = E_j E_k[κ]
    J_jk     = P_jk - z_jᵀ K_y⁻¹ z_k                                             = E_j E_k[C]
    E[G]     = Σ_k w_k I_k,        V[G] = Σ_jk w_j w_k J_jk

To E_k[f̄] comes the expectation of what is known of f, where a part is (`quell.space.edges`).
Over samples the mean is averaged, and the variance is the average of V[G] plus the variance
of E[G] between samples. Gradients are in the order of ``Mixture.to_vector``.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quell.arrays import FloatArray
from quell.gp.pooling import between_divisor, between_variance, pooled_mean
from quell.gp.posterior import GaussianProcess
from quell.mixture import Mixture
from quell.native import kernels

#: Floor of a variance that rounding may have made negative.
VARIANCE_FLOOR = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class ExpectedLogJoint:
    """The distribution of G: per component and sample, and in all.

    ``component_means`` (S, K) are I_k, ``component_covariances`` (S, K, K) are J_jk;
    ``sample_means`` and ``sample_variances`` (S,) the moments of G per hyperparameter sample;
    ``mean`` and ``variance`` those over all samples, where ``variance`` = ``within`` +
    ``between``.
    """

    component_means: FloatArray
    component_covariances: FloatArray
    sample_means: FloatArray
    sample_variances: FloatArray
    mean: float
    within: float
    between: float

    @property
    def variance(self) -> float:
        """Total variance of G."""
        return self.within + self.between

    @property
    def sd(self) -> float:
        """Total standard deviation of G."""
        return float(np.sqrt(self.variance))


class Quadrature:
    """Integrals of one surrogate against mixtures.

    >>> from quell.gp import TrainingData
    >>> data = TrainingData.from_arrays([[-1.0], [0.0], [1.0]], [-0.5, 0.0, -0.5])
    >>> gp = GaussianProcess.condition(data, [[0.0, 0.0, -5.0, 0.0, 0.0, 0.0]])
    >>> q = Mixture([1.0], [[0.0]], [0.5], [1.0])
    >>> integral = Quadrature(gp).moments(q)
    >>> round(integral.mean, 3)      # the mean of -x²/2 under N(0, 0.25)
    -0.125
    """

    def __init__(self, gp: GaussianProcess) -> None:
        self.gp = gp
        self._centre = gp.x.mean(axis=0)  # products of large coordinates would cancel
        self._training = _features(gp.x - self._centre)

    # The distribution of G

    def moments(self, mixture: Mixture) -> ExpectedLogJoint:
        """Mean and variance of G, with all per-component terms."""
        gp = self.gp
        overlaps = self._overlaps(mixture)
        component_means = (overlaps.z @ gp.alpha[:, :, None])[..., 0]
        component_means += self._mean_function(mixture) + self._known(mixture)[0]
        covariances = self._prior_covariances(mixture)[0]
        for s in range(gp.n_samples):
            half = gp.whiten(s, overlaps.z[s].T)
            covariances[s] -= half.T @ half
        diagonal = np.arange(mixture.n_components)
        covariances[:, diagonal, diagonal] = np.maximum(
            covariances[:, diagonal, diagonal], VARIANCE_FLOOR
        )
        return self._combined(component_means, covariances, mixture.weights)

    def moments_without(
        self, moments: ExpectedLogJoint, k: int, weights: FloatArray
    ) -> ExpectedLogJoint:
        """The ``moments`` of a mixture after component ``k`` was taken out of it.

        ``weights`` (K - 1,) are those of the others, whose own terms are as before.
        """
        covariances = np.delete(moments.component_covariances, k, axis=1)
        return self._combined(
            np.delete(moments.component_means, k, axis=1),
            np.delete(covariances, k, axis=2),
            weights,
        )

    def _combined(
        self, component_means: FloatArray, covariances: FloatArray, w: FloatArray
    ) -> ExpectedLogJoint:
        """From the components' terms (S, K) and (S, K, K) to the moments of G."""
        gp = self.gp
        means = component_means @ w
        variances = np.maximum(np.einsum("j,sjk,k->s", w, covariances, w), VARIANCE_FLOOR)
        return ExpectedLogJoint(
            component_means,
            covariances,
            means,
            variances,
            mean=float(pooled_mean(means, gp.weights)),
            within=float(pooled_mean(variances, gp.weights)),
            between=float(between_variance(means, gp.weights)),
        )

    def mean_and_gradient(self, mixture: Mixture) -> tuple[float, FloatArray]:
        """E[G] over all samples and its gradient, (K D + K + D + K,)."""
        weights = self.gp.weights
        if kernels is not None:
            means, combined = self._compiled_mean(mixture, weights)
            return float(weights @ means), combined
        overlaps = self._overlaps(mixture)
        means, gradient = self._mean_terms(mixture, overlaps)
        return float(weights @ means), gradient.combine(weights)

    def lower_bound_and_gradient(self, mixture: Mixture, beta: float) -> tuple[float, FloatArray]:
        """E[G] - β SD[G], the pessimistic value of G, and its gradient.

        >>> from quell.gp import TrainingData
        >>> data = TrainingData.from_arrays([[-1.0], [1.0]], [-0.5, -0.5])
        >>> gp = GaussianProcess.condition(data, [[0.0, 0.0, -5.0, 0.0, 0.0, 0.0]])
        >>> q = Mixture([1.0], [[0.0]], [0.5], [1.0])
        >>> quad = Quadrature(gp)
        >>> quad.lower_bound_and_gradient(q, 2.0)[0] < quad.mean_and_gradient(q)[0]
        True
        """
        if beta == 0:
            return self.mean_and_gradient(mixture)
        gp = self.gp
        overlaps = self._overlaps(mixture)
        if kernels is None:
            means, mean_gradient = self._mean_terms(mixture, overlaps)
        else:
            means = self._compiled_mean(mixture, gp.weights)[0]
        variances, variance_gradient = self._variance_terms(mixture, overlaps)
        mean = float(gp.weights @ means)
        within = float(gp.weights @ np.maximum(variances, VARIANCE_FLOOR))
        sd = float(np.sqrt(within + between_variance(means, gp.weights)))
        between_slope = gp.weights * (means - mean) / between_divisor(gp.weights)
        coefficients = gp.weights - beta / sd * between_slope
        if kernels is None:
            gradient = mean_gradient.combine(coefficients)
        else:
            gradient = self._compiled_mean(mixture, coefficients)[1]
        floored = variances <= VARIANCE_FLOOR  # constant there
        gradient -= variance_gradient.combine(np.where(floored, 0.0, beta / (2 * sd) * gp.weights))
        return mean - beta * sd, gradient

    def kernel_means(self, mixture: Mixture) -> "KernelMeans":
        """E_k[κ(·, x)] as a function of x: the prior covariance of E_k[f] with f(x)."""
        hyper = self.gp.hyper
        self._check(mixture)
        means = mixture.means - self._centre
        lengths = hyper.lengths[:, None, :]
        tau_squared = (mixture.scales[:, None] * mixture.lengths) ** 2 + lengths**2
        n_samples, n_components, dimension = tau_squared.shape
        coefficients = np.empty((n_samples, n_components, 2 * dimension + 1))
        coefficients[..., 0] = np.log(hyper.output_variance)[:, None] + 0.5 * (
            np.log(lengths**2 / tau_squared) - means**2 / tau_squared
        ).sum(axis=2)
        coefficients[..., 1 : dimension + 1] = means / tau_squared
        coefficients[..., dimension + 1 :] = -0.5 / tau_squared
        return KernelMeans(coefficients, tau_squared, means, self._centre)

    def _check(self, mixture: Mixture) -> None:
        if mixture.dimension != self.gp.dimension:
            raise ValueError(
                f"mixture has {mixture.dimension} dimensions, the surrogate {self.gp.dimension}"
            )

    def _compiled_mean(
        self, mixture: Mixture, coefficients: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """E[G] per sample, (S,), and Σ_s c_s times its gradient, by the compiled kernel."""
        assert kernels is not None
        self._check(mixture)
        size = (mixture.dimension + 2) * mixture.n_components + mixture.dimension
        out = np.empty(size + self.gp.n_samples)
        kernels.expected_log_joint(
            out, mixture.weights, np.ascontiguousarray(mixture.means), mixture.scales,
            mixture.lengths, coefficients, *self._packed, *self._known(mixture),
        )  # fmt: skip
        return out[size:], out[:size]

    @cached_property
    def _packed(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What the compiled kernel needs of the surrogate: points (D, N), α (S, N), samples.

        Of every sample log σ_f², m_0, ℓ², x_m and 1/ω², (S, 2 + 3D).
        """
        gp, hyper = self.gp, self.gp.hyper
        columns = (np.log(hyper.output_variance), hyper.mean_max)
        blocks = (hyper.lengths**2, hyper.mean_location, hyper.mean_scales**-2.0)
        samples = np.column_stack([*columns, *blocks])
        return np.ascontiguousarray(gp.x.T), np.ascontiguousarray(gp.alpha), samples

    # Terms

    def _overlaps(self, mixture: Mixture) -> "_Overlaps":
        """Overlaps of the mixture's components with the training points."""
        means = self.kernel_means(mixture)
        z = means.of_features(self._training)
        return _Overlaps(z, means.tau_squared, means.means, self._training)

    def _mean_function(self, mixture: Mixture) -> FloatArray:
        """E_k[m], shape (S, K)."""
        hyper = self.gp.hyper
        offset = mixture.means - hyper.mean_location[:, None, :]
        spread = mixture.scales[:, None] ** 2 * mixture.lengths**2
        curvature = hyper.mean_scales[:, None, :] ** -2
        return hyper.mean_max[:, None] - 0.5 * ((offset**2 + spread) * curvature).sum(axis=2)

    def _known(self, mixture: Mixture) -> tuple[FloatArray, FloatArray, FloatArray]:
        """E_k of what is known of f, (K,), and its derivatives (K, D) in μ_k and σ_k² λ²."""
        edges = self.gp.data.edges
        if edges is None:
            zero = np.zeros_like(mixture.means)
            return np.zeros(mixture.n_components), zero, zero
        return edges.expectation(mixture.means, mixture.scales[:, None] ** 2 * mixture.lengths**2)

    def _mean_terms(
        self, mixture: Mixture, overlaps: "_Overlaps"
    ) -> tuple[FloatArray, "_SampleGradients"]:
        """E[G] per sample, (S,), and its gradients."""
        hyper, w = self.gp.hyper, mixture.weights
        values, by_mean, by_variance = overlaps.functional(self.gp.alpha)
        known, known_by_mean, known_by_variance = self._known(mixture)
        values += self._mean_function(mixture) + known
        curvature = hyper.mean_scales[:, None, :] ** -2
        by_mean -= (mixture.means - hyper.mean_location[:, None, :]) * curvature
        by_mean += known_by_mean
        by_variance += known_by_variance - 0.5 * curvature
        gradients = _SampleGradients(
            mixture, values, w[:, None] * by_mean, w[:, None] * by_variance
        )
        return values @ w, gradients

    def _variance_terms(
        self, mixture: Mixture, overlaps: "_Overlaps"
    ) -> tuple[FloatArray, "_SampleGradients"]:
        """V[G] per sample, (S,), and its gradients; no K x K solves."""
        gp, w = self.gp, mixture.weights
        mixed = np.einsum("k,skn->sn", w, overlaps.z)  # E_q[κ(·, x_n)]
        solved = np.stack([gp.solve(s, mixed[s]) for s in range(gp.n_samples)])
        explained, by_mean, by_variance = overlaps.functional(solved)
        prior, scaled, tau_squared = self._prior_covariances(mixture)
        by_weight = 2 * (prior @ w - explained)
        # P_jk and P_kj both depend on μ_j and σ_j: hence the factors of 2.
        pairs = 2 * (w[:, None] * w) * prior
        prior_by_mean = -np.einsum("sjk,sjki->sji", pairs, scaled)
        prior_by_variance = 0.5 * np.einsum("sjk,sjki->sji", pairs, scaled**2 - 1 / tau_squared)
        gradients = _SampleGradients(
            mixture,
            by_weight,
            prior_by_mean - 2 * w[:, None] * by_mean,
            prior_by_variance - 2 * w[:, None] * by_variance,
        )
        return 0.5 * by_weight @ w, gradients

    def _prior_covariances(self, mixture: Mixture) -> tuple[FloatArray, FloatArray, FloatArray]:
        """P (S, K, K), and (μ_j - μ_k)/τ² and τ², each (S, K, K, D)."""
        hyper = self.gp.hyper
        offset = mixture.means[:, None, :] - mixture.means
        scales_squared = mixture.scales[:, None] ** 2 + mixture.scales**2
        lengths = hyper.lengths[:, None, None, :]
        tau_squared = scales_squared[..., None] * mixture.lengths**2 + lengths**2
        scaled = offset / tau_squared
        log_p = 0.5 * (np.log(lengths**2 / tau_squared) - scaled * offset).sum(axis=3)
        return hyper.output_variance[:, None, None] * np.exp(log_p), scaled, tau_squared


@dataclass(frozen=True, eq=False)
class KernelMeans:
    """E_k[κ(·, x)] of K components under S samples (z in the notation above, paper, Eq. S18).

    log z is linear in (1, x, x²), with ``coefficients`` (S, K, 2D + 1); points and ``means``
    (K, D) are relative to the ``centre`` (D,). ``tau_squared`` (S, K, D) is τ².
    """

    coefficients: FloatArray
    tau_squared: FloatArray
    means: FloatArray
    centre: FloatArray

    def at(self, x: FloatArray, samples: slice = slice(None)) -> FloatArray:
        """z at points (n, D) under some of the samples, (S, K, n)."""
        return self.of_features(_features(x - self.centre), samples)

    def of_features(self, features: FloatArray, samples: slice = slice(None)) -> FloatArray:
        """z at points given by (1, x, x²) relative to the centre, (n, 2D + 1); (S, K, n)."""
        coefficients = self.coefficients[samples]
        z = coefficients.reshape(-1, features.shape[1]) @ features.T
        np.exp(z, out=z)
        return z.reshape(*coefficients.shape[:2], -1)

    def gradient(self, x: FloatArray, by_z: FloatArray) -> FloatArray:
        """Gradient in x (D,) of a function of z there, given its derivatives (S, K) in z."""
        slopes = (self.means - (x - self.centre)) / self.tau_squared
        return np.einsum("sk,skd->d", by_z * self.at(x[None])[..., 0], slopes)


def _features(x: FloatArray) -> FloatArray:
    """(1, x, x²) of points (n, D), shape (n, 2D + 1)."""
    return np.column_stack([np.ones(len(x)), x, x**2])


@dataclass(frozen=True, eq=False)
class _Overlaps:
    """z (S, K, N) of a mixture with points, and what its derivatives need."""

    z: FloatArray
    tau_squared: FloatArray
    means: FloatArray
    features: FloatArray

    def functional(self, a: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """z_kᵀ a (S, K) for vectors a (S, N), and its derivatives (S, K, D) in μ_k and σ_k² λ²."""
        weighted = self.z * a[:, None, :]
        n_samples, n_components, n = weighted.shape
        moments = (weighted.reshape(-1, n) @ self.features).reshape(n_samples, n_components, -1)
        dimension = self.means.shape[1]
        zeroth = moments[..., :1]
        first = moments[..., 1 : dimension + 1]
        second = moments[..., dimension + 1 :]
        # Σ_n z a (μ - x) and Σ_n z a (μ - x)²
        offset = self.means * zeroth - first
        squared = self.means * (self.means * zeroth - 2 * first) + second
        by_mean = -offset / self.tau_squared
        by_variance = 0.5 * (squared / self.tau_squared - zeroth) / self.tau_squared
        return moments[..., 0].copy(), by_mean, by_variance


@dataclass(frozen=True, eq=False)
class _SampleGradients:
    """Gradients of a functional of the mixture, per sample, in its natural variables.

    ``by_weight`` (S, K) is the derivative in w_k, ``by_mean`` (S, K, D) in μ_k, ``by_variance``
    (S, K, D) in the variances σ_k² λ_i².
    """

    mixture: Mixture
    by_weight: FloatArray
    by_mean: FloatArray
    by_variance: FloatArray

    def combine(self, coefficients: FloatArray) -> FloatArray:
        """Σ_s c_s ∇_s in the order of ``Mixture.to_vector``."""
        mixture, w = self.mixture, self.mixture.weights
        by_mean = np.tensordot(coefficients, self.by_mean, axes=1)
        by_weight = coefficients @ self.by_weight
        variances = (mixture.scales[:, None] * mixture.lengths) ** 2
        by_log_sd = 2 * variances * np.tensordot(coefficients, self.by_variance, axes=1)
        return np.concatenate(
            [
                by_mean.ravel(),
                by_log_sd.sum(axis=1),
                by_log_sd.sum(axis=0),
                w * (by_weight - w @ by_weight),
            ]
        )


__all__ = ["ExpectedLogJoint", "KernelMeans", "Quadrature"]
