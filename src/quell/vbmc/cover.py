"""The last fit of a posterior: so that it covers what the surrogate says.

The ELBO is maximal where KL(q || p) is minimal, p = exp(f̄) / Z being the posterior of the
surrogate's mean. A mixture that cannot have the shape of p then rather leaves out a part of it than
covers what is not there: tails and corners are missing, SDs are low. Once a run is over q is not
searched for any more, and the other direction is within reach: KL(p || q) is minimal where the
expected log density E_p[log q] is maximal, which asks of q to have mass wherever p has, and its
moments. With draws x_i from q and weights ω_i ∝ exp(f̄(x_i)) / q(x_i) this is the mixture of
largest weighted likelihood, which expectation maximisation climbs to:

    r_ik = ω_i w_k N_k(x_i) / q(x_i),   w_k = Σ_i r_ik,   μ_k = Σ_i r_ik x_i / w_k,
    S_kd = Σ_i r_ik (x_id - μ_kd)²,   σ_k² = Σ_d S_kd / λ_d² / (D w_k),   λ_d² = Σ_k S_kd / σ_k².

Components are added first, at draws chosen by their weights. No draw counts more than 1/√n of
all before (truncated importance sampling); where one still has much of the weight, because the
surrogate promises mass far out, nothing is changed. Fresh draws from both mixtures
decide which has the larger E_p[log q]. What this gains is in docs/experiments/answer.md.

A posterior that would become another one is either a mode that the search for the largest ELBO has
left out, or an invention of the surrogate far from its data. The surrogate's own SD s tells them
apart: where p is claimed to be above q, it then counts as three of these SDs less, but no less than
q. What is left of the claim rests on evaluations.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from quell.acquisition.draws import mixture_draws
from quell.arrays import FloatArray
from quell.gp import GaussianProcess
from quell.mixture import Mixture, normal_base_sample
from quell.mixture.divergence import gaussian_skl
from quell.quadrature import Quadrature
from quell.variational import evaluate_elbo
from quell.vbmc.evidence import LARGEST_SHARE
from quell.vbmc.finish import LARGEST_CHANGE, SCORING_SIZE
from quell.vbmc.reliability import is_believable
from quell.vbmc.state import Solution

N_DRAWS = 16384
#: Times that draws are made from the mixture as it has become, and steps of the climb each time.
ROUNDS, STEPS = 2, 5
#: Share of the draws that come from components made wider, and by what factor.
WIDER_SHARE, WIDER = 0.25, 1.5
#: New components have together this share of the mass at first, and so much of the scale of the
#: component that they lie in.
NEW_SHARE, NEW_SCALE = 0.5, 0.7
#: A component's scale is worth so many draws before it has seen any: with a few it cannot collapse.
DRAWS_OF_SCALE = 20
#: SDs taken off what the surrogate claims, where it would make another posterior of it.
CAUTION = 3.0

#: From points (n, D) and the log density (n,) they were drawn with: logs (n,) of their weights.
LogWeights = Callable[[FloatArray, FloatArray], FloatArray]


def cover(rng: np.random.Generator, solution: Solution, n_components: int) -> Solution:
    """The solution with a mixture that is closer to its surrogate's posterior, or as it is.

    The new one has at least ``n_components``. It also stays as it is where the density is known to
    be zero somewhere: there a mixture is cut off, and what it has beyond the edge belongs to it.
    """
    if solution.support is not None:
        return solution
    gp, old = solution.surrogate(), solution.mixture
    new = closer(rng, old, n_components, partial(claimed, gp))
    if new is not None and _change(old, new) >= LARGEST_CHANGE:
        new = closer(rng, old, n_components, partial(surely_claimed, gp, solution.elbo.value))
    if new is None:
        return solution
    base = normal_base_sample(SCORING_SIZE, gp.dimension, rng)
    elbo = evaluate_elbo(Quadrature(gp), new, base)
    if is_believable(solution.elbo, solution.data) and not is_believable(elbo, solution.data):
        return solution
    return replace(solution, mixture=new, elbo=elbo)


def closer(
    rng: np.random.Generator, old: Mixture, n_components: int, log_weights: LogWeights
) -> Mixture | None:
    """A mixture closer to the density that gives draws such weights; None if there is none."""
    new = old
    for _ in range(ROUNDS):
        proposal = wider(new)
        x = mixture_draws(rng, N_DRAWS, proposal)
        weights = truncated_weights(log_weights(x, proposal.log_density(x)))
        if weights.max() > LARGEST_SHARE:
            return None
        new = grown(rng, new, x, weights, n_components)
        for _ in range(STEPS):
            new = likelier(new, x, weights)
    return new if _is_closer(rng, new, old, log_weights) else None


def claimed(gp: GaussianProcess, x: FloatArray, log_q: FloatArray) -> FloatArray:
    """f̄ - log q at points (n, D), (n,)."""
    return np.asarray(gp.weights @ gp.predict_mean(x) - log_q)


def surely_claimed(
    gp: GaussianProcess, log_z: float, x: FloatArray, log_q: FloatArray
) -> FloatArray:
    """f̄ - log q, (n,), but what is above log Z counts as three of the surrogate's SDs less."""
    mean, variance = gp.pooled(x)
    above = mean - log_q - log_z
    less = np.maximum(above - CAUTION * np.sqrt(variance), 0.0)
    return np.where(above > 0, less, above)


