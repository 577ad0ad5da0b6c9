"""Which parameters without bounds have heavy or skewed tails, as the posterior has it.

The map of `quell.space.tails` has a centre and a scale. For each parameter those are taken by which
draws from the posterior become as normal as they can: with the SD of t and the mean log-slope under
the draws,

    cost = log sd(t) + E[log dθ/dt]

is, but for a constant, the Kullback-Leibler divergence from the draws to the normal distribution in
t that is nearest to them. A map is proposed where it lowers that by more than `LEAST_GAIN` nats.
Whether the new coordinates are better, the surrogate's marginal likelihood decides
(`quell.vbmc.update`). docs/experiments/unbounded.md has the measurements.
"""

import numpy as np
from scipy.optimize import minimize

from quell.arrays import FloatArray
from quell.space.tails import HeavyTails
from quell.vbmc.state import Solution

#: By how many nats a map must bring a parameter's draws nearer to a normal to be proposed.
LEAST_GAIN = 0.02
N_DRAWS = 4000
#: First tries, in robust SDs of the draws: scales, and centres to either side of the median.
SCALES, CENTRES = (1.0, 2.7), (-2.0, 0.0, 2.0)
#: Scales are kept within these, and a centre costs so much per squared distance from the median:
#: where a map is all but linear, or a logarithm on one side, the draws hardly tell.
SMALLEST, LARGEST = 0.3, 150.0
PULL = 1e-3
#: Quartiles of a normal distribution are so many SDs apart.
QUARTILES_APART = 1.349


def proposed_tails(
    rng: np.random.Generator, solution: Solution, now: FloatArray
) -> tuple[FloatArray, int] | None:
    """Centres and scales (D, 2) that suit a solution better than those there are ``now``, if any.

    nan is for a linear coordinate. The number is how many of them are new.
    """
    space = solution.space
    kinds = [kind for kind in space.kinds if kind != "fixed"]
    if "unbounded" not in kinds:
        return None
    x = solution.mixture.sample(N_DRAWS, rng, stratified=True)
    theta = space.to_original(x)[:, space.free]
    tails, n_new = now.copy(), 0
    for i in np.flatnonzero([kind == "unbounded" for kind in kinds]):
        better = better_tails(theta[:, i], now[i])
        if better is not None:
            tails[i], n_new = better, n_new + 1
    return (tails, n_new) if n_new else None


def better_tails(draws: FloatArray, now: FloatArray) -> tuple[float, float] | None:
    """Centre and scale that make draws (n,) more normal than those ``now`` (2,), if any do.

    >>> rng = np.random.default_rng(1)
    >>> linear = np.full(2, np.nan)
    >>> better_tails(rng.standard_normal(4000), linear) is None
    True
    >>> centre, scale = better_tails(rng.standard_t(2.5, 4000), linear)
    >>> abs(centre) < 0.5, 0.5 < scale < 3.0
    (True, True)
    """
    low, middle, high = np.quantile(draws, [0.25, 0.5, 0.75])
    unit = (high - low) / QUARTILES_APART
    if not unit > 0:  # half of the draws may be the same number
        return None
    z = (draws - middle) / unit
    present = (now - [middle, 0.0]) / unit
    cost = np.log(z.std()) if np.isnan(now).any() else distance(z, *present)

    def pulled(place: FloatArray) -> float:
        scale = float(np.clip(np.exp(place[1]), SMALLEST, LARGEST))
        return distance(z, float(place[0]), scale) + PULL * float(place[0]) ** 2

    starts = [np.array([c, np.log(s)]) for c in CENTRES for s in SCALES]
    start = min(starts, key=pulled)
    if cost - pulled(start) <= 0.0:
        return None
    found = minimize(
        pulled, start, method="Nelder-Mead", options={"maxiter": 150, "xatol": 0.01, "fatol": 1e-5}
    )
    centre, scale = float(found.x[0]), float(np.clip(np.exp(found.x[1]), SMALLEST, LARGEST))
    if cost - distance(z, centre, scale) <= LEAST_GAIN:
        return None
    return float(middle + unit * centre), float(unit * scale)


def distance(draws: FloatArray, centre: float, scale: float) -> float:
    """How far draws (n,) are from a normal in the map's t, in nats, up to a constant."""
    g = HeavyTails(np.array([centre]), np.array([scale]))
    t = g.forward(draws[:, None])
    return float(np.log(t.std()) + g.log_slope_at(draws[:, None]).mean())
