"""The variational fit: sieve the starts, climb by L-BFGS, keep the best, prune.

The entropy is averaged over a fixed quasi-random base sample, so the objective is a smooth
deterministic function with an exact gradient and a quasi-Newton method applies. A small sample
can be overfitted: the climb goes on over samples of growing size, and the candidates are
compared on a larger one that none of them has seen.
"""

from dataclasses import dataclass

import numpy as np

from quell.arrays import FloatArray
from quell.gp.data import high_density_rows
from quell.gp.descent import descend
from quell.gp.posterior import GaussianProcess
from quell.mixture import BaseSample, Mixture, entropy, normal_base_sample
from quell.quadrature import Quadrature
from quell.variational.elbo import Elbo, evaluate_elbo
from quell.variational.objective import PRUNING_WEIGHT, Objective, Penalty
from quell.variational.starts import candidates

#: Base sample sizes per component of the successive climbs, and of the final comparison.
BASE_SIZES = (128, 256)
SCORING_SIZE = 1024
MAX_ITERATIONS = 50
#: The climb ends when one iteration gains less than this, in nats.
TOLERANCE = 1e-4
#: Log scales beyond this do not occur; what the objective is taken to be there.
LARGEST_LOG, WALL = 300.0, 1e6
#: Deleting a light component is accepted if it lowers ELCBO₃ by less than this over √K.
PRUNING_TOLERANCE = 0.01
PRUNING_BETA = 3.0


@dataclass(frozen=True, eq=False)
class VariationalFit:
    """A fitted mixture, its ELBO, and how many components pruning removed."""

    mixture: Mixture
    elbo: Elbo
    n_pruned: int


def fit_mixture(
    rng: np.random.Generator,
    gp: GaussianProcess,
    start: Mixture | None = None,
    *,
    n_components: int | None = None,
    n_starts: int = 10,
    n_climbs: int = 1,
    weights: bool = True,
    beta: float = 0.0,
    prune: bool = True,
    base_sizes: tuple[int, ...] = BASE_SIZES,
    scoring_size: int = SCORING_SIZE,
    max_iterations: int = MAX_ITERATIONS,
) -> VariationalFit:
    """Fit a mixture to the surrogate by maximising the ELBO, or ELCBO_β.

    ``start`` is the current mixture, grown to ``n_components`` (default: as many as it has, 2
    without one) by splitting components. ``n_starts`` candidates are scored with a cheap bound,
    and ``n_climbs`` of them optimised: with 1 the best neighbour of ``start``, with 2 also the
    best start made from the training points. ``weights=False`` keeps all weights equal.
    ``prune`` removes components that carry under 1 % of the weight and do not matter.

    >>> from quell.gp import TrainingData
    >>> rng = np.random.default_rng(0)
    >>> x = 2 * rng.normal(size=(50, 2))
    >>> data = TrainingData.from_arrays(x, -0.5 * (x**2).sum(axis=1))
    >>> theta = [[0.0, 0.0, 0.0, -5.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    >>> fit = fit_mixture(rng, GaussianProcess.condition(data, theta))
    >>> bool(abs(fit.elbo.value - np.log(2 * np.pi)) < 0.02)
    True
    """
    _check(start, gp, n_components, n_starts, n_climbs, beta)
    quadrature = Quadrature(gp)
    pruning_weight = PRUNING_WEIGHT if prune else 0.0
    penalty = Penalty.for_points(gp.data.x, pruning_weight)
    if n_components is None:
        n_components = 2 if start is None else start.n_components
    points = gp.data.x[high_density_rows(gp.data.y)]
    near, fresh = candidates(
        rng, start, points, n_components, n_starts, from_data=n_climbs > 1, weights=weights
    )

    cheap = Objective(quadrature, penalty, None, beta, weights)
    chosen = [min(group, key=cheap.value) for group in (near, fresh) if group]
    *bases, scoring = (
        BaseSample.of(normal_base_sample(n, gp.dimension, rng), gp.dimension)
        for n in (*base_sizes, scoring_size)
    )
    fitted = []
    for mixture in chosen:
        for base in bases:
            objective = Objective(quadrature, penalty, base, beta, weights, single=True)
            mixture = climb(objective, mixture, max_iterations)
        fitted.append(mixture)
    if near:
        # The optimiser may only have fitted the base sample or the penalties.
        fitted.append(near[0])

    def score(mixture: Mixture) -> float:
        expected, _ = quadrature.lower_bound_and_gradient(mixture, beta)
        return expected + entropy(mixture, scoring, single=True)

    mixture = max(fitted, key=score)
    elbo = evaluate_elbo(quadrature, mixture, scoring, single=True)
    n_pruned = 0
    if prune and weights:
        mixture, elbo, n_pruned = prune_components(rng, quadrature, mixture, elbo, scoring)
    return VariationalFit(mixture.normalised(), elbo, n_pruned)