def wider(mixture: Mixture) -> Mixture:
    """The mixture to draw from: a part of it is wider, so that there are draws in the tails."""
    return Mixture(
        np.concatenate([(1 - WIDER_SHARE) * mixture.weights, WIDER_SHARE * mixture.weights]),
        np.concatenate([mixture.means, mixture.means]),
        np.concatenate([mixture.scales, WIDER * mixture.scales]),
        mixture.lengths,
    )


def truncated_weights(logs: FloatArray) -> FloatArray:
    """Weights (n,) of draws from their ``logs``: none above √n times the mean; their sum is 1.

    >>> truncated_weights(np.log([1.0, 1.0, 1.0, 97.0])).round(3)
    array([0.019, 0.019, 0.019, 0.943])
    """
    weights = np.exp(logs - logs.max())
    weights = np.minimum(weights, np.sqrt(len(weights)) * weights.mean())
    return weights / weights.sum()


def grown(
    rng: np.random.Generator, mixture: Mixture, x: FloatArray, weights: FloatArray, size: int
) -> Mixture:
    """The mixture with ``size`` components, new ones at draws ``x`` (n, D) by their ``weights``."""
    n_new = size - mixture.n_components
    if n_new <= 0:
        return mixture
    places = x[rng.choice(len(x), n_new, replace=False, p=weights)]
    nearest = mixture.responsibilities(places).argmax(axis=1)
    return Mixture(
        np.append((1 - NEW_SHARE) * mixture.weights, np.full(n_new, NEW_SHARE / n_new)),
        np.concatenate([mixture.means, places]),
        np.append(mixture.scales, NEW_SCALE * mixture.scales[nearest]),
        mixture.lengths,
    )


def likelier(mixture: Mixture, x: FloatArray, weights: FloatArray) -> Mixture:
    """One step of expectation maximisation for draws ``x`` (n, D) with ``weights`` (n,) of sum 1.

    >>> x = np.array([[-1.0], [1.0], [3.0]])
    >>> step = likelier(Mixture([1.0], [[0.0]], [1.0], [1.0]), x, np.full(3, 1 / 3))
    >>> step.mean()
    array([1.])
    """
    shares = mixture.responsibilities(x) * weights[:, None]
    masses = shares.sum(axis=0)
    masses /= masses.sum()
    centre = mixture.mean()
    deviations = x - centre
    means = mixture.means.copy()
    seen = masses > np.finfo(float).tiny
    means[seen] = centre + (shares.T @ deviations)[seen] / masses[seen, None]
    squares = shares.T @ deviations**2 - masses[:, None] * (means - centre) ** 2
    squares = np.maximum(squares, 0.0)
    prior = DRAWS_OF_SCALE / len(x)
    within = (squares / mixture.lengths**2).mean(axis=1)
    scales = np.sqrt((within + prior * mixture.scales**2) / (masses + prior))
    # The prior is of the widths as they were, so it counts here too.
    prior_squares = prior * (mixture.scales / scales) ** 2
    lengths = np.sqrt(
        ((squares / scales[:, None] ** 2).sum(axis=0) + prior_squares.sum() * mixture.lengths**2)
        / (1.0 + prior * mixture.n_components)
    )
    return Mixture(masses, means, scales, lengths)


def _change(old: Mixture, new: Mixture) -> float:
    """The gsKL between two mixtures."""
    return gaussian_skl(old.mean(), old.covariance(), new.mean(), new.covariance())


def _is_closer(
    rng: np.random.Generator, new: Mixture, old: Mixture, log_weights: LogWeights
) -> bool:
    """Whether E_p[log q] is larger for the new mixture, on fresh draws from both."""
    x = np.concatenate([mixture_draws(rng, N_DRAWS // 2, q) for q in (new, old)])
    logs = np.array([new.log_density(x), old.log_density(x)])
    weights = truncated_weights(log_weights(x, np.logaddexp(*logs) - np.log(2.0)))
    return float(weights @ (logs[0] - logs[1])) > 0.0
