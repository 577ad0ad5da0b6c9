"""Is the solution stable? The reliability index and the rules that read it."""

from collections.abc import Sequence

import numpy as np

from quell.gp import GaussianProcess, TrainingData
from quell.gp.data import high_density_rows
from quell.gp.model import noise_variance
from quell.mixture import Mixture
from quell.variational import Elbo
from quell.vbmc.state import Iteration

#: A solution with an index below this is reliable (paper, supplement B.1).
RELIABLE = 1.0
#: Tolerances: of the ELBO's SD without noise and at most, of the gsKL per √D; and the share of the
#: best training points by which the noise is judged (paper, supplement B.1 with Eq. S9).
BASE_SD_TOLERANCE, LARGEST_SD_TOLERANCE = 0.1, 1.0
KL_TOLERANCE = 0.01
NOISE_SHARE = 0.2
#: Iterations before the first that has an index.
UNJUDGED_ITERATIONS = 2
#: Evaluations over which a solution has to be stable, for exact and for noisy targets; the share of
#: iterations in them that need not be reliable; and the slope of ELCBO₃, in nats per evaluation,
#: over the latter half of them (reference implementation).
STABLE_EVALUATIONS = {False: 60, True: 90}
ALLOWED_EXCEPTIONS = 0.2
LARGEST_SLOPE = 0.01
#: β of the ELCBO wherever the question is whether it improves (reference implementation).
IMPROVEMENT_BETA = 3.0
#: More components while the ELBO improves over the last iterations, at least so many, of which the
#: first ones do not count; one more, or more where all is calm, up to this power of the number of
#: training points (reference implementation, but for the smallest number).
SHORTEST_WINDOW = 4
UNCOUNTED_IN_WINDOW = 2
MORE_COMPONENTS, MORE_IF_CALM = 1, 2
COMPONENTS_POWER = 2 / 3


def noise_near_mode(gp: GaussianProcess) -> float:
    """σ_hpd: the median noise SD over the best fifth of the training points."""
    count = max(1, int(np.ceil(NOISE_SHARE * gp.data.size)))
    rows = high_density_rows(gp.data.y, 1.0)[:count]
    noise = sum(
        weight * noise_variance(gp.samples[s], gp.data.variance[rows])
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
    tolerances. The last in inference space: in the user's parameters it would be much larger for
    those that range over orders of magnitude (docs/experiments/reliability.md).
    Infinite for the first two iterations.
    """
    if previous is None or n_before < UNJUDGED_ITERATIONS:
        return np.inf
    sd_tolerance, kl_tolerance = tolerances(noise_sd, dimension)
    return float(
        (abs(elbo - previous.elbo) / sd_tolerance + elbo_sd / sd_tolerance + gskl / kl_tolerance)
        / 3
    )


def tolerances(noise_sd: float, dimension: int) -> tuple[float, float]:
    """Δ_SD of the ELBO and Δ_KL of the posterior (supplement B.1, Eq. S9)."""
    sd = min(LARGEST_SD_TOLERANCE, max(BASE_SD_TOLERANCE, np.sqrt(BASE_SD_TOLERANCE * noise_sd)))
    return float(sd), float(KL_TOLERANCE * np.sqrt(dimension))


def has_changed(now: Iteration, before: Iteration, dimension: int) -> bool:
    """Whether the solution is another one than in the iteration ``before``.

    Whatever its uncertainty: the ELBO or the posterior has changed by more than its tolerance.
    """
    sd_tolerance, kl_tolerance = tolerances(now.noise_sd, dimension)
    return bool(abs(now.elbo - before.elbo) > sd_tolerance or not now.gskl <= kl_tolerance)


def promised_beyond_data(elbo: Elbo, data: TrainingData) -> float:
    """Nats by which a surrogate promises more than was ever seen; negative where it does not.

    The expected log joint of a posterior is below the largest value there is. A surrogate that
    expects more than the best of its observations (n of them, noise included) has put the posterior
    where it knows nothing. Neither is one believed whose ELBO or SD is no number.
    """
    if not (np.isfinite(elbo.value) and np.isfinite(elbo.sd)):
        return np.inf
    return float(elbo.expected_log_joint.mean - data.y.max())


def is_believable(elbo: Elbo, data: TrainingData) -> bool:
    """Whether a surrogate promises no more than was ever seen."""
    return promised_beyond_data(elbo, data) <= 0.0


def is_stable(
    history: Sequence[Iteration], n_evaluations: int, lower_bound: float, reliability: float,
    *, noisy: bool, batch: int,
) -> bool:  # fmt: skip
    """Whether a new iteration with these figures makes the solution stable.

    Iterations without new evaluations, that only settle what came together, do not count.
    """
    history = [it for it in history if not it.settling]
    n_stable = int(np.ceil(STABLE_EVALUATIONS[noisy] / batch))
    index = len(history) + 1
    if index < n_stable or not reliability < RELIABLE:
        return False
    half = _last(history, int(np.ceil(n_stable / 2)) - 1)
    counts = [*(it.n_evaluations for it in half), n_evaluations]
    bounds = [*(it.lower_bound(IMPROVEMENT_BETA) for it in half), lower_bound]
    if np.ptp(counts) > 0 and np.polyfit(counts, bounds, 1)[0] >= LARGEST_SLOPE:
        return False
    recent = [it.reliability < RELIABLE for it in _last(history, n_stable - 1)]
    return sum(recent) >= n_stable - int(ALLOWED_EXCEPTIONS * n_stable) - 1


def _last(history: Sequence[Iteration], n: int) -> Sequence[Iteration]:
    return history[len(history) - min(n, len(history)) :]


def next_component_count(
    history: Sequence[Iteration], mixture: Mixture, n_training: int,
    *, noisy: bool, batch: int, full_refit: bool,
) -> int:  # fmt: skip
    """How many components the next fit may use: more while the ELBO keeps improving."""
    window = max(SHORTEST_WINDOW, int(np.ceil(STABLE_EVALUATIONS[noisy] / 2 / batch)))
    recent = history[-window:]
    bounds = [it.lower_bound(IMPROVEMENT_BETA) for it in recent if not it.warmup]
    uncounted = len(bounds[:UNCOUNTED_IN_WINDOW])
    bounds[:uncounted] = [-np.inf] * uncounted
    count = mixture.n_components
    improving = bool(bounds) and np.isfinite(bounds[-1]) and bounds[-1] >= max(bounds)
    if improving and history[-1].n_pruned == 0:
        count += MORE_COMPONENTS
        quiet = all(it.n_pruned == 0 for it in history[-int(np.ceil(window / 2)) :])
        if history[-1].reliability < RELIABLE and not full_refit and quiet:
            count += MORE_IF_CALM
    most = int(np.ceil(n_training**COMPONENTS_POWER))
    return max(mixture.n_components, min(count, most))
