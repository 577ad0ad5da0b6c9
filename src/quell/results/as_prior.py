"""A posterior as the prior of the next problem: a normalised density over the same parameters.

In the coordinates v of the free parameters component k of the mixture is N(m_k, σ_k² C), C being
common to all. The prior has a density over continuous parameters and a mass over integers: with
the integers I and the others J,

    p(θ) = Σ_k w_k N(v_J; m_kJ, σ_k² C_JJ) P_k(v_I in the cell of θ_I | v_J) Π_J dv_j/dθ_j.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import log_ndtr, logsumexp

from quell.arrays import BoolArray, FloatArray
from quell.problem.integers import round_to_integers
from quell.space.bounds import Bounds
from quell.streams import as_generator

if TYPE_CHECKING:
    from quell.results.posterior import Posterior

#: Of the probability of a cell over several integers, as an integral over all but the last: SDs
#: that are integrated over, nodes for each integer, and nodes in all at most.
REACH, NODES, MOST_NODES = 9.0, 24, 4096
#: Points at a time, so that their nodes fit into memory.
BLOCK = 512
LOG_ROOT_2PI = 0.5 * np.log(2 * np.pi)


@dataclass(frozen=True, eq=False)
class PosteriorPrior:
    """A posterior as ``prior=`` of a `Problem` over parameters of the same names.

    Made by `Posterior.as_prior`. It is normalised, and zero where the posterior is; ``logpdf``
    takes points (n, dimension) in the order of its ``names``, and gives integers their probability.
    """

    posterior: "Posterior"
    order: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, in the order of ``logpdf``'s columns."""
        return tuple(self.posterior.names[i] for i in self.order)

    def for_parameters(self, bounds: Bounds) -> "PosteriorPrior":
        """The same for parameters in the order of these bounds; ``ValueError`` if it cannot be."""
        if sorted(bounds.names) != sorted(self.names):
            raise ValueError(
                f"prior is a posterior of the parameters {list(self.names)}, but the problem has "
                f"{list(bounds.names)} (give them the same names; for some of them pass a list "
                "with posterior.marginal(name) for each)"
            )
        order = tuple(self.posterior.names.index(name) for name in bounds.names)
        for i, name in zip(order, bounds.names, strict=True):
            at = bounds.names.index(name)
            if not self.posterior.space.free[i] and bounds.lower[at] < bounds.upper[at]:
                raise ValueError(
                    f"prior is a posterior in which {name!r} is fixed, so it says nothing about "
                    "its other values (fix it here too)"
                )
        return PosteriorPrior(self.posterior, order)

    @property
    def box(self) -> tuple[FloatArray, FloatArray]:
        """Corners, (dimension,) each, of a box outside of which the density is zero."""
        bounds = self.posterior.space.bounds
        return bounds.lower[list(self.order)], bounds.upper[list(self.order)]

    @property
    def may_be_zero(self) -> bool:
        """Whether the density may be zero within that box."""
        return self.posterior.support is not None

    def logpdf(self, theta: FloatArray) -> FloatArray:
        """Log density (n,) at points (n, dimension)."""
        theta = np.atleast_2d(np.asarray(theta, dtype=np.float64))
        own = np.empty_like(theta)
        own[:, list(self.order)] = theta
        if not self._integer.any():
            return self.posterior.log_density(own)
        bounds = self.posterior.space.bounds
        own = round_to_integers(own, bounds, self._integer)
        inside = self.posterior.space.contains(own)
        out = np.full(len(own), -np.inf)
        for start in range(0, len(own), BLOCK):
            rows = np.arange(start, min(start + BLOCK, len(own)))
            rows = rows[inside[rows]]
            if len(rows):
                out[rows] = self._log_mass(own[rows])
        return self.posterior._in_support(own, out)

    def rvs(self, size: int = 1, random_state: np.random.Generator | int = 0) -> FloatArray:
        """Draws (size, dimension)."""
        return self.posterior.sample(size, as_generator(random_state))[:, list(self.order)]

    @cached_property
    def _integer(self) -> BoolArray:
        """Mask (dimension,) of the free parameters that are integers."""
        p = self.posterior
        mask = np.zeros(p.dimension, bool) if p.integer is None else np.array(p.integer)
        return mask & p.space.free

    def _log_mass(self, theta: FloatArray) -> FloatArray:
        """Log of p(θ) (n,) at points (n, dimension) within the bounds."""
        space, mixture = self.posterior.space, self.posterior.mixture
        to_v = space.rotation * space.scales  # v = to_v x
        means = mixture.means @ to_v.T  # (K, D)
        spread = to_v * mixture.lengths
        covariance = spread @ spread.T
        free = np.flatnonzero(space.free)
        whole = self._integer[free]
        rest = np.flatnonzero(~whole)
        shift = np.zeros((len(theta), mixture.n_components, len(free)))
        with np.errstate(divide="ignore"):
            log = np.tile(np.log(mixture.weights), (len(theta), 1))  # (n, K)
        conditional = covariance[np.ix_(whole, whole)]
        moved = np.zeros((len(theta), mixture.n_components, int(whole.sum())))
        if len(rest):
            for j in rest:
                _, v, log_slope = space.standard_coordinate(int(free[j]), theta[:, free[j]])
                shift[:, :, j] = v[:, None] - means[:, j]
                log -= log_slope[:, None]
            factor = np.linalg.cholesky(covariance[np.ix_(rest, rest)])
            z = solve_triangular(factor, shift[:, :, rest].reshape(-1, len(rest)).T, lower=True).T
            z = z.reshape(*log.shape, len(rest))
            log += -0.5 * np.sum((z / mixture.scales[:, None]) ** 2, axis=-1)
            log -= len(rest) * (np.log(mixture.scales) + LOG_ROOT_2PI)
            log -= np.log(np.diag(factor)).sum()
            half = solve_triangular(factor, covariance[np.ix_(rest, whole)], lower=True)
            moved = z @ half
            conditional = conditional - half.T @ half
        lower, upper = self._cells(theta)
        centre = means[None][:, :, whole] + moved
        scale = mixture.scales[:, None]
        low, high = (lower[:, None] - centre) / scale, (upper[:, None] - centre) / scale
        log += _log_box(low, high, np.linalg.cholesky(conditional))
        return np.asarray(logsumexp(log, axis=1))

    def _cells(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The ends (n, I) in v of the cells of the integers; infinite at the bounds."""
        space = self.posterior.space
        ends = []
        for side, bound in ((-0.5, space.bounds.lower), (0.5, space.bounds.upper)):
            columns = []
            for i in np.flatnonzero(self._integer):
                edge = theta[:, i] + side
                outer = edge == bound[i]
                v = space.coordinate(int(i)).standard(np.where(outer, theta[:, i], edge))
                columns.append(np.where(outer, np.sign(side) * np.inf, v))
            ends.append(np.stack(columns, axis=-1))
        return ends[0], ends[1]


def _log_interval(low: FloatArray, high: FloatArray) -> FloatArray:
    """log [Φ(high) − Φ(low)], exact in both tails.

    >>> float(np.exp(_log_interval(np.array(-1.96), np.array(1.96))).round(3))
    0.95
    """
    flip = low > 0
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    top, bottom = log_ndtr(high), log_ndtr(low)
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = np.where(np.isneginf(bottom), 0.0, np.exp(bottom - top))
        return top + np.log1p(-np.minimum(difference, 1.0))


def _log_box(low: FloatArray, high: FloatArray, factor: FloatArray) -> FloatArray:
    """log P(low < L z < high) (...) for ends (..., m) and a triangular factor L (m, m).

    One coordinate of z after the other: by quadrature, and the last in closed form.
    """
    m = len(factor)
    a, b = low[..., 0] / factor[0, 0], high[..., 0] / factor[0, 0]
    if m == 1:
        return _log_interval(a, b)
    nodes = max(4, min(NODES, int(MOST_NODES ** (1 / (m - 1)))))
    node, weight = np.polynomial.legendre.leggauss(nodes)
    nearest = np.clip(0.0, a, b)
    a, b = np.maximum(a, nearest - REACH), np.minimum(b, nearest + REACH)
    half = 0.5 * (b - a)[..., None]
    z = 0.5 * (b + a)[..., None] + half * node
    with np.errstate(divide="ignore"):
        log_weight = np.log(half * weight) - 0.5 * z**2 - LOG_ROOT_2PI
    shift = z[..., None] * factor[1:, 0]
    rest = _log_box(low[..., None, 1:] - shift, high[..., None, 1:] - shift, factor[1:, 1:])
    return np.asarray(logsumexp(log_weight + rest, axis=-1))
