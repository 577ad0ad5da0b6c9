"""Prior of the surrogate's hyperparameters, and smooth unconstrained coordinates for them.

Every hyperparameter is confined to an interval that depends on the training set. Inside it the
prior is uniform or Student-t with 3 degrees of freedom (paper, Table S1):

    hyperparameter   interval                                       prior
    log ℓ_i          log w_i + [log 10⁻⁶, log 10]                   t₃(log(√(D/6) L_i), ½ log 10³)
    log σ_f          log h + [log 10⁻⁶, log 10]                     uniform, or t₃(log o, 1)
    log σ̄            [½ log 10⁻⁵, log h]                            t₃(½ log 10⁻⁵, ½)
    m_0              [min y, max y + max(0.1, min(D, range y*))]    uniform
    x_m,i            [min X_i - w_i/2, max X_i + w_i/2]             uniform
    log ω_i          log w_i + [log 10⁻⁶, 3]                        uniform
    log ν            2 log n + [log 10⁻³, log 10³]                  t₃(2 log n, log 10)

with w_i the range of X_i, h the range of y, y* the 80 % highest values, L_i the plausible range
in inference space, n the user's guess of the noise SD (1 and t-scale log 10 without a guess,
half of that with one), o the size expected of what the quadratic mean leaves over.

The uniform prior of log σ_f is the paper's, and a trap under noise: near the lower end the
surrogate is its quadratic mean and nothing else, the ℓ_i may be anything, and that large volume
draws the samples in (docs/experiments/output-scale.md). So runs expect a size o.

Before the paper the priors of two rows were read off the training set ("empirical"), with X* the
points of the values y*, and the floor of the noise was lower:

    log ℓ_i          as above               t₃(log SD(X*_i), max(2, log range(X*_i) - log SD(X*_i)))
    log σ̄            [½ log 10⁻⁶, log h]                            t₃(½ log 10⁻⁶, ½)
    m_0              [min y, max y + range y]                       t₃(max y, range y*)

**Unconstrained coordinates.** Optimiser and sampler work with u, related to an entry of θ by
the smooth clamp

    θ(u) = a + τ [log(1 + e^{(u-a)/τ}) - log(1 + e^{(u-b)/τ})],   a < θ < b,

which is the identity (to e^{-distance/τ}) away from the ends of [a, b] and flattens within a
few τ of them. Unlike a logit of the whole interval it leaves the posterior's shape alone
wherever the bounds do not matter, so that its mode in u is its mode in θ there.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, gammaln, stdtr, stdtrit

from quell.arrays import FloatArray
from quell.checks import raise_at, vector
from quell.gp.data import TrainingData
from quell.gp.model import Layout
from quell.gp.prior_table import prior_table

STUDENT_DF = 3.0
_STUDENT_LOG_CONSTANT = float(
    gammaln((STUDENT_DF + 1) / 2) - gammaln(STUDENT_DF / 2) - 0.5 * np.log(STUDENT_DF * np.pi)
)


@dataclass(frozen=True, eq=False)
class HyperparameterPrior:
    """Bounds, prior densities and starting values of θ for one training set.

    All arrays have the length of θ. ``location`` and ``scale`` are those of the Student-t
    priors, nan where the prior is uniform; ``plausible_lower`` and ``plausible_upper`` bound
    the part of the interval where random starting vectors are mostly drawn; ``start`` is a
    default start; ``softness`` is τ of the smooth clamp.

    >>> data = TrainingData.from_arrays([[0.0], [1.0], [2.0]], [0.0, -0.5, -2.0], noise_sd=0.1)
    >>> prior = HyperparameterPrior.for_data(data)
    >>> bool(((prior.lower < prior.start) & (prior.start < prior.upper)).all())
    True
    """

    layout: Layout
    lower: FloatArray
    upper: FloatArray
    location: FloatArray
    scale: FloatArray
    plausible_lower: FloatArray
    plausible_upper: FloatArray
    start: FloatArray
    softness: FloatArray

    @classmethod
    def for_data(
        cls,
        data: TrainingData,
        *,
        plausible_range: ArrayLike = 1.0,
        noise_guess: float | None = None,
        output_scale: float | None = None,
        empirical: bool = False,
    ) -> "HyperparameterPrior":
        """The prior for a training set of at least two points.

        ``plausible_range`` (D,) is L, the width of the plausible box in inference space.
        ``noise_guess`` is the expected SD of noise whose size is unknown. ``output_scale`` is the
        expected size of σ_f; without it the prior of log σ_f is uniform, as in the paper.
        ``empirical`` has the rows of ℓ, σ̄ and m_0 that came before the paper's.
        """
        if data.size < 2:
            raise ValueError(f"data must have at least 2 observations, got {data.size}")
        layout = Layout(data.dimension, data.has_unknown_noise)
        box = vector("plausible_range", plausible_range, data.dimension)
        bad = ~((box > 0) & np.isfinite(box))
        if bad.any():
            raise_at("plausible_range", box, bad, "must be positive and finite")
        if noise_guess is not None and not (np.isfinite(noise_guess) and noise_guess > 0):
            raise ValueError(f"noise_guess must be a positive SD, got {noise_guess}")
        if output_scale is not None and not (np.isfinite(output_scale) and output_scale > 0):
            raise ValueError(f"output_scale must be positive and finite, got {output_scale}")
        return cls(layout, **prior_table(layout, data, box, noise_guess, output_scale, empirical))

    def log_density(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Log prior density inside the bounds (truncation constants dropped) and gradient."""
        student, location, scale, constant = self._constants
        z = (theta[student] - location) / scale
        value = constant - 0.5 * (STUDENT_DF + 1) * float(np.log1p(z**2 / STUDENT_DF).sum())
        gradient = np.zeros(self.layout.size)
        gradient[student] = -(STUDENT_DF + 1) * z / (STUDENT_DF + z**2) / scale
        return value, gradient

    @cached_property
    def _constants(self) -> tuple[NDArray[np.intp], FloatArray, FloatArray, float]:
        """Which entries have a Student-t prior, its locations and scales; the log constant."""
        uniform = np.isnan(self.scale)
        student = np.flatnonzero(~uniform)
        scale = self.scale[student]
        constant = len(student) * _STUDENT_LOG_CONSTANT - float(np.log(scale).sum())
        constant -= float(np.log((self.upper - self.lower)[uniform]).sum())
        return student, self.location[student], scale, constant

    @cached_property
    def _margins(self) -> tuple[FloatArray, FloatArray]:
        """The bounds moved inwards by a little, for on a bound there is no way back to u."""
        ulp = np.spacing(np.maximum(np.abs(self.lower), np.abs(self.upper)))
        margin = np.maximum(1e-12 * (self.upper - self.lower), 4 * ulp)
        return self.lower + margin, self.upper - margin

    @cached_property
    def _log_gap(self) -> FloatArray:
        """log(1 - e^{(a-b)/τ})."""
        return np.log1p(-np.exp((self.lower - self.upper) / self.softness))

    @cached_property
    def as_table(self) -> tuple[FloatArray, float]:
        """All that a compiled kernel needs: an array (8, size), and the log constant."""
        rows = [self.lower, self.upper, self.softness, *self._margins, self._log_gap]
        return np.array([*rows, self.location, self.scale]), self._constants[3]

    def constrain(self, u: FloatArray) -> FloatArray:
        """θ(u), strictly inside the bounds; works on (..., size)."""
        below = np.logaddexp(0.0, (u - self.lower) / self.softness)
        above = np.logaddexp(0.0, (u - self.upper) / self.softness)
        return self._inside(self.lower + self.softness * (below - above))

    def _inside(self, theta: FloatArray) -> FloatArray:
        """θ moved off the bounds."""
        return np.minimum(np.maximum(theta, self._margins[0]), self._margins[1])

    def constrain_derivatives(self, u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """dθ/du, its logarithm, and the derivative of that logarithm in u, each (size,)."""
        below = (u - self.lower) / self.softness
        above = (u - self.upper) / self.softness
        # dθ/du = σ(below) - σ(above), written as a product so that it cannot cancel:
        # σ(p) - σ(r) = σ(p) σ(-r) (1 - e^{r - p}).
        log_slope = -np.logaddexp(0.0, -below) - np.logaddexp(0.0, above) + self._log_gap
        log_slope_slope = (expit(-below) - expit(above)) / self.softness
        return np.exp(log_slope), log_slope, log_slope_slope

    def unconstrain(self, theta: FloatArray) -> FloatArray:
        """u(θ), the inverse of :meth:`constrain`; θ outside the bounds is clipped into them."""
        theta = self._inside(theta)
        # With E = e^{(θ-a)/τ} and c = e^{(a-b)/τ}:  e^{(u-a)/τ} = (E - 1) / (1 - E c).
        from_lower = (theta - self.lower) / self.softness
        to_upper = (self.upper - theta) / self.softness
        log_ratio = np.log(-np.expm1(-from_lower)) + from_lower - np.log(-np.expm1(-to_upper))
        return np.asarray(self.lower + self.softness * log_ratio)

    def draw(self, rng: np.random.Generator, n: int) -> FloatArray:
        """Random vectors θ (n, size) for a search over the whole prior.

        Student-t entries come from their truncated prior. Uniform ones are spread over the
        plausible interval, but for a share 1 - ½^(1/size) of them, spread over the rest of the
        bounds: so half of the vectors are plausible in every entry.
        """
        size = self.layout.size
        uniform = rng.random((n, size))
        theta = np.empty((n, size))
        student = ~np.isnan(self.scale)

        def quantile(bound: FloatArray) -> FloatArray:
            z = (bound[student] - self.location[student]) / self.scale[student]
            return np.asarray(stdtr(STUDENT_DF, z))

        low, high = quantile(self.lower), quantile(self.upper)
        z = stdtrit(STUDENT_DF, low + uniform[:, student] * (high - low))
        theta[:, student] = self.location[student] + self.scale[student] * z

        inside = self.plausible_lower + uniform * (self.plausible_upper - self.plausible_lower)
        left = self.plausible_lower - self.lower
        stretch = uniform * (left + self.upper - self.plausible_upper)
        outside = np.where(
            stretch < left, self.lower + stretch, self.plausible_upper + stretch - left
        )
        is_plausible = rng.random((n, size)) < 0.5 ** (1 / size)
        theta[:, ~student] = np.where(is_plausible, inside, outside)[:, ~student]
        return np.clip(theta, self.lower, self.upper)
