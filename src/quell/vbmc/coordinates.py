"""Other coordinates: everything that lives in x carried over to another inference space.

A change of coordinates is a whitening (a new linear map) or a change of the maps of single
parameters (`quell.vbmc.softening`), or both; nothing here depends on which. Around a point the new
coordinates are a linear function of the old ones,

    x' ≈ x'_k + (x − μ_k) A_k,

with A_k found by mapping points one SD away from the mean μ_k of component k to the user's
parameters and back. For a linear change this is exact. An axis-aligned Gaussian of SDs ℓ becomes
one of covariance Aᵀ diag(ℓ²) A, whose diagonal is kept.

New coordinates are judged by the surrogate's marginal likelihood. The observations are the same;
the values differ by the log-Jacobian, which is known at every point, so the likelihoods can be
compared.
"""

from dataclasses import dataclass, replace

import numpy as np

from quell.acquisition import SearchBox
from quell.arrays import FloatArray
from quell.gp import GaussianProcess, Memory
from quell.gp.marginal import LOG_2PI
from quell.gp.model import Layout, mean_function
from quell.mixture import Mixture
from quell.space import InferenceSpace
from quell.vbmc.state import Solution, State

#: Points by which the image of the search box is found; it is made wider on every side by its width
#: over the second number (reference implementation).
BOX_POINTS, BOX_MARGINS = 1000, 1000
#: The thinnest SD of a carried component is at least this part of the longest of all: far out,
#: next to a bound, floating-point numbers may not tell its points apart.
THINNEST = 1e-6


@dataclass(frozen=True, eq=False)
class Carried:
    """A mixture's K components in other coordinates, to first order.

    ``means`` (K, D) are the images of its means; ``spreads`` (K, D, D) those of one SD along every
    axis: row i for axis i. ``slope`` (D, D) is A, averaged over the components, and ``log_volume``
    what the log density gains on average, edges that the surrogate knows of left out.
    """

    mixture: Mixture
    means: FloatArray
    spreads: FloatArray
    slope: FloatArray
    log_volume: float

    @classmethod
    def of(cls, mixture: Mixture, own: InferenceSpace, other: InferenceSpace) -> "Carried":
        """The components of a mixture in its ``own`` space, seen in another one."""
        sds = mixture.scales[:, None] * mixture.lengths
        steps = sds[:, :, None] * np.eye(mixture.dimension)
        centres = mixture.means[:, None, :]
        points = np.concatenate([centres, centres + steps, centres - steps], axis=1)
        mapped = other.to_inference(own.to_original(points))
        d = mixture.dimension
        means, spreads = mapped[:, 0], 0.5 * (mapped[:, 1 : d + 1] - mapped[:, d + 1 :])
        slope = np.einsum("k,kij->ij", mixture.weights, spreads / sds[:, :, None])
        gain = _learnt_jacobian(other, means) - _learnt_jacobian(own, mixture.means)
        return cls(mixture, means, spreads, slope, float(mixture.weights @ gain))

    @property
    def is_finite(self) -> bool:
        """Whether all of it can be told there.

        So far beyond a bound that parameters are rounded onto it, a component has no place.
        """
        return bool(np.isfinite(self.means).all() and np.isfinite(self.spreads).all())

    def mean(self) -> FloatArray:
        """Mean (D,) of the mixture in the new coordinates."""
        return np.asarray(self.mixture.weights @ self.means)

    def covariance(self) -> FloatArray:
        """Covariance (D, D) of the mixture in the new coordinates."""
        offsets = self.means - self.mean()
        within = np.einsum("k,kij,kil->jl", self.mixture.weights, self.spreads, self.spreads)
        return np.asarray(within + (self.mixture.weights[:, None] * offsets).T @ offsets)

    def as_mixture(self) -> Mixture:
        """The mixture there, its covariances made axis-aligned and of one shape again."""
        variances = np.maximum(np.sum(self.spreads**2, axis=1), np.finfo(float).tiny)
        variances = np.maximum(variances, THINNEST**2 * variances.max())
        shares = variances / variances.sum(axis=1, keepdims=True)
        lengths = np.sqrt(self.mixture.dimension * shares.mean(axis=0))
        scales = np.exp(np.mean(0.5 * np.log(variances) - np.log(lengths), axis=1))
        return Mixture(self.mixture.weights, self.means, scales, lengths)

    def hyperparameters(self, theta: FloatArray, layout: Layout) -> FloatArray:
        """θ (..., size) there; the log joint gains the change of the log-Jacobian."""
        new = theta.copy()
        for entry in (layout.lengths, layout.mean_scales):
            new[..., entry] = 0.5 * np.log(np.exp(2 * theta[..., entry]) @ self.slope**2)
        offset = theta[..., layout.mean_location] - self.mixture.mean()
        new[..., layout.mean_location] = self.mean() + offset @ self.slope
        new[..., layout.mean_max] += self.log_volume
        return new


