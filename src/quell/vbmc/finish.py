"""The end of a run: which iteration is returned, and the last improvement of its posterior."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from quell.mixture import normal_base_sample
from quell.mixture.divergence import gaussian_skl
from quell.quadrature import Quadrature
from quell.settings import Settings
from quell.variational import evaluate_elbo, fit_mixture
from quell.vbmc.reliability import is_believable
from quell.vbmc.state import Iteration, Solution

#: β of the ELCBO by which an iteration is chosen, and the last part of a run in which it is looked
#: for (reference implementation).
SELECTION_BETA = 5.0
RECENT_SHARE = 0.25
#: The polish: β by which mixtures are compared, starts of each fit, and growth at a time, since a
#: mixture grown twentyfold at once is too far from an optimum to get there.
POLISH_BETA = 3.0
POLISH_STARTS = 5
POLISH_GROWTH = 4
#: The base sample of the polish has as many points per component as fit this many terms.
POLISH_TERMS = 400_000
POLISH_SIZES = (256, 4096)
#: A base sample to get close with, and one to compare starts on.
ROUGH_SIZE, STARTS_SIZE = 128, 256
POLISH_ITERATIONS = 60
SCORING_SIZE = 2048
#: A boosted posterior may differ from the other by at most this gsKL: it is a polish, and a
#: larger change means that it found something only the surrogate believes in.
LARGEST_CHANGE = 1.0


def best_iteration(history: Sequence[Iteration]) -> Iteration:
    """The iteration to return: the last if stable, else the best of the recent ones.

    Recent means since the last stable iteration, or the last quarter of the run; best the
    largest ELCBO₅. One that promises more than was ever seen is not returned if there is another.
    """
    history = [iteration for iteration in history if iteration.believable] or history
    if history[-1].stable:
        return history[-1]
    stable = [i for i, iteration in enumerate(history) if iteration.stable]
    first = stable[-1] if stable else len(history) - int(np.ceil(RECENT_SHARE * len(history)))
    return max(history[first:], key=lambda iteration: iteration.lower_bound(SELECTION_BETA))


def boost(
    rng: np.random.Generator, solution: Solution, settings: Settings
) -> tuple[Solution, bool]:
    """The solution polished, and with at least ``final_components`` components if that helps.

    Three mixtures are compared on one fresh base sample: the solution as it is, optimised once
    more, and grown. A new one is taken only if its ELCBO₃ is higher and it has not wandered
    off, nor to where the surrogate promises more than was ever seen. Also says whether one was.
    """
    gp = solution.surrogate()
    quadrature = Quadrature(gp)
    base = normal_base_sample(SCORING_SIZE, gp.dimension, rng)
    old = solution.mixture
    best, best_elbo = old, evaluate_elbo(quadrature, old, base)
    k = old.n_components
    most = max(k, settings.final_components)
    for n_components in sorted({k, min(POLISH_GROWTH * k, most), most}):
        fit = fit_mixture(
            rng, gp, best, n_components=max(n_components, best.n_components),
            n_starts=POLISH_STARTS, prune=False, base_sizes=_base_sizes(n_components),
            max_iterations=POLISH_ITERATIONS, scoring_size=STARTS_SIZE,
        )  # fmt: skip
        elbo = evaluate_elbo(quadrature, fit.mixture, base)
        change = gaussian_skl(
            old.mean(), old.covariance(), fit.mixture.mean(), fit.mixture.covariance()
        )
        bound, best_bound = (e.lower_confidence_bound(POLISH_BETA) for e in (elbo, best_elbo))
        believable = is_believable(elbo, solution.data) or not is_believable(
            best_elbo, solution.data
        )
        if bound > best_bound and change < LARGEST_CHANGE and believable:
            best, best_elbo = fit.mixture, elbo
    return replace(solution, mixture=best, elbo=best_elbo), best is not old


def _base_sizes(n_components: int) -> tuple[int, ...]:
    """A small base sample to get close, and the largest affordable one for this many components."""
    affordable = 2 ** int(np.log2(POLISH_TERMS / n_components**2))
    return ROUGH_SIZE, int(np.clip(affordable, *POLISH_SIZES))
