"""The surrogate of WSABI-L: a Gaussian process on the square root of the likelihood.

Notation of the paper's supplement (D.2, Eq. S20) and of Gunter et al. (2014). In inference
space, with a Gaussian measure π(x) = N(x; b, diag B) and ℓ(x) = log joint(x) − log π(x),

    L(x) = e^{ℓ(x) − c} = α + ½ g(x)²,    c = max_n ℓ_n,    α = 0.8 min_n L_n,

and g is a process of mean zero and kernel κ(x, x') = λ² N(x; x', diag V). To first order in its
deviations from the posterior mean m (the L of WSABI-L), L is a Gaussian process itself,

    E[L(x)] = α + ½ m(x)²,    Cov[L(x), L(x')] = m(x) C(x, x') m(x'),

so mean and variance of the evidence Z = e^c ∫ L(x) π(x) dx are sums of Gaussians. With K the
training covariance and a = K⁻¹ g,

    E[Z] / e^c     = α + ½ Σ_ij a_i a_j G_ij,
    Var[Z] / e^2c  = λ⁶ Σ_ij a_i a_j n_i n_j N(c_i; c_j, 2P + V) − pᵀ K⁻¹ p,    p = G a,

    G_ij = λ⁴ N(x_i; x_j, 2V) N(½(x_i + x_j); b, V/2 + B),    n_i = N(x_i; b, V + B),
    P = (1/V + 1/B)⁻¹,    c_i = P (x_i/V + b/B).

Both are the exact integrals of the linearised process. The factor ½ of the mean is in the warp,
g = √(2 (L − α)).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quell.acquisition.noise import NoiseTable
from quell.arrays import FloatArray
from quell.gp import GaussianProcess, TrainingData
from quell.gp.model import Layout

LOG_2PI = float(np.log(2 * np.pi))
#: α as a part of the smallest likelihood (Gunter et al. 2014).
ALPHA_SHARE = 0.8
#: Variance added to the diagonal of K (reference implementation); the largest g² is below 2.
JITTER = 1e-6
#: Noisy values are pushed through the warp at ± this many SDs, the quartiles of a normal.
U = 0.6744897501960817
#: log ω of a mean function that is flat for all practical purposes: the process has mean zero.
_FLAT = 40.0


@dataclass(frozen=True, eq=False)
class Measure:
    """π(x) = N(x; ``centre``, diag ``variance``), both (D,)."""

    centre: FloatArray
    variance: FloatArray

    def log_density(self, x: FloatArray) -> FloatArray:
        """log π (n,) at points (n, D)."""
        return log_normal(x, self.centre, self.variance)


@dataclass(frozen=True, eq=False)
class Warped:
    """Log likelihoods after rescaling and square root: L = α + ½ g² in units of e^c.

    ``g`` (N,) has the noise SDs ``sd`` (N,), zero where the values are taken for exact.
    """

    g: FloatArray
    sd: FloatArray
    alpha: float
    log_scale: float

    @classmethod
    def of(cls, ell: FloatArray, sd: FloatArray | None = None) -> "Warped":
        """The warp of ℓ (N,), -inf for zero density, with noise SDs (N,) if they are to count.

        A noisy value has the SD of a normal with the same quartiles, which are those of ℓ seen
        through the warp.

        >>> warped = Warped.of(np.array([0.0, np.log(0.5)]))
        >>> warped.alpha, (warped.alpha + 0.5 * warped.g**2).round(3)
        (0.4, array([1. , 0.5]))
        """
        log_scale = float(ell.max())
        alpha = ALPHA_SHARE * float(np.exp(ell.min() - log_scale))
        g = _root(ell - log_scale, alpha)
        if sd is None:
            return cls(g, np.zeros_like(g), alpha, log_scale)
        high, low = (_root(ell - log_scale + sign * U * sd, alpha) for sign in (1.0, -1.0))
        return cls(g, np.abs(high - low) / (2 * U), alpha, log_scale)


def _root(log_likelihood: FloatArray, alpha: float) -> FloatArray:
    return np.asarray(np.sqrt(2 * np.abs(np.exp(log_likelihood) - alpha)))


def process_vector(log_lambda: float, log_v: FloatArray) -> FloatArray:
    """(log λ, log V) as the hyperparameter vector of `quell.gp`, whose mean function is zero."""
    layout = Layout(len(log_v))
    theta = np.zeros(layout.size)
    theta[layout.lengths] = 0.5 * log_v
    theta[layout.output_scale] = log_lambda - 0.25 * np.sum(LOG_2PI + log_v)
    theta[layout.base_noise] = 0.5 * np.log(JITTER)
    theta[layout.mean_scales] = _FLAT
    return theta


@dataclass(frozen=True, eq=False)
class SquareRootSurrogate:
    """The likelihood as a half of a squared Gaussian process, conditioned on data.

    ``x`` (N, D) are points of inference space; ``h`` (1 + D,) is (log λ, log V); ``pending``
    (P, D) are points under evaluation, which count as known for variances.

    >>> measure = Measure(np.zeros(1), np.ones(1))
    >>> x = np.linspace(-3, 3, 9)[:, None]
    >>> surrogate = SquareRootSurrogate.of(x, Warped.of(-0.5 * x[:, 0]**2), measure, np.zeros(2))
    >>> mean, sd = surrogate.log_evidence()
    >>> bool(abs(mean - np.log(np.sqrt(0.5))) < 0.01), bool(sd < 0.1)
    (True, True)
    """

    gp: GaussianProcess
    warped: Warped
    measure: Measure
    h: FloatArray

    @classmethod
    def of(
        cls,
        x: FloatArray,
        warped: Warped,
        measure: Measure,
        h: FloatArray,
        pending: FloatArray | None = None,
    ) -> "SquareRootSurrogate":
        """The surrogate given observations."""
        data = TrainingData.from_arrays(x, warped.g, warped.sd)
        theta = process_vector(float(h[0]), h[1:])[None]
        return cls(GaussianProcess.condition(data, theta, pending=pending), warped, measure, h)

    @property
    def _x(self) -> FloatArray:
        return self.gp.data.x

    @property
    def _v(self) -> FloatArray:
        return np.exp(self.h[1:])

    @property
    def _a(self) -> FloatArray:
        """K⁻¹ g (N,), of the observed points."""
        return self.gp.alpha[0, : self.gp.data.size]

    @cached_property
    def _products(self) -> FloatArray:
        """∫ κ(x, x_i) κ(x, x_j) π(x) dx, (N, N): G of the module's text."""
        x, v = self._x, self._v
        middle = 0.5 * (x[:, None] + x[None])
        logs = log_normal(x[:, None], x[None], 2 * v)
        logs += log_normal(middle, self.measure.centre, 0.5 * v + self.measure.variance)
        return np.exp(4 * self.h[0] + logs)

    def moments(self) -> tuple[float, float]:
        """Mean and variance of ∫ L(x) π(x) dx, in units of e^c and its square."""
        a, x, v, b = self._a, self._x, self._v, self.measure.variance
        centre = self.measure.centre
        p = self._products @ a
        mean = self.warped.alpha + 0.5 * float(a @ p)
        narrow = 1.0 / (1.0 / v + 1.0 / b)
        c = narrow * (x / v + centre / b)
        n = a * np.exp(log_normal(x, centre, v + b))
        prior = float(
            n @ np.exp(6 * self.h[0] + log_normal(c[:, None], c[None], 2 * narrow + v)) @ n
        )
        half = self.gp.whiten(0, np.append(p, np.zeros(self.gp.n_pending))[:, None])[: len(p), 0]
        return mean, max(0.0, prior - float(half @ half))

    def log_evidence(self) -> tuple[float, float]:
        """log E[Z], and the SD of log Z to first order."""
        mean, variance = self.moments()
        if not mean > 0.0:
            return -np.inf, np.inf
        return self.warped.log_scale + float(np.log(mean)), float(np.sqrt(variance)) / mean

    def log_density(self, x: FloatArray) -> FloatArray:
        """log of (α + ½ m²) π at points (n, D), (n,): the posterior up to a constant."""
        m = self.gp.predict_mean(x)[0]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.warped.alpha + 0.5 * m**2) + self.measure.log_density(x))

    def uncertainty(self, x: FloatArray) -> FloatArray:
        """log of π² m² v · v/(v + 10⁻⁶ + s²) at points (n, D), (n,): what the next point maximises.

        The variance of L π under the linearised process, away from where g is certain, and, where
        noise counts, from where a noisy value would tell little (as in the paper's Eq. 6): s is the
        SD of the nearest observation (Eq. S13).
        """
        mean, variance = (part[0] for part in self.gp.predict(x))
        noise = NoiseTable.of(self.gp).sd_at(x) ** 2
        with np.errstate(divide="ignore"):
            logs = 2 * np.log(np.abs(mean)) + 2 * np.log(variance)
            logs -= np.log(variance + JITTER + noise)
        return np.asarray(2 * self.measure.log_density(x) + logs)


def log_normal(x: FloatArray, mean: FloatArray, variance: FloatArray) -> FloatArray:
    """log N(x; mean, diag variance) over the last axis."""
    return np.asarray(
        -0.5 * np.sum((x - mean) ** 2 / variance + np.log(variance) + LOG_2PI, axis=-1)
    )
