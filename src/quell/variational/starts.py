"""Where an optimisation of the mixture starts from.

Three kinds of starts: the current mixture (grown to the wanted number of components), the best
training points, and random ones of the better training points.
"""

import numpy as np

from quell.arrays import FloatArray
from quell.mixture import Mixture

#: SD of the jitter on log scales, log lengths and log weights.
JITTER = 0.2


def grow(rng: np.random.Generator, mixture: Mixture, n_components: int) -> Mixture:
    """Add components up to ``n_components``, each split off a random existing one.

    The new mean lies half an SD away, the new scale is jittered, and a quarter to a half of
    the weight moves over.
    """
    weights, means, scales = (
        list(mixture.weights), list(mixture.means), list(mixture.scales)
    )  # fmt: skip
    for _ in range(mixture.n_components, n_components):
        parent = int(rng.integers(len(weights)))
        offset = 0.5 * scales[parent] * mixture.lengths * rng.standard_normal(mixture.dimension)
        share = rng.uniform(0.25, 0.5)
        means.append(means[parent] + offset)
        scales.append(scales[parent] * np.exp(JITTER * rng.standard_normal()))
        weights.append(share * weights[parent])
        weights[parent] *= 1 - share
    return Mixture(np.array(weights), np.array(means), np.array(scales), mixture.lengths)


def jitter(rng: np.random.Generator, mixture: Mixture, *, weights: bool) -> Mixture:
    """A random neighbour: means moved by an SD, scales, lengths and weights by some 20 %."""
    k, d = mixture.n_components, mixture.dimension
    spread = mixture.scales[:, None] * mixture.lengths
    new_weights = mixture.weights
    if weights:
        new_weights = new_weights * np.exp(JITTER * rng.standard_normal(k))
        new_weights = new_weights / new_weights.sum()
    return Mixture(
        new_weights,
        mixture.means + spread * rng.standard_normal((k, d)),
        mixture.scales * np.exp(JITTER * rng.standard_normal(k)),
        mixture.lengths * np.exp(JITTER * rng.standard_normal(d)),
    )


def from_points(
    rng: np.random.Generator, points: FloatArray, n_components: int, *, best: bool
) -> Mixture:
    """Components at the first (``best``) or at random ones of ``points`` (n, D), best first.

    Fewer points than components: the points are used again. The components share the spread
    of the chosen points.
    """
    n, d = points.shape
    if best:
        chosen = points[np.arange(n_components) % n]
    else:
        chosen = points[rng.permutation(max(n, n_components))[:n_components] % n]
    spread = points.std(axis=0) if n > 1 else np.zeros(d)
    spread = np.where(spread > 0, spread, max(float(spread.max()), 1e-3))
    lengths = spread * np.sqrt(d / (spread @ spread))
    variance = chosen.var(axis=0, ddof=1) if n_components > 1 else spread**2
    variance = np.where(variance > 0, variance, spread**2)
    scale = np.sqrt(np.mean(variance / lengths**2) / n_components)
    return Mixture(
        np.full(n_components, 1 / n_components),
        chosen,
        scale * np.exp(JITTER * rng.standard_normal(n_components)),
        lengths,
    )


def candidates(
    rng: np.random.Generator,
    current: Mixture | None,
    points: FloatArray,
    n_components: int,
    n: int,
    *,
    from_data: bool,
    weights: bool,
) -> tuple[list[Mixture], list[Mixture]]:
    """``n`` starts in all: neighbours of the current mixture, and starts from the data.

    The first of the former is the current mixture itself, grown. With ``from_data`` a third
    of the starts sit on the best training points and a third on random ones.
    """
    near: list[Mixture] = []
    fresh: list[Mixture] = []
    n_near = 0 if current is None else (max(1, n // 3) if from_data else n)
    if current is not None:
        near.append(_grown(rng, current, n_components, weights))
        for _ in range(n_near - 1):
            near.append(jitter(rng, _grown(rng, current, n_components, weights), weights=weights))
    n_fresh = max(n - n_near, 2) if from_data or current is None else 0
    for i in range(n_fresh):
        start = from_points(rng, points, n_components, best=i % 2 == 0)
        fresh.append(start if i == 0 else jitter(rng, start, weights=weights))
    return near, fresh


def _grown(rng: np.random.Generator, mixture: Mixture, n_components: int, weights: bool) -> Mixture:
    """The mixture grown; with equal weights where they are not fitted."""
    grown = grow(rng, mixture, n_components)
    if weights:
        return grown
    equal = np.full(grown.n_components, 1 / grown.n_components)
    return Mixture(equal, grown.means, grown.scales, grown.lengths)
