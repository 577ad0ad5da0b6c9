"""The entropy of the variational posterior: a sample average and a lower bound, with gradients.

The entropy term of the ELBO in Acerbi (2020), arXiv 2006.08655, main text, section 2.1; w, μ, σ,
λ, K, D as in :mod:`quell.mixture.mixture`. Further notation, for a base sample ε_1 .. ε_n:

    ξ_ks = μ_k + σ_k λ ε_s              the base sample moved to component k,
    r_l(x) = w_l N_l(x) / q(x)          the responsibility of component l,
    <f>_k = (1/n) Σ_s f(ξ_ks),   Δ_kl = (μ_k - μ_l) / λ   (elementwise).

Gradients are with respect to the free parameters in the order of ``Mixture.to_vector``.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from quell import checks
from quell.arrays import FloatArray
from quell.mixture.mixture import Mixture
from quell.mixture.quasirandom import uniform_points
from quell.native import kernels

# Size of the (components, components, points) array worked on at once, 1 MB: near the cache.
BLOCK_ELEMENTS = 131_072
#: Exponents are sums of terms that may cancel: single precision is for terms smaller than this.
LARGEST_SINGLE = 1e4


def normal_base_sample(n: int, dimension: int, rng: np.random.Generator) -> FloatArray:
    """Quasi-random standard normal points, antithetic in pairs; shape (n, dimension).

    The first half is a shifted Sobol sequence through the normal quantile, the second half its
    negative, so that all odd moments vanish; the whole is scaled and rotated a little, so that
    its covariance is the identity (where there are enough points for that) and the entropy of
    one Gaussian is exact. ``n`` must be even; powers of two fill space most evenly.

    >>> import numpy as np
    >>> base = normal_base_sample(8, 3, np.random.default_rng(0))
    >>> base.shape, bool(np.all(base[:4] == -base[4:]))
    ((8, 3), True)
    """
    n, dimension = operator.index(n), operator.index(dimension)
    if n < 2 or n % 2:
        raise ValueError(f"n must be even and at least 2, got {n}")
    if dimension < 1:
        raise ValueError(f"dimension must be at least 1, got {dimension}")
    half = n // 2
    positive: FloatArray = special.ndtri(uniform_points(rng, half, dimension))
    if half >= 2 * dimension:
        lower = np.linalg.cholesky(positive.T @ positive / half)
        positive = np.linalg.solve(lower, positive.T).T
    return np.concatenate([positive, -positive])


@dataclass(frozen=True, eq=False)
class BaseSample:
    """A base sample that has been checked once, to be used many times; make it with :meth:`of`.

    ``points`` (n, D), and the same as ``columns`` (D, n).
    """

    points: FloatArray
    columns: FloatArray

    @classmethod
    def of(cls, points: ArrayLike, dimension: int) -> BaseSample:
        """Check ``points`` (n, dimension): at least one, and finite."""
        epsilon = checks.matrix("base", points, dimension)
        if len(epsilon) == 0:
            raise ValueError(f"base must have at least one row, got shape {epsilon.shape}")
        return cls(epsilon, np.ascontiguousarray(epsilon.T))


Base = ArrayLike | BaseSample


@overload
def entropy(
    mixture: Mixture, base: Base, *, gradient: Literal[False] = False, single: bool = False
) -> float: ...
@overload
def entropy(
    mixture: Mixture, base: Base, *, gradient: Literal[True], single: bool = False
) -> tuple[float, FloatArray]: ...
def entropy(
    mixture: Mixture, base: Base, *, gradient: bool = False, single: bool = False
) -> float | tuple[float, FloatArray]:
    """The entropy of ``mixture`` averaged over one base sample: -Σ_k w_k <log q>_k.

    ``base`` (n, D) holds standard normal points, the same for every component. With ``gradient``
    the result is (value, gradient) with the exact gradient of that average for the given base
    sample: it includes the dependence of log q itself on the parameters, which only vanishes in
    expectation, so an optimiser sees a consistent function.

    With ``single`` the responsibilities are computed in single precision, in about half of the
    time (``make bench-core``): an error of some 1e-6, far below that of the average. Where
    components are too many SDs apart for that, they are not.

    >>> import numpy as np
    >>> q = Mixture([0.5, 0.5], [[-9.0], [9.0]], [1.0, 1.0], [1.0])
    >>> base = normal_base_sample(1024, 1, np.random.default_rng(0))
    >>> value, slope = entropy(q, base, gradient=True)
    >>> round(value, 2)  # two separate unit Gaussians: log 2 + log(2 pi e)/2
    2.11
    >>> slope.shape == q.to_vector().shape
    True
    """
    if not isinstance(base, BaseSample):
        base = BaseSample.of(base, mixture.dimension)
    if kernels is not None:
        return _compiled_entropy(mixture, base, gradient, single)
    epsilon = base.points
    active = np.flatnonzero(mixture.weights)  # absent components have no part in value or gradient
    w, sigma, delta = _components(mixture, active)
    dimension = mixture.dimension

    # |ξ_ks - μ_l|² / (σ_l λ)² = |Δ_kl + σ_k ε_s|² / σ_l², so that log(w_l N_l(ξ_ks)) is, up to a
    # constant, linear in the features (1, ε, |ε|²): all pairs and points in one matrix product.
    features = np.column_stack([np.ones(len(epsilon)), epsilon, (epsilon**2).sum(axis=1)])
    ratio = sigma[:, None] / sigma
    scaled = delta / sigma[:, None]  # Δ_kl / σ_l
    coefficients = np.empty((len(w), len(w), dimension + 2))
    coefficients[..., 0] = np.log(w) - dimension * np.log(sigma) - 0.5 * (scaled**2).sum(axis=2)
    coefficients[..., 1:-1] = -ratio[..., None] * scaled
    coefficients[..., -1] = -0.5 * ratio**2

    if single and max(-coefficients.min(), coefficients.max()) < LARGEST_SINGLE:
        log_density, moments = _responsibility_moments(
            coefficients.astype(np.float32), features.astype(np.float32), gradient
        )
    else:
        log_density, moments = _responsibility_moments(coefficients, features, gradient)
    log_density -= np.log(mixture.lengths).sum() + 0.5 * dimension * math.log(2 * math.pi)
    value = -float(w @ log_density)
    if not gradient:
        return value

    # With d_l = (Δ_kl + σ_k ε)/σ_l, the standardised distance of ξ_ks from μ_l:
    share = moments[..., 0]  # <r_l>_k
    mean_d = scaled * share[..., None] + ratio[..., None] * moments[..., 1:-1]  # <r_l d_l>_k
    mean_d_epsilon = (  # <r_l d_l·ε>_k
        np.einsum("kli,kli->kl", scaled, moments[..., 1:-1]) + ratio * moments[..., -1]
    )
    mean_d_squared = np.einsum("kli,kli->kl", scaled, mean_d) + ratio * mean_d_epsilon

    force = (w[:, None] / sigma)[..., None] * mean_d  # of component l on the points of k, times λ
    # Each log scale moves the points of its own component, and log q everywhere.
    moved = w * (ratio * mean_d_epsilon).sum(axis=1)
    score = w @ (mean_d_squared - dimension * share)
    eta = w * (1 - value - log_density) - w @ share
    return value, _flat_gradient(mixture, active, delta, force, moved - score, eta)


def _compiled_entropy(
    mixture: Mixture, base: BaseSample, gradient: bool, single: bool
) -> float | tuple[float, FloatArray]:
    """What :func:`entropy` returns, by the compiled kernel."""
    assert kernels is not None
    k, d = mixture.means.shape
    slope = np.empty(k * d + k + d + k if gradient else 0)
    value: float = kernels.entropy(
        slope, mixture.weights, np.ascontiguousarray(mixture.means), mixture.scales,
        mixture.lengths, base.columns, single,
    )  # fmt: skip
    return (value, slope) if gradient else value


@overload
def entropy_lower_bound(mixture: Mixture, *, gradient: Literal[False] = False) -> float: ...
@overload
def entropy_lower_bound(
    mixture: Mixture, *, gradient: Literal[True]
) -> tuple[float, FloatArray]: ...
def entropy_lower_bound(
    mixture: Mixture, *, gradient: bool = False
) -> float | tuple[float, FloatArray]:
    """A deterministic lower bound on the entropy of ``mixture``, by Jensen's inequality.

    -Σ_k w_k log Σ_j w_j N(μ_k; μ_j, (σ_k² + σ_j²) Λ); for one component the exact entropy. With
    ``gradient`` the result is (value, gradient).

    >>> import numpy as np
    >>> q = Mixture([1.0], [[0.0, 0.0]], [2.0], [1.0, 1.0])
    >>> value, slope = entropy_lower_bound(q, gradient=True)
    >>> bool(np.isclose(value, np.log(2 * np.pi * np.e * 4)))
    True
    >>> slope  # with respect to means, log scale, log lengths, weight
    array([0., 0., 2., 1., 1., 0.])
    """
    active = np.flatnonzero(mixture.weights)
    w, sigma, delta = _components(mixture, active)
    dimension = mixture.dimension
    constant = np.log(mixture.lengths).sum() + 0.5 * dimension * math.log(2 * math.pi)

    variance = sigma[:, None] ** 2 + sigma**2
    squared = (delta**2).sum(axis=2) / variance
    terms = np.log(w) - 0.5 * (squared + dimension * np.log(variance)) - constant
    top = terms.max(axis=1, keepdims=True)
    shares = np.exp(terms - top)
    total = shares.sum(axis=1, keepdims=True)
    log_overlap = (np.log(total) + top)[:, 0]  # log Σ_j w_j N(μ_k; μ_j, ...)
    value = bound = -float(w @ log_overlap)
    if mixture.n_components == 1:
        # Jensen's bound on one Gaussian is short by a constant, which the gradient does not see.
        value += 0.5 * dimension * (1 - math.log(2))
    if not gradient:
        return value

    shares *= w[:, None] / total
    force = (shares / variance)[..., None] * delta
    pairs = (shares + shares.T) * (squared - dimension) / variance
    log_scales = -(sigma**2) * pairs.sum(axis=1)
    eta = w * (1 - bound - log_overlap) - shares.sum(axis=0)
    return value, _flat_gradient(mixture, active, delta, force, log_scales, eta)


def _components(
    mixture: Mixture, active: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weights (K,), scales (K,) and Δ (K, K, D) of the ``active`` components."""
    means = mixture.means[active]
    delta = (means[:, None, :] - means) / mixture.lengths
    return mixture.weights[active], mixture.scales[active], delta


