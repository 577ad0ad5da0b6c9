"""How soft the edges of bounded parameters should be, as the posterior has it.

Near a hard bound, probit and logit stretch a strip of the parameter's range to infinity. A
posterior that touches the bound where the likelihood is flat becomes a plateau with the tail of the
Jacobian, which a stationary surrogate with a quadratic mean cannot follow. A soft edge
(`quell.space.maps`) is linear further than a few times its softness from the bound, where the
posterior keeps the shape it has in the user's units, and bends only next to it.

The softness follows the posterior: a part of its SD in the parameter, or of its SD given all others
where that is smaller, for a bend wider than a narrow ridge would bend the ridge. Edges are only
ever made sharper. A parameter over orders of magnitude is very skewed in its own units, and less so
in a log-like map: it keeps that. Whether the new coordinates are better at all, the surrogate's
marginal likelihood decides (`quell.vbmc.update`). docs/experiments/coordinates.md has the
measurements.
"""

import numpy as np

from quell.arrays import FloatArray
from quell.space import InferenceSpace
from quell.vbmc.state import Solution

#: Softness as a part of the posterior's SD.
SHARE_OF_SD = 0.25
#: Edges are made sharper where the softness has fallen by this factor.
SHARPER = 0.5
#: A parameter keeps its map if it is more skewed than this in its own units, and by so much more
#: than under the map.
SKEWED, MORE_SKEWED = 2.5, 1.0
N_DRAWS = 2000
#: Kinds of parameters that have an edge, and the choice of map that lets it become soft.
EDGED, SOFT = ("two-sided", "lower", "upper"), "soft"


def proposed_softness(
    rng: np.random.Generator, solution: Solution, now: FloatArray
) -> FloatArray | None:
    """The softness (D,) that suits a solution better than the one there is ``now``, if any does.

    nan is for the map that a coordinate has without soft edges.
    """
    space = solution.space
    x = solution.mixture.sample(N_DRAWS, rng)
    theta = space.to_original(x)[:, space.free]
    v = (x * space.scales) @ space.rotation.T
    return softness_for(space, theta, v, now)


def softness_for(
    space: InferenceSpace, theta: FloatArray, v: FloatArray, now: FloatArray
) -> FloatArray | None:
    """That of a posterior with draws θ (n, D), which are v (n, D) under the maps of a ``space``."""
    kinds = [kind for kind in space.kinds if kind != "fixed"]
    chosen = [family for family, free in zip(space.bounds.bounded, space.free, strict=True) if free]
    edged = np.array([k in EDGED and f == SOFT for k, f in zip(kinds, chosen, strict=True)])
    if not edged.any():
        return None
    wanted = SHARE_OF_SD * np.minimum(theta.std(axis=0), conditional_sds(theta))
    wanted = np.where(wanted > 0, wanted, np.nan)  # all draws may be the same number
    raw, mapped = np.abs(skewness(theta)), np.abs(skewness(v))
    keeps = ~edged | ((raw > SKEWED) & (raw > mapped + MORE_SKEWED)) | np.isnan(wanted)

    is_new = np.isnan(now) & ~keeps
    sharper = ~np.isnan(now) & (wanted < SHARPER * now)
    if not (is_new | sharper).any():
        return None
    return np.where(is_new, wanted, np.where(np.isnan(now), np.nan, np.fmin(now, wanted)))


def conditional_sds(draws: FloatArray) -> FloatArray:
    """SDs (D,) of each column of the draws (n, D) given all others, under a normal."""
    scale = draws.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    correlation = np.atleast_2d(np.cov((draws / scale).T)) + 1e-12 * np.eye(draws.shape[1])
    return np.asarray(scale / np.sqrt(np.diag(np.linalg.inv(correlation))))


def skewness(draws: FloatArray) -> FloatArray:
    """Skewness (D,) of the columns of the draws (n, D); 0 where there is no spread."""
    offset = draws - draws.mean(axis=0)
    sd = offset.std(axis=0)
    return np.asarray(np.mean((offset / np.where(sd > 0, sd, 1.0)) ** 3, axis=0))
