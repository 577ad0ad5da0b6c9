"""What the optimiser of the mixture minimises: minus the ELBO (or ELCBO), plus penalties.

The penalties keep the mixture where the surrogate has data, and small weights from lingering:

* soft bounds on a scalar v with interval [a, b]: ½ (distance outside / (0.01 (b - a)))², for
  every mean (the range of the training inputs), every log scale log σ_k + log λ_i (10⁻⁶ to 1
  times that range) and every η_k (half the pruning weight to 1);
* 0.1 Σ_k min(w_k, w_thr) with w_thr = max(1/(4K), pruning weight).
"""

from dataclasses import dataclass

import numpy as np

from quell.arrays import FloatArray
from quell.mixture import BaseSample, Mixture, entropy, entropy_lower_bound
from quell.native import kernels
from quell.quadrature import Quadrature

SOFT_BOUND_SCALE = 0.01
SMALLEST_SCALE = 1e-6
WEIGHT_PENALTY = 0.1
#: Components lighter than this are candidates for removal.
PRUNING_WEIGHT = 0.01


@dataclass(frozen=True, eq=False)
class Penalty:
    """Soft bounds and weight penalty for mixtures fitted to given training inputs.

    ``lower``, ``upper`` (D,) is the box of the training inputs; ``pruning_weight`` 0 switches
    off the bound on η.
    """

    lower: FloatArray
    upper: FloatArray
    pruning_weight: float = PRUNING_WEIGHT

    @classmethod
    def for_points(cls, x: FloatArray, pruning_weight: float = PRUNING_WEIGHT) -> "Penalty":
        """The penalty for training inputs ``x`` (N, D)."""
        return cls(x.min(axis=0), x.max(axis=0), pruning_weight)

    def __call__(self, mixture: Mixture, *, weights: bool = True) -> tuple[float, FloatArray]:
        """Penalty and gradient; ``weights`` says whether the weights are being fitted."""
        k, d = mixture.n_components, mixture.dimension
        if kernels is not None:
            slope = np.empty(k * d + 2 * k + d)
            cost: float = kernels.penalty(
                slope, mixture.weights, np.ascontiguousarray(mixture.means), mixture.scales,
                mixture.lengths, np.ascontiguousarray(self.lower, float),
                np.ascontiguousarray(self.upper, float), self.pruning_weight, weights,
            )  # fmt: skip
            return cost, slope
        width = np.where(self.upper > self.lower, self.upper - self.lower, 1.0)
        value, by_mean = _soft_bound(mixture.means, self.lower, self.upper, width)
        log_scales = np.log(mixture.scales)[:, None] + np.log(mixture.lengths)
        ceiling = np.log(width)
        floor = ceiling + np.log(SMALLEST_SCALE)
        more, by_scale = _soft_bound(log_scales, floor, ceiling, ceiling - floor)
        value += more
        by_eta = np.zeros(k)
        if weights:
            w = mixture.weights
            if self.pruning_weight > 0:
                eta = np.log(np.maximum(w, np.finfo(float).tiny))
                eta -= eta.max()
                floor = np.log(0.5 * self.pruning_weight)
                more, by_eta = _soft_bound(eta, floor, 0.0, -floor)
                value += more
                # η is relative to the largest of them, which therefore moves all the others.
                by_eta[np.argmax(w)] -= by_eta.sum()
            threshold = max(1 / (4 * k), self.pruning_weight)
            value += WEIGHT_PENALTY * float(np.minimum(w, threshold).sum())
            by_weight = np.where(w < threshold, WEIGHT_PENALTY, 0.0)
            by_eta = by_eta + w * (by_weight - w @ by_weight)
        gradient = np.concatenate(
            [by_mean.ravel(), by_scale.sum(axis=1), by_scale.sum(axis=0), by_eta]
        )
        assert gradient.shape == (k * d + 2 * k + d,)
        return value, gradient


def _soft_bound(
    v: FloatArray, lower: FloatArray | float, upper: FloatArray | float, width: FloatArray | float
) -> tuple[float, FloatArray]:
    outside = np.maximum(0.0, v - upper) - np.maximum(0.0, lower - v)
    scaled = outside / (SOFT_BOUND_SCALE * width)
    return 0.5 * float((scaled**2).sum()), scaled / (SOFT_BOUND_SCALE * width)


@dataclass(frozen=True, eq=False)
class Objective:
    """Minus the ELCBO_β plus penalties, with its exact gradient.

    ``base`` (n, D) is the base sample of the entropy; None takes the deterministic lower
    bound instead, which is fast enough to score many starts. ``single``: the entropy in single
    precision.
    """

    quadrature: Quadrature
    penalty: Penalty
    base: FloatArray | BaseSample | None
    beta: float = 0.0
    weights: bool = True
    single: bool = False

    def __call__(self, mixture: Mixture) -> tuple[float, FloatArray]:
        """Value and gradient, in the order of ``Mixture.to_vector``."""
        value, gradient = self.quadrature.lower_bound_and_gradient(mixture, self.beta)
        if self.base is None:
            h, h_gradient = entropy_lower_bound(mixture, gradient=True)
        else:
            h, h_gradient = entropy(mixture, self.base, gradient=True, single=self.single)
        p, p_gradient = self.penalty(mixture, weights=self.weights)
        total = p_gradient - gradient - h_gradient
        if not self.weights:
            total[-mixture.n_components :] = 0.0
        return p - value - h, total

    def value(self, mixture: Mixture) -> float:
        """The value alone, at less than half the cost where it is taken of the lower bound."""
        value, _ = self.quadrature.lower_bound_and_gradient(mixture, self.beta)
        if self.base is None:
            h = entropy_lower_bound(mixture)
        else:
            h = entropy(mixture, self.base, single=self.single)
        return self.penalty(mixture, weights=self.weights)[0] - value - h