def _responsibility_moments(
    coefficients: NDArray[np.floating[Any]], features: NDArray[np.floating[Any]], gradient: bool
) -> tuple[FloatArray, FloatArray]:
    """<log Σ_l e_l>_k (K,) and <r_l f>_k (K, K, F) for features f (n, F).

    e_l = exp(coefficients[k, l] · f) and r_l = e_l / Σ_m e_m. The array of all exponents is the
    only large one; it is overwritten in place, in blocks of rows k and points s. Without
    ``gradient`` the moments are left at zero. It works in the precision of its arguments; what is
    returned is in double precision.
    """
    n_components, n = len(coefficients), len(features)
    log_total = np.zeros(n_components)
    moments = np.zeros(coefficients.shape)
    points = min(n, max(1, BLOCK_ELEMENTS // n_components))
    rows = max(1, BLOCK_ELEMENTS // (n_components * points))
    for first_point in range(0, n, points):
        part = features[first_point : first_point + points]
        for first_row in range(0, n_components, rows):
            block = slice(first_row, first_row + rows)
            flat = coefficients[block].reshape(-1, part.shape[1]) @ part.T
            terms = flat.reshape(-1, n_components, len(part))
            top = terms.max(axis=1)
            terms -= top[:, None, :]
            np.exp(terms, out=terms)
            total = terms.sum(axis=1)
            log_total[block] += (np.log(total) + top).sum(axis=1, dtype=np.float64)
            if gradient:
                # Dividing the features rather than the terms by the total is the smaller array.
                moments[block] += terms @ (part / total[..., None])
    return log_total / n, moments / n


def _flat_gradient(
    mixture: Mixture,
    active: NDArray[np.intp],
    delta: FloatArray,
    force: FloatArray,
    log_scales: FloatArray,
    eta: FloatArray,
) -> FloatArray:
    """The gradient in the order of ``Mixture.to_vector``, zero for absent components.

    Both estimates depend on the means through Δ (K, K, D) only; ``force`` (K, K, D) is the
    derivative with respect to it. ``log_scales`` and ``eta`` (K,) are parts of the gradient.
    """
    means = np.zeros_like(mixture.means)
    means[active] = (force.sum(axis=1) - force.sum(axis=0)) / mixture.lengths
    # Stretching a coordinate of both λ and the means adds the log of the factor to the estimate;
    # stretching λ alone gives that less what moving the means gives.
    log_lengths = 1.0 - np.einsum("kli,kli->i", force, delta)
    of_components = np.zeros((2, mixture.n_components))
    of_components[:, active] = log_scales, eta
    return np.concatenate([means.ravel(), of_components[0], log_lengths, of_components[1]])