def climb(objective: Objective, start: Mixture, max_iterations: int = MAX_ITERATIONS) -> Mixture:
    """A local minimum of the objective, by L-BFGS from ``start``.

    Means move in units of their component's SD divided by √w_k: there the curvature of the
    objective is of order one in all coordinates.
    """
    k, d = start.n_components, start.dimension
    origin = start.to_vector()
    units = np.ones_like(origin)
    spread = start.scales[:, None] * start.lengths
    units[: k * d] = (spread / np.sqrt(np.maximum(start.weights, 1e-4))[:, None]).ravel()
    reference = objective(start)[0]

    def loss(z: FloatArray) -> tuple[float, FloatArray]:
        vector = origin + units * z
        # A step of the line search gone wild: a wall, not so high that L-BFGS gives up.
        if not (np.isfinite(vector).all() and (np.abs(vector[k * d :]) < LARGEST_LOG).all()):
            return WALL, np.zeros_like(z)
        value, gradient = objective(Mixture.from_vector(vector, k, d, checked=True))
        if not np.isfinite(value):
            return WALL, np.zeros_like(z)
        # Relative to the start, so that the relative tolerance is an absolute one.
        return value - reference, units * gradient

    z, change = descend(
        loss, origin.size, maxiter=max_iterations, ftol=TOLERANCE, gtol=1e-4, maxcor=20
    )
    if not change < 0:
        return start
    return Mixture.from_vector(origin + units * z, k, d).normalised()


def prune_components(
    rng: np.random.Generator,
    quadrature: Quadrature,
    mixture: Mixture,
    elbo: Elbo,
    base: FloatArray | BaseSample,
) -> tuple[Mixture, Elbo, int]:
    """Remove light components whose absence does not lower ELCBO₃; returns their number too."""
    tolerance = PRUNING_TOLERANCE / np.sqrt(mixture.n_components)
    n_pruned = 0
    kept_light = np.zeros(mixture.n_components, dtype=bool)
    while mixture.n_components > 1:
        light = np.flatnonzero((mixture.weights < PRUNING_WEIGHT) & ~kept_light)
        if len(light) == 0:
            break
        k = int(rng.choice(light))
        smaller = mixture.without(k)
        smaller_elbo = Elbo(
            quadrature.moments_without(elbo.expected_log_joint, k, smaller.weights),
            entropy(smaller, base, single=True),
        )
        change = smaller_elbo.lower_confidence_bound(PRUNING_BETA) - elbo.lower_confidence_bound(
            PRUNING_BETA
        )
        if change > -tolerance:
            mixture, elbo = smaller, smaller_elbo
            kept_light = np.delete(kept_light, k)
            n_pruned += 1
        else:
            kept_light[k] = True
    return mixture, elbo, n_pruned


def _check(
    start: Mixture | None,
    gp: GaussianProcess,
    n_components: int | None,
    n_starts: int,
    n_climbs: int,
    beta: float,
) -> None:
    if start is not None and start.dimension != gp.dimension:
        raise ValueError(
            f"start has {start.dimension} dimensions, the surrogate has {gp.dimension}"
        )
    if n_components is not None and not (isinstance(n_components, int) and n_components >= 1):
        raise ValueError(f"n_components must be an integer of at least 1, got {n_components!r}")
    if not (np.isfinite(beta) and beta >= 0):
        raise ValueError(f"beta must be non-negative and finite, got {beta!r}")
    if start is not None and n_components is not None and n_components < start.n_components:
        raise ValueError(
            f"n_components is {n_components}, but start has {start.n_components} already; "
            f"remove components with Mixture.without first"
        )
    if n_starts < 1:
        raise ValueError(f"n_starts must be at least 1, got {n_starts}")
    if n_climbs not in (1, 2):
        raise ValueError(f"n_climbs must be 1 or 2, got {n_climbs}")
