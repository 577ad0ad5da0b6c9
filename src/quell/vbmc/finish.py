"""The end of a run: which iteration is returned, and the last improvement of its posterior."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from quell.divergence import gaussian_skl
from quell.mixture import normal_base_sample
from quell.quadrature import Quadrature
from quell.settings import Settings
from quell.variational import evaluate_elbo, fit_mixture
from quell.vbmc.state import Iteration, Solution

SELECTION_BETA = 5.0
RECENT_SHARE = 0.25
BOOST_BASES = (256, 512)
BOOST_ITERATIONS = 100
SCORING_SIZE = 2048
#: A boosted posterior may differ from the other by at most this gsKL: it is a polish, and a
#: larger change means that it found something only the surrogate believes in.
LARGEST_CHANGE = 1.0


def best_iteration(history: Sequence[Iteration]) -> Iteration:
    """The iteration to return: the last if stable, else the best of the recent ones.

    Recent means since the last stable iteration, or the last quarter of the run; best the
    largest ELCBO₅.
    """
    if history[-1].stable:
        return history[-1]
    stable = [i for i, iteration in enumerate(history) if iteration.stable]
    first = stable[-1] if stable else len(history) - int(np.ceil(RECENT_SHARE * len(history)))
    return max(history[first:], key=lambda iteration: iteration.lower_bound(SELECTION_BETA))


def boost(
    rng: np.random.Generator, solution: Solution, settings: Settings
) -> tuple[Solution, bool]:
    """The solution with at least ``final_components`` components, and whether it was taken.

    Both mixtures are compared on one fresh base sample; the boosted one is kept only if its
    ELCBO₃ is not lower and it has not wandered off.
    """
    gp = solution.surrogate()
    n_components = max(settings.final_components, solution.mixture.n_components)
    fit = fit_mixture(
        rng, gp, solution.mixture, n_components=n_components, n_starts=10, prune=False,
        base_sizes=BOOST_BASES, max_iterations=BOOST_ITERATIONS, scoring_size=SCORING_SIZE,
    )  # fmt: skip
    quadrature = Quadrature(gp)
    base = normal_base_sample(SCORING_SIZE, gp.dimension, rng)
    old = evaluate_elbo(quadrature, solution.mixture, base)
    new = evaluate_elbo(quadrature, fit.mixture, base)
    change = gaussian_skl(
        solution.mixture.mean(), solution.mixture.covariance(),
        fit.mixture.mean(), fit.mixture.covariance(),
    )  # fmt: skip
    better = new.lower_confidence_bound(3.0) >= old.lower_confidence_bound(3.0)
    if better and change < LARGEST_CHANGE:
        return replace(solution, mixture=fit.mixture, elbo=new), True
    return replace(solution, elbo=old), False
