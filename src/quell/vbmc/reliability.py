"""Is the solution stable? The reliability index and the rules that read it."""

from collections.abc import Sequence

import numpy as np

from quell.gp import GaussianProcess
from quell.gp.data import high_density_rows
from quell.gp.model import noise_variance
from quell.mixture import Mixture
from quell.vbmc.state import Iteration

BASE_SD_TOLERANCE = 0.1
KL_TOLERANCE = 0.01
NOISE_SHARE = 0.2
#: Evaluations over which a solution has to be stable.
STABLE_EVALUATIONS = {False: 60, True: 90}
ALLOWED_EXCEPTIONS = 0.2
LARGEST_SLOPE = 0.01
IMPROVEMENT_BETA = 3.0
#: Iterations, at least, over which the ELBO has to improve for more components: the first two do
#: not count.
SHORTEST_WINDOW = 4


def noise_near_mode(gp: GaussianProcess) -> float:
    """σ_hpd: the median noise SD over the best fifth of the training points."""
    count = max(1, int(np.ceil(NOISE_SHARE * gp.data.size)))
    rows = high_density_rows(gp.data.y, 1.0)[:count]
    noise = sum(
        weight * noise_variance(gp.hyper[s], gp.data.variance[rows])
        for s, weight in enumerate(gp.weights)
    )
    return float(np.sqrt(np.median(noise)))


def reliability_index(
    elbo: float,
    elbo_sd: float,
    gskl: float,
    previous: Iteration | None,
    n_before: int,
    dimension: int,
    noise_sd: float,
) -> float:
    """r(t), the mean of three features each of which should be below 1 (supplement B.1, Eq. S9).

    The change of the ELBO, its SD, and the change of the posterior, in units of their
    tolerances. Infinite for the first two iterations.
    """
    if previous is None or n_before < 2:
        return np.inf
    sd_tolerance = min(1.0, max(BASE_SD_TOLERANCE, np.sqrt(BASE_SD_TOLERANCE * noise_sd)))
    kl_tolerance = KL_TOLERANCE * np.sqrt(dimension)
    return float(
        (abs(elbo - previous.elbo) / sd_tolerance + elbo_sd / sd_tolerance + gskl / kl_tolerance)
        / 3
    )


def is_stable(
    history: Sequence[Iteration], n_evaluations: int, lower_bound: float, reliability: float,
    *, noisy: bool, batch: int,
) -> bool:  # fmt: skip
    """Whether a new iteration with these figures makes the solution stable."""
    n_stable = int(np.ceil(STABLE_EVALUATIONS[noisy] / batch))
    index = len(history) + 1
    if index < n_stable or not reliability < 1:
        return False
    half = _last(history, int(np.ceil(n_stable / 2)) - 1)
    counts = [*(it.n_evaluations for it in half), n_evaluations]
    bounds = [*(it.lower_bound(IMPROVEMENT_BETA) for it in half), lower_bound]
    if np.ptp(counts) > 0 and np.polyfit(counts, bounds, 1)[0] >= LARGEST_SLOPE:
        return False
    recent = [it.reliability < 1 for it in _last(history, n_stable - 1)]
    return sum(recent) >= n_stable - int(ALLOWED_EXCEPTIONS * n_stable) - 1


def _last(history: Sequence[Iteration], n: int) -> Sequence[Iteration]:
    return history[len(history) - min(n, len(history)) :]


def next_component_count(
    history: Sequence[Iteration], mixture: Mixture, n_training: int,
    *, noisy: bool, batch: int, full_refit: bool,
) -> int:  # fmt: skip
    """How many components the next fit may use: more while the ELBO keeps improving."""
    window = max(SHORTEST_WINDOW, int(np.ceil(0.5 * STABLE_EVALUATIONS[noisy] / batch)))
    recent = history[-window:]
    bounds = [it.lower_bound(IMPROVEMENT_BETA) for it in recent if not it.warmup]
    bounds[:2] = [-np.inf] * len(bounds[:2])
    count = mixture.n_components
    improving = bool(bounds) and np.isfinite(bounds[-1]) and bounds[-1] >= max(bounds)
    if improving and history[-1].n_pruned == 0:
        count += 1
        quiet = all(it.n_pruned == 0 for it in history[-int(np.ceil(window / 2)) :])
        if history[-1].reliability < 1 and not full_refit and quiet:
            count += 2
    return max(mixture.n_components, min(count, int(np.ceil(n_training ** (2 / 3)))))
