"""The reduction of an integrated interquantile range, common to VIQR, IMIQR and WIQR.

The losses (paper, Eqs. 8 and 9, and WIQR) are sums over points a and hyperparameter samples s,

    loss(x) = Σ_s,a W_sa 2 sinh(u s'_sa(x)),   s'² = s² - τ²(x),   u = Φ⁻¹(0.75),

with s_sa the SD of f(a) now, s'_sa(x) that after an observation at x (paper, Eq. 5) and
weights W_sa that hold the weight of the sample. Instead of the smallest loss we look for the
largest *reduction*, which is the same point, and take its logarithm,

    score(x) = log Σ_s,a W_sa 2 [sinh(u s_sa) - sinh(u s'_sa(x))],

because one point often changes the loss by a thousandth. With p = u(s + s')/2 and
δ = u(s - s')/2 = ½ u τ²/(s + s') nothing cancels and nothing overflows in

    2 [sinh(us) - sinh(us')] = 4 cosh p sinh δ = e^{us} (1 + e^{-2p}) (1 - e^{-2δ}).
"""

from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

from quell.acquisition.lookahead import Lookahead, Points
from quell.acquisition.score import SurrogateScore
from quell.acquisition.situation import Situation
from quell.arrays import FloatArray
from quell.gp import GaussianProcess
from quell.gp.gradients import LocalPrediction
from quell.native import kernels

#: u = Φ⁻¹(p_u) with the quantile p_u = 0.75 (paper, section 3.3).
U = float(ndtri(0.75))
# SDs are not taken to be smaller than this part of σ_f: below it the variance is rounding.
_SD_FLOOR = 1e-8


class ReductionScore(SurrogateScore):
    """log Σ_s,a W_sa 2 [sinh(u s_sa) - sinh(u s'_sa(x))].

    ``points`` are (A, D), or (S, A, D) where every sample has its own; ``log_weights``
    (S, A) are log W_sa.
    """

    def __init__(self, situation: Situation, points: FloatArray, log_weights: FloatArray) -> None:
        super().__init__(situation)
        gp = situation.gp
        self.points = points
        self.ahead = Lookahead(gp, Points(gp, points))
        self.sd = _floored_sds(gp, gp.hyper.output_variance[:, None] - self.ahead.explained)
        exponent = U * self.sd + log_weights
        self._log_scale = float(exponent.max())
        self._terms = np.exp(exponent - self._log_scale)  # W e^{us}, the largest one 1
        if kernels is not None:  # those want their arrays in this order
            self._observed = np.ascontiguousarray(gp.x)
            self._points = np.broadcast_to(
                np.ascontiguousarray(points), (gp.n_samples, *points.shape[-2:])
            )
            self._solved = np.ascontiguousarray(np.swapaxes(self.ahead.solved, 1, 2))

    def _scores(
        self, x: FloatArray, noise: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        mean, variance = np.empty_like(noise), np.empty_like(noise)
        reduction = np.zeros(len(x))
        for s, (mean_s, variance_s, covariance) in enumerate(self.ahead.samples(x)):
            mean[s], variance[s] = mean_s, variance_s
            total = (variance_s + noise[s])[:, None]
            _, tail, drop = _lookahead_terms(self.sd[s], covariance, total)
            tail += 1
            tail *= drop
            reduction += tail @ self._terms[s]
        with np.errstate(divide="ignore"):
            return self._log_scale + np.log(reduction), mean, variance

    def _score_and_gradient(
        self, local: LocalPrediction, noise: FloatArray
    ) -> tuple[float, FloatArray]:
        if kernels is not None:
            return self._compiled(kernels.lookahead, local, noise)
        prior, covariance = self.ahead.local(local)
        total = (local.variance + noise)[:, None]
        after, tail, drop = _lookahead_terms(self.sd, covariance.copy(), total)
        reduction = float((self._terms * (1 + tail) * drop).sum())
        if not reduction > 0:
            return -np.inf, np.zeros_like(local.x)
        # d[-2 sinh(us')]/dτ² = (u/s') cosh(us'), and 2 cosh(us') = e^{us} (e^{-2δ} + e^{-2p}).
        # Where next to nothing is left to reduce the slope overflows: the search refuses it.
        with np.errstate(over="ignore", invalid="ignore"):
            by_tau_squared = self._terms * (0.5 * U) / after * (1 - drop + tail) / reduction
            by_covariance = by_tau_squared * 2 * covariance / total
            by_variance = -(by_tau_squared * covariance**2).sum(axis=1) / total[:, 0] ** 2
            gradient = self.ahead.local_gradient(local, prior, by_covariance, by_variance)
        return self._log_scale + float(np.log(reduction)), gradient

    def _compiled(
        self, lookahead: Callable[..., float], local: LocalPrediction, noise: FloatArray
    ) -> tuple[float, FloatArray]:
        """The same by a compiled kernel, which returns the reduction of one sample's loss."""
        hyper = self.gp.hyper
        total = local.variance + noise
        reduction, gradient = 0.0, np.zeros_like(local.x)
        for s in range(self.gp.n_samples):
            reduction += lookahead(
                np.ascontiguousarray(local.x),
                self._observed,
                hyper.lengths[s],
                local.cross[s],
                local.solved[s],
                self._points[s],
                self._solved[s],
                self.sd[s],
                self._terms[s],
                gradient,
                hyper.output_variance[s],
                total[s],
            )
        if not reduction > 0:
            return -np.inf, np.zeros_like(local.x)
        with np.errstate(over="ignore", invalid="ignore"):
            return self._log_scale + float(np.log(reduction)), gradient / reduction


def _lookahead_terms(
    sd: FloatArray, covariance: FloatArray, total: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """s', e^{-2p} and 1 - e^{-2δ}, in the shape (n, A) of ``covariance``, which is overwritten.

    ``sd`` s, ``covariance`` C(a, x) and ``total`` v(x) + σ², of broadcasting shapes.
    """
    before = sd**2
    tau_squared = np.square(covariance, out=covariance)
    tau_squared /= total
    after = before - tau_squared
    # No exact observation is so good that rounding could not spoil it.
    np.maximum(after, (_SD_FLOOR * sd) ** 2, out=after)
    np.sqrt(after, out=after)
    exponent = after + sd
    tau_squared *= -U
    tau_squared /= exponent
    drop = np.expm1(tau_squared, out=tau_squared)
    np.negative(drop, out=drop)
    exponent *= -U
    return after, np.exp(exponent, out=exponent), drop


def point_sds(gp: GaussianProcess, points: FloatArray) -> FloatArray:
    """Posterior SDs s_sa (S, A) at ``points`` (A, D) or (S, A, D), floored above rounding."""
    points = np.broadcast_to(points, (gp.n_samples, *points.shape[-2:]))
    variance = np.empty(points.shape[:2])
    for s, own in enumerate(points):
        variance[s] = gp.sample_moments(s, own)[1]
    return _floored_sds(gp, variance)


def _floored_sds(gp: GaussianProcess, variance: FloatArray) -> FloatArray:
    return np.sqrt(np.maximum(variance, _SD_FLOOR**2 * gp.hyper.output_variance[:, None]))
