"""What soft edges do to a density is known: it need not be learnt.

In coordinates with soft edges (`quell.space.soft`) the log-Jacobian is, up to a constant and the
part of the other coordinates, a sum over the edges of

    log σ(u),        u = x · a + b,        σ(u) = 1/(1 + e⁻ᵘ),

with u the distance from the edge in units of its softness. Beyond an edge it falls steeply, often
within a small part of the posterior's width: no stationary surrogate can follow that. So the
surrogate learns the rest, and this is added.

The expectation of log σ(u) for a normal u is needed, smooth and exact however sharp the edge is.
-log σ(-u) = E[max(u + L, 0)] for a logistic variable L, and a logistic variable is a mixture of
normals of mean zero, to six digits of the six below (weights w_j, SDs τ_j). So, for a normal u of
mean m and variance v,

    E[log σ(u)] = -Σ_j w_j h(-m, v + τ_j²),     h(a, V) = a Φ(a/√V) + √V φ(a/√V).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_expit, ndtr

from quell.arrays import FloatArray
from quell.native import kernels

#: Weights and SDs of the normals that make a logistic variable: a least-squares fit of E[max(u + L,
#: 0)] and its slope over |u| < 40, both to within 2e-7.
WEIGHTS = np.array(
    [0.0214334110, 0.1879339808, 0.3823593344, 0.3044109771, 0.0967038847, 0.0071584120]
)
SDS = np.array([0.8358206512, 1.1324608641, 1.5251847802, 2.0605025604, 2.7840947985, 3.7828224276])


@dataclass(frozen=True, eq=False)
class Edges:
    """E soft edges in a space of D coordinates: ``slopes`` a (E, D), ``offsets`` b (E,).

    >>> edge = Edges(np.array([[2.0]]), np.array([0.0]))     # at x = 0, of softness 1/2
    >>> edge.at(np.array([[0.0], [-3.0]])).round(2)
    array([-0.69, -6.  ])
    """

    slopes: FloatArray
    offsets: FloatArray

    def joined(self, other: "Edges") -> "Edges":
        """These edges and others of the same space."""
        return Edges(
            np.concatenate([self.slopes, other.slopes]),
            np.concatenate([self.offsets, other.offsets]),
        )

    def equals(self, other: "Edges | None") -> bool:
        """Whether both are the same."""
        return (
            other is not None
            and np.array_equal(self.slopes, other.slopes)
            and np.array_equal(self.offsets, other.offsets)
        )

    def _distances(self, x: FloatArray) -> FloatArray:
        return np.asarray(x @ self.slopes.T + self.offsets)

    def at(self, x: FloatArray) -> FloatArray:
        """Σ log σ(u) at points (..., D), shape (...)."""
        return np.asarray(log_expit(self._distances(x)).sum(axis=-1))

    def gradient(self, x: FloatArray) -> FloatArray:
        """Its gradient at points (..., D), of the same shape."""
        return np.asarray(np.exp(log_expit(-self._distances(x))) @ self.slopes)

    def expectation(
        self, means: FloatArray, variances: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Σ E[log σ(u)] under K axis-aligned normals of these means and variances (K, D).

        Returns the values (K,), and their derivatives (K, D) in the means and the variances.
        """
        if kernels is not None and len(self.offsets):
            k, d = means.shape
            out = np.empty(k + 2 * k * d)
            kernels.edges_expectation(
                out, np.ascontiguousarray(means, float), np.ascontiguousarray(variances, float),
                np.ascontiguousarray(self.slopes, float), np.ascontiguousarray(self.offsets, float),
                WEIGHTS, SDS,
            )  # fmt: skip
            derivatives = out[k:].reshape(2, k, d)
            return out[:k], derivatives[0], derivatives[1]
        below = -self._distances(means)  # (K, E)
        spread = variances @ (self.slopes**2).T
        sd = np.sqrt(spread[..., None] + SDS**2)  # (K, E, j)
        ratio = below[..., None] / sd
        share = ndtr(ratio)
        height = np.exp(-0.5 * ratio**2) / np.sqrt(2 * np.pi)
        value = -(below[..., None] * share + sd * height) @ WEIGHTS
        by_mean = share @ WEIGHTS
        by_variance = -0.5 * (height / sd) @ WEIGHTS
        return value.sum(axis=1), by_mean @ self.slopes, by_variance @ self.slopes**2