def change_coordinates(
    rng: np.random.Generator, state: State, space: InferenceSpace, *, full_refit: bool
) -> State:
    """The state in another ``space``, its surrogate still to be fitted there.

    ``full_refit`` where nothing fitted in the old space is a good start in the new.
    """
    assert state.fit is not None
    assert state.mixture is not None
    carried = Carried.of(state.mixture, state.space, space)
    memory = state.fit.memory
    vectors = carried.hyperparameters(memory.vectors, state.fit.gp.layout)
    return state.with_data(
        space=space,
        cuts=None,
        fit=None,
        memory=replace(memory, vectors=vectors, root=None),
        mixture=carried.as_mixture(),
        before=None,
        box=_carried_box(rng, state.box, state.space, space),
        plausible_range=space.plausible_range(rng),
        n_whitenings=state.n_whitenings + 1,
        last_whitening=len(state.history) + 1,
        full_refit=full_refit,
    )


def go_back(rng: np.random.Generator, state: State, solution: Solution) -> State:
    """The state with the coordinates, posterior and hyperparameters of an earlier solution."""
    vectors = np.vstack([solution.weights @ solution.theta, solution.theta])
    step = 1.0 if state.memory is None else state.memory.step
    return state.with_data(
        space=solution.space,
        cuts=None,
        fit=None,
        memory=Memory(vectors, None, step),
        mixture=solution.mixture,
        before=None,
        box=_carried_box(rng, state.box, state.space, solution.space),
        plausible_range=solution.space.plausible_range(rng),
        last_whitening=len(state.history) + 1,
        full_refit=True,
    )


def log_marginal_likelihood(gp: GaussianProcess) -> float:
    """Log marginal likelihood of the observations, averaged over the hyperparameter samples.

    From the factors that the surrogate has: the formula is that of `quell.gp.marginal`.
    """
    n = gp.data.size
    values = np.empty(gp.n_samples)
    for s in range(gp.n_samples):
        residual = gp.data.rest - mean_function(gp.samples[s], gp.data.x)
        log_determinant = 2.0 * float(np.log(gp.factors[s].diagonal()[:n]).sum())
        fit = float(residual @ gp.alpha[s, :n])
        values[s] = -0.5 * (fit + log_determinant + n * LOG_2PI)
    return float(gp.weights @ values)


def _learnt_jacobian(space: InferenceSpace, x: FloatArray) -> FloatArray:
    """The part of the log-Jacobian that a surrogate has to learn, at points (n, D)."""
    known = 0.0 if space.edges is None else space.edges.at(x)
    return np.asarray(space.log_jacobian(x) - known)


def _carried_box(
    rng: np.random.Generator, box: SearchBox, own: InferenceSpace, other: InferenceSpace
) -> SearchBox:
    """A box around the image of the old one: the range of many mapped points."""
    inside = box.lower + (box.upper - box.lower) * rng.random((BOX_POINTS, len(box.lower)))
    mapped = other.to_inference(own.to_original(inside))
    low, high = mapped.min(axis=0), mapped.max(axis=0)
    margin = (high - low) / BOX_MARGINS
    return SearchBox(low - margin, high + margin)
