"""What one more observation would do to the variance of given quantities (paper, Eq. 5).

A quantity T is a linear functional of the surrogate f: its value f(a) at a point, or its
integral against q. An observation at x with noise variance σ² takes

    τ_T²(x) = C(T, x)² / (v(x) + σ²),    C(T, x) = c_T(x) - κ(x, X) K_y⁻¹ c_T(X),

off the variance of T, whatever its outcome; c_T(x) is the prior covariance of T with f(x), for
T = f(a) the kernel κ(a, x).
"""

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from quell.arrays import FloatArray
from quell.gp import GaussianProcess
from quell.gp.gradients import LocalPrediction, squared_exponential
from quell.gp.model import kernel


class Targets(Protocol):
    """Quantities T_1 .. T_A whose variances are of interest."""

    def prior(self, s: int, x: FloatArray) -> FloatArray:
        """c_T at points (n, D) under sample ``s``, (n, A)."""
        ...

    def local_prior(self, x: FloatArray) -> FloatArray:
        """c_T at one point (D,) under all samples, (S, A)."""
        ...

    def local_prior_gradient(
        self, x: FloatArray, prior: FloatArray, coefficients: FloatArray
    ) -> FloatArray:
        """Σ_s,T g_sT ∂c_T/∂x at one point, (D,), for coefficients g (S, A).

        ``prior`` (S, A) is ``local_prior(x)``, from which some need no new exponential.
        """
        ...


class Points:
    """The values of the surrogate at ``points`` (A, D), or at (S, A, D), A per sample."""

    def __init__(self, gp: GaussianProcess, points: FloatArray) -> None:
        self.gp = gp
        self.points = np.broadcast_to(points, (gp.n_samples, *points.shape[-2:]))
        self._offsets = points

    def prior(self, s: int, x: FloatArray) -> FloatArray:
        """κ(x, a), (n, A)."""
        return kernel(self.gp.samples[s], x, self.points[s])

    def local_prior(self, x: FloatArray) -> FloatArray:
        """κ(x, a) under all samples, (S, A)."""
        return squared_exponential(self.gp, self._offsets - x)

    def local_prior_gradient(
        self, x: FloatArray, prior: FloatArray, coefficients: FloatArray
    ) -> FloatArray:
        """Σ g ∂κ(x, a)/∂x, (D,)."""
        weighted = (coefficients * prior)[:, None, :]
        return np.asarray(
            ((weighted @ (self._offsets - x))[:, 0] / self.gp.hyper.lengths**2).sum(axis=0)
        )


class Lookahead:
    """Covariances C(T, x) of targets with candidate points, from one factorisation.

    >>> from quell.gp import TrainingData
    >>> data = TrainingData.from_arrays([[-1.0], [1.0]], [-0.5, -0.5])
    >>> gp = GaussianProcess.condition(data, [[0.0, 0.0, -5.0, 0.0, 0.0, 0.0]])
    >>> a, x = np.array([[0.0], [0.5]]), np.array([[0.1], [3.0], [0.5]])
    >>> ahead = Lookahead(gp, Points(gp, a))
    >>> _, _, covariance = next(ahead.samples(x))
    >>> bool(np.allclose(covariance, gp.covariance(x, a)[0]))
    True
    """

    def __init__(self, gp: GaussianProcess, targets: Targets) -> None:
        self.gp = gp
        self.targets = targets
        halves = [gp.whiten(s, targets.prior(s, gp.x)) for s in range(gp.n_samples)]
        # What the observations take off the prior variance of T, (S, A)
        self.explained = np.stack([np.einsum("ma,ma->a", half, half) for half in halves])
        # K_y⁻¹ c_T(X), (S, M, A)
        self.solved = np.stack([gp.unwhiten(s, half) for s, half in enumerate(halves)])

    def samples(self, x: FloatArray) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
        """Per sample: latent mean and variance at points (n, D), each (n,), and C (n, A)."""
        gp = self.gp
        for s in range(gp.n_samples):
            cross = kernel(gp.samples[s], x, gp.x)
            covariance = self.targets.prior(s, x)
            covariance -= cross @ self.solved[s]
            yield *gp.sample_moments(s, x, cross), covariance

    def local(self, local: LocalPrediction) -> tuple[FloatArray, FloatArray]:
        """At one point, under all samples: the prior covariances c_T and C, each (S, A)."""
        prior = self.targets.local_prior(local.x)
        return prior, prior - (local.cross[:, None, :] @ self.solved)[:, 0]

    def local_gradient(
        self,
        local: LocalPrediction,
        prior: FloatArray,
        by_covariance: FloatArray,
        by_variance: FloatArray,
    ) -> FloatArray:
        """Gradient (D,) in x of a function of C and v, given its derivatives in them.

        ``by_covariance`` (S, A) and ``by_variance`` (S,); ``prior`` as from :meth:`local`.
        Working backwards from those needs two matrix-vector products per sample, and not the
        A gradients of C.
        """
        through_cross = (self.solved @ by_covariance[:, :, None])[:, :, 0]
        through_cross += 2 * by_variance[:, None] * local.solved
        gradient = self.targets.local_prior_gradient(local.x, prior, by_covariance)
        return gradient - local.cross_gradient(through_cross).sum(axis=0)
