"""What a run has learnt of a target, where alone it counts: in the support, at whole numbers.

The surrogate and the mixture know nothing of integers, and go on beyond the edge of a support: a
run's own ELBO, the SD of it and the draws behind its verdict are those of all places. Here they are
those of the posterior that is returned (see `quell.results.parts` and `quell.results.truncated`),
from draws.
"""

from dataclasses import replace

import numpy as np

from quell.arrays import BoolArray
from quell.gp import GaussianProcess
from quell.gp.pooling import between_variance, pooled_mean
from quell.quadrature import ExpectedLogJoint
from quell.results import Posterior
from quell.variational import Elbo
from quell.vbmc import Solution
from quell.vbmc.evidence import N_DRAWS, Draws

#: Draws behind the variance of the ELBO: all pairs of them count.
N_PAIRED = 256


def where_it_counts(
    rng: np.random.Generator, solution: Solution, integer: BoolArray
) -> tuple[Solution, Draws] | None:
    """The solution with its ELBO where it counts, and draws there; None if that is everywhere.

    No draws if the posterior has nothing in its support.
    """
    posterior = Posterior(
        solution.mixture, solution.space, tuple(map(bool, integer)), solution.support
    )
    if not posterior.has_whole_numbers and posterior.support is None:
        return None
    try:
        theta = posterior.sample(N_DRAWS, rng)
    except ValueError:  # a lost run
        return solution, Draws(np.empty((0, solution.mixture.dimension)), np.empty(0), 0.0, 0.0)
    log_mass, share = posterior.log_mass, posterior.share_in_support
    if not posterior.has_whole_numbers and share == 1.0:
        return None
    x = solution.space.to_inference(theta)
    log_density = solution.mixture.log_density(x) - log_mass - np.log(share)
    draws = Draws(x, log_density, log_mass, share)
    return replace(solution, elbo=_elbo(rng, solution.surrogate(), draws)), draws


def _elbo(rng: np.random.Generator, gp: GaussianProcess, draws: Draws) -> Elbo:
    """The ELBO as an average over draws, its variance over pairs of some of them."""
    means = gp.predict_mean(draws.x).mean(axis=1)
    some = draws.x[rng.permutation(len(draws.x))[:N_PAIRED]]
    apart = ~np.eye(len(some), dtype=bool)
    variances = np.array([
        max(0.0, float(gp.only(s).covariance(some, some)[0][apart].mean()))
        for s in range(gp.n_samples)
    ])  # fmt: skip
    joint = ExpectedLogJoint(
        component_means=means[:, None],
        component_covariances=variances[:, None, None],
        sample_means=means,
        sample_variances=variances,
        mean=float(pooled_mean(means, gp.weights)),
        within=float(pooled_mean(variances, gp.weights)),
        between=float(between_variance(means, gp.weights)),
    )
    return Elbo(joint, -float(draws.log_density.mean()))
