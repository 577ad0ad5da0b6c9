"""The last fit of a posterior with integers: a mixture that has their probabilities.

A mixture is fitted to the surrogate everywhere, but with integers only what it says at whole
numbers counts (`quell.results.parts`). Where the log joint falls off steeply beside two likely
integers, the surrogate, a smooth line through them, has a peak between the two, the mixture sits on
that peak, and the tails that it has at whole numbers say nothing. What the surrogate says there
itself, at points that were evaluated, does. So a mixture is fitted to draws at whole numbers,
weighted by the surrogate: by expectation maximisation, as where a posterior is made to cover its
surrogate (`quell.vbmc.cover`), from components at draws chosen by their weights. The draws are the
posterior's own, half of them with one integer moved to a neighbouring value, so that one that the
mixture has lost comes back. With P the posterior's density times probability, and J integers,

    r(θ) = ½ P(θ) + Σ_j (P(θ + e_j) + P(θ - e_j)) / 4J,   ω ∝ exp(f̄(x)) |∂x/∂θ| / r(θ).

Fresh draws of the old and the new posterior decide which is closer to the surrogate's.
"""

from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from quell.arrays import BoolArray, FloatArray
from quell.gp import GaussianProcess
from quell.mixture import Mixture
from quell.results import Posterior
from quell.vbmc import Solution
from quell.vbmc.cover import NEW_SCALE, STEPS, likelier, truncated_weights
from quell.vbmc.evidence import LARGEST_SHARE

#: Draws; as many as behind the evidence (`quell.vbmc.evidence`).
N_DRAWS = 4096
#: Share of the draws that have an integer moved.
MOVED = 0.5


def at_whole_numbers(
    rng: np.random.Generator, solution: Solution, integer: BoolArray, n_components: int
) -> Solution:
    """The solution with a mixture closer to its surrogate at whole numbers, or as it is.

    It stays as it is where no integer matters, and where the density is known to be zero somewhere,
    for there a mixture is cut off (see `quell.vbmc.cover`).
    """
    if solution.support is not None or not integer.any():
        return solution
    gp = solution.surrogate()
    old = _Whole(solution, gp, solution.mixture, integer)
    if not old.posterior.has_whole_numbers:
        return solution
    theta = old.draws(rng)
    x = solution.space.to_inference(theta)
    weights = truncated_weights(old.claimed(x) - old.log_proposal(theta))
    if not weights.max() <= LARGEST_SHARE:  # nor where the weights are no numbers
        return solution
    mixture = _at_draws(rng, solution.mixture, x, weights, n_components)
    for _ in range(STEPS):
        mixture = likelier(mixture, x, weights)
    new = _Whole(solution, gp, mixture, integer)
    # The ELBO is taken at whole numbers later (`quell.run.where_it_counts`), if these still matter.
    found = new.posterior.has_whole_numbers and _is_closer(rng, new, old)
    return replace(solution, mixture=mixture) if found else solution


class _Whole:
    """What a mixture says at whole numbers, beside what the surrogate does."""

    def __init__(
        self, solution: Solution, gp: GaussianProcess, mixture: Mixture, integer: BoolArray
    ) -> None:
        self.space = solution.space
        self.gp = gp
        self.posterior = Posterior(mixture, solution.space, tuple(map(bool, integer)))
        self.columns = np.flatnonzero(integer & solution.space.free)

    @cached_property
    def moves(self) -> FloatArray:
        """One step of one integer, up or down: (2J, n_parameters)."""
        steps = np.eye(len(self.space.free))[self.columns]
        return np.concatenate([steps, -steps])

    def draws(self, rng: np.random.Generator) -> FloatArray:
        """Draws θ (n, n_parameters) within the bounds, some with an integer moved."""
        theta = self.posterior.sample(N_DRAWS, rng)
        moved = rng.random(len(theta)) < MOVED
        theta[moved] += self.moves[rng.integers(len(self.moves), size=int(moved.sum()))]
        return np.asarray(theta[self.space.contains(theta)])

    def log_proposal(self, theta: FloatArray) -> FloatArray:
        """Log density (n,) of such draws, but for what is lost beyond the bounds."""
        log_density = self.posterior.log_density
        logs = [np.log1p(-MOVED) + log_density(theta)]
        share = np.log(MOVED / len(self.moves))
        logs += [share + log_density(theta - move) for move in self.moves]
        return np.asarray(logsumexp(logs, axis=0))

    def claimed(self, x: FloatArray) -> FloatArray:
        """The log joint (n,) in the user's parameters, as the surrogate has it at x (n, D)."""
        mean = self.gp.weights @ self.gp.predict_mean(x)
        return np.asarray(mean - self.space.log_jacobian(x))


def _at_draws(
    rng: np.random.Generator, old: Mixture, x: FloatArray, weights: FloatArray, size: int
) -> Mixture:
    """A mixture of ``size`` equal components at draws x (n, D), as wide as the old ones there."""
    places = x[rng.choice(len(x), size, p=weights)]
    nearest = old.responsibilities(places).argmax(axis=1)
    scales = NEW_SCALE * old.scales[nearest]
    return Mixture(np.full(size, 1 / size), places, scales, old.lengths)


def _is_closer(rng: np.random.Generator, new: _Whole, old: _Whole) -> bool:
    """Whether E_p[log q] at whole numbers is larger for the new posterior, on fresh draws."""
    theta = np.concatenate([new.draws(rng), old.draws(rng)])
    proposals = np.logaddexp(new.log_proposal(theta), old.log_proposal(theta))
    weights = truncated_weights(new.claimed(new.space.to_inference(theta)) - proposals)
    gain = new.posterior.log_density(theta) - old.posterior.log_density(theta)
    return float(weights @ gain) > 0.0
