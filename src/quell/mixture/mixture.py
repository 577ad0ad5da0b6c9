"""The variational posterior: a mixture of axis-aligned Gaussians of one common shape.

Notation of Acerbi (2020), arXiv 2006.08655, main text, section 2.1:

    q(x) = Σ_k w_k N(x; μ_k, σ_k² Λ),   Λ = diag(λ_1², ..., λ_D²),   k = 1 .. K.

The fields of :class:`Mixture` are w (``weights``), μ (``means``), σ (``scales``) and λ
(``lengths``). σ and λ share a redundant factor; :meth:`Mixture.normalised` fixes it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quell import checks
from quell.arrays import FloatArray
from quell.distances import squared_distances

WEIGHT_SUM_TOLERANCE = 1e-6
# log of a weight relative to the largest one; exp(-700) is about 1e-304, still a normal number,
# so that a zero weight has a finite place in the optimiser's vector.
LOG_WEIGHT_FLOOR = -700.0
# Points times components handled at once: the working arrays stay near the processor's cache.
BLOCK_ELEMENTS = 131_072
# Squared distances overflow beyond 1e154; a finite floor keeps every later subtraction defined.
LOG_DENSITY_FLOOR = -1e308


@dataclass(frozen=True, eq=False)
class Mixture:
    """A mixture of K Gaussians in D dimensions: Σ_k w_k N(x; μ_k, σ_k² diag(λ²)).

    The arrays are copied, checked and made read-only. ``weights`` (K,) are non-negative and sum
    to one (a drift below 1e-6 is divided out), ``means`` (K, D) are finite, ``scales`` (K,) and
    ``lengths`` (D,) are positive.

    >>> import numpy as np
    >>> q = Mixture([0.3, 0.7], [[0.0, 0.0], [2.0, 1.0]], [1.0, 0.5], [1.0, 2.0])
    >>> q.n_components, q.dimension
    (2, 2)
    >>> q.mean()
    array([1.4, 0.7])
    >>> q.sample(5, np.random.default_rng(1)).shape
    (5, 2)
    """

    weights: FloatArray
    means: FloatArray
    scales: FloatArray
    lengths: FloatArray

    def __post_init__(self) -> None:
        means = checks.matrix("means", self.means)
        if means.size == 0:
            raise ValueError(f"means must have at least one row and one column, got {means.shape}")
        n_components, dimension = means.shape
        weights = checks.vector("weights", self.weights, n_components)
        if (bad := ~(np.isfinite(weights) & (weights >= 0))).any():
            checks.raise_at("weights", weights, bad, "must be non-negative and finite")
        total = float(weights.sum())
        if abs(total - 1) > WEIGHT_SUM_TOLERANCE:
            raise ValueError(f"weights must sum to 1, got {weights.tolist()} with sum {total:g}")
        fields = {
            "weights": weights / total,
            "means": means,
            "scales": _positive("scales", self.scales, n_components),
            "lengths": _positive("lengths", self.lengths, dimension),
        }
        for name, array in fields.items():
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def n_components(self) -> int:
        """The number of components, K."""
        return len(self.means)

    @property
    def dimension(self) -> int:
        """The number of coordinates, D."""
        return len(self.lengths)

    # Density

    def log_density(self, x: ArrayLike) -> FloatArray:
        """log q at the points ``x`` (..., D); shape (...). Finite however far out they lie."""
        points, shape = self._points(x)
        result = np.empty(len(points))
        for block, _, terms in self._blocks(points):
            top = terms.max(axis=1)
            terms -= top[:, None]
            np.exp(terms, out=terms)
            result[block] = np.log(terms.sum(axis=1)) + top
        return result.reshape(shape)

    def responsibilities(self, x: ArrayLike) -> FloatArray:
        """w_k N_k(x) / q(x), the share of each component at the points ``x`` (..., D); (..., K).

        >>> Mixture([0.5, 0.5], [[-1.0], [1.0]], [1.0, 1.0], [1.0]).responsibilities([0.0])
        array([0.5, 0.5])
        """
        points, shape = self._points(x)
        result = np.empty((len(points), self.n_components))
        for block, _, terms in self._blocks(points):
            result[block] = _softmax(terms)
        return result.reshape(*shape, self.n_components)

    def log_density_gradient(self, x: ArrayLike) -> FloatArray:
        """The gradient of log q with respect to x at the points ``x`` (..., D); shape (..., D)."""
        points, shape = self._points(x)
        result = np.empty_like(points)
        locations = (self.means - self.mean()) / self.lengths
        for block, scaled, terms in self._blocks(points):
            terms = _softmax(terms)  # responsibilities
            terms /= self.scales**2
            pull = terms @ locations - terms.sum(axis=1)[:, None] * scaled
            result[block] = pull / self.lengths
        return result.reshape(*shape, self.dimension)

    def _points(self, x: ArrayLike) -> tuple[FloatArray, tuple[int, ...]]:
        """``x`` as finite rows (n, D), and its leading shape."""
        points = checks.as_floats("x", x)
        if points.ndim == 0 or points.shape[-1] != self.dimension:
            raise ValueError(f"x must have shape (..., {self.dimension}), got {points.shape}")
        if (bad := ~np.isfinite(points)).any():
            checks.raise_at("x", points, bad, "must be finite")
        return points.reshape(-1, self.dimension), points.shape[:-1]

    def _blocks(self, points: FloatArray) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Blocks of points: their place, (x - mean)/λ (b, D), and log w_k N_k(x) (b, K).

        Squared distances are sums of squared differences, not expanded into matrix products:
        narrow components far from the origin would lose all their digits. They are measured
        from the mixture's mean for the same reason.
        """
        centre = self.mean()
        locations = (self.means - centre) / self.lengths
        with np.errstate(divide="ignore"):  # log 0 = -inf: the component is absent
            constant = np.log(self.weights) - self.dimension * (
                np.log(self.scales) + 0.5 * math.log(2 * math.pi)
            )
        constant -= np.log(self.lengths).sum()
        inverse = -0.5 / self.scales**2
        step = max(1, BLOCK_ELEMENTS // self.n_components)
        for start in range(0, len(points), step):
            block = slice(start, start + step)
            scaled = (points[block] - centre) / self.lengths
            terms = squared_distances(scaled, locations)
            with np.errstate(over="ignore"):
                terms *= inverse
            terms += constant
            np.maximum(terms, LOG_DENSITY_FLOOR, out=terms)
            yield block, scaled, terms

    # Samples

    def sample(self, n: int, rng: np.random.Generator, *, stratified: bool = False) -> FloatArray:
        """``n`` draws (n, D) in random order.

        With ``stratified`` the number of draws from component k is n w_k rounded up or down at
        random, n w_k on average, which removes most of the noise in the components' shares.
        """
        component = self._draw_components(n, rng, stratified)
        offsets = rng.standard_normal((len(component), self.dimension))
        return self.means[component] + self.scales[component, None] * self.lengths * offsets

    def _draw_components(
        self, n: int, rng: np.random.Generator, stratified: bool
    ) -> NDArray[np.intp]:
        """The component of each of ``n`` draws, in random order; shape (n,)."""
        n = operator.index(n)
        if n < 0:
            raise ValueError(f"n must not be negative, got {n}")
        if not stratified:
            return rng.choice(self.n_components, size=n, p=self.weights).astype(np.intp)
        return even_components(n, self.weights, rng)

    # Moments

    def mean(self) -> FloatArray:
        """The mean of q, exactly; shape (D,)."""
        return self.weights @ self.means

    def covariance(self) -> FloatArray:
        """The covariance of q, exactly; shape (D, D)."""
        deviations = self.means - self.mean()
        within = np.diag((self.weights @ self.scales**2) * self.lengths**2)
        between = (deviations.T * self.weights) @ deviations
        return within + 0.5 * (between + between.T)

    def covariance_root(self) -> FloatArray:
        """Lower triangular L (D, D) with L Lᵀ = the covariance of q, and a positive diagonal.

        From the deviations themselves: their squares, as in the covariance, may be too far apart
        for floating-point numbers, and then it has no root.
        """
        within = np.diag(math.sqrt(float(self.weights @ self.scales**2)) * self.lengths)
        between = np.sqrt(self.weights)[:, None] * (self.means - self.mean())
        _, upper = np.linalg.qr(np.concatenate([within, between]))
        return np.asarray(upper.T * np.where(upper.diagonal() < 0, -1.0, 1.0))

    # Other forms of the mixture

    def normalised(self) -> Mixture:
        """The same density with Σ_i λ_i² = D; the scales absorb the factor."""
        factor = math.sqrt(float(self.lengths @ self.lengths) / self.dimension)
        return Mixture(self.weights, self.means, self.scales * factor, self.lengths / factor)

    def without(self, k: int) -> Mixture:
        """The mixture without component ``k`` (0 to K-1), the other weights rescaled."""
        k = operator.index(k)
        if not 0 <= k < self.n_components:
            raise ValueError(f"k must be between 0 and {self.n_components - 1}, got {k}")
        weights = np.delete(self.weights, k)
        total = float(weights.sum())
        if total <= 0:
            raise ValueError(f"k = {k} is the only component with a positive weight")
        return Mixture(
            weights / total,
            np.delete(self.means, k, axis=0),
            np.delete(self.scales, k),
            self.lengths,
        )

    def to_vector(self) -> FloatArray:
        """The free parameters (means row by row, log σ, log λ, η); shape (K D + K + D + K,).

        w = softmax(η); here η = log w shifted to a largest value of 0 and floored at -700, which
        is where zero weights end up (they come back as about 1e-304).
        """
        with np.errstate(divide="ignore"):
            eta = np.log(self.weights)
        eta = np.maximum(eta - eta.max(), LOG_WEIGHT_FLOOR)
        parts = (self.means.ravel(), np.log(self.scales), np.log(self.lengths), eta)
        return np.concatenate(parts)

    @classmethod
    def from_vector(
        cls, vector: ArrayLike, n_components: int, dimension: int, *, checked: bool = False
    ) -> Mixture:
        """The mixture with the free parameters ``vector``, laid out as by :meth:`to_vector`.

        ``checked``: the vector is an array of the right size with finite entries whose exponentials
        are positive and finite. It is then taken as it is, for the loop of an optimiser.
        """
        if checked:
            return cls._from_checked(np.asarray(vector), n_components, dimension)
        if n_components < 1 or dimension < 1:
            raise ValueError(
                "n_components and dimension must be at least 1, "
                f"got {n_components!r} and {dimension!r}"
            )
        k, d = n_components, dimension
        free = checks.vector("vector", vector, k * d + k + d + k)
        if (bad := ~np.isfinite(free)).any():
            checks.raise_at("vector", free, bad, "must be finite")
        means, log_scales, log_lengths, eta = np.split(free, [k * d, k * d + k, k * d + k + d])
        weights = np.exp(eta - eta.max())
        with np.errstate(over="ignore"):  # an infinite scale is refused by name below
            scales, lengths = np.exp(log_scales), np.exp(log_lengths)
        return cls(weights / weights.sum(), means.reshape(k, d), scales, lengths)

    @classmethod
    def _from_checked(cls, vector: FloatArray, k: int, d: int) -> Mixture:
        """The same as :meth:`from_vector` to the last bit, for vectors that need no check."""
        eta = vector[k * d + k + d :]
        weights = np.exp(eta - eta.max())
        weights /= weights.sum()
        weights /= weights.sum()  # as for weights that anyone may have given
        scales_and_lengths = np.exp(vector[k * d : k * d + k + d])
        fields = {
            "weights": weights,
            "means": vector[: k * d].reshape(k, d),
            "scales": scales_and_lengths[:k],
            "lengths": scales_and_lengths[k:],
        }
        mixture = object.__new__(cls)
        for name, array in fields.items():
            array.setflags(write=False)
            object.__setattr__(mixture, name, array)
        return mixture


def _softmax(terms: FloatArray) -> FloatArray:
    """exp of the terms (n, K), of sum one in every row; they are overwritten."""
    terms -= terms.max(axis=1)[:, None]
    np.exp(terms, out=terms)
    terms /= terms.sum(axis=1)[:, None]
    return terms


def _positive(argument: str, value: ArrayLike, size: int) -> FloatArray:
    array = checks.vector(argument, value, size)
    if (bad := ~(np.isfinite(array) & (array > 0))).any():
        checks.raise_at(argument, array, bad, "must be positive and finite")
    return array


def even_counts(n: int, weights: FloatArray, rng: np.random.Generator) -> NDArray[np.intp]:
    """How many of ``n`` draws each component has; (K,).

    Systematic sampling: one uniform shift of the cumulative counts n (w_1 + ... + w_k). Each count
    is then the floor or the ceiling of n w_k and has expectation n w_k exactly.

    >>> even_counts(100, np.array([0.25, 0.75]), np.random.default_rng(0))
    array([25, 75])
    """
    edges = np.floor(n * np.cumsum(weights) + rng.random())
    edges = np.minimum(edges, n)
    edges[np.flatnonzero(weights)[-1] :] = n
    return np.diff(edges, prepend=0).astype(np.intp)


def even_components(n: int, weights: FloatArray, rng: np.random.Generator) -> NDArray[np.intp]:
    """The component of each of ``n`` draws, in random order, as many of each as `even_counts`."""
    counts = even_counts(n, weights, rng)
    component = np.repeat(np.arange(len(weights), dtype=np.intp), counts)
    rng.shuffle(component)
    return component
