"""The expected log evidence under the surrogate.

The ELBO is the log evidence of the surrogate's mean f̄, less the divergence of q from it,

    ELBO = E_q[f̄(x) - log q(x)] = log Z(f̄) - KL(q || p),   Z(f) = ∫ exp f(x) dx,  p = exp f̄ / Z(f̄),

which a mixture leaves positive where the posterior has heavy tails or sharp edges. With draws x_i
from q and weights W_i = exp(f̄(x_i)) / q(x_i), Z(f̄) is the mean of the weights, without that loss.

The surrogate does not say that f is f̄, but that f is Gaussian around f̄_s with covariance C_s under
each of its hyperparameter samples s. log Z is convex in f, so its expectation is larger than
log Z(f̄), to second order by the average over s of

    T_s = ½ (E_p[D_s(x, x)] - E_p E_p[D_s(x, x')]),   D_s = C_s + (f̄_s - f̄)(f̄_s - f̄)' :

half of the variance at a point that is not common to all points. But C_s is as large as the
hyperparameters say, and under noise these may say what nobody has seen: departures from the
mean function that are smaller than the noise, or too short to be in two values at once. They are
counted as far as the data bear them out. If they had ρ times the variance that the sample
says, y - m would have the covariance ρ K + Σ; one step of Fisher's scoring from ρ = 1, the
mean function's 2D + 1 terms projected out (restricted likelihood), finds ρ with an error of

    ρ̂ = 1 + (rᵀ P K P r - tr(P K)) / tr(P K P K),   Var ρ̂ ≈ 2 / tr(P K P K),
    P = A - A H (Hᵀ A H)⁻¹ Hᵀ A,   A = (K + Σ)⁻¹,   r = y - m(X),   H = (1, x, x²) at X.

What is counted is κ_s T_s, κ_s = ρ̂ / (1 + Var ρ̂) within 0 and 1: nearly all of T_s where the
data see the departures, nothing where they could not. The whole of T is part of the SD. How this
was chosen, and what it leaves, is in docs/experiments/evidence.md.

Where the density is known to be zero (`quell.vbmc.support`), and between integers, there is no
evidence: draws are from the rest, with the density that q has if it is normalised there.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from quell.acquisition.draws import mixture_draws
from quell.arrays import FloatArray
from quell.gp import GaussianProcess
from quell.gp.model import mean_function, noise_variance
from quell.gp.pooling import between_divisor
from quell.mixture import Mixture
from quell.variational import Elbo
from quell.vbmc.edge_looks import doubt_of
from quell.vbmc.state import Solution

Method = Literal["elbo", "corrected elbo", "importance sampling"]

#: Draws; and as many where one of these has too much of the weight.
N_DRAWS, MORE_DRAWS = 4096, 16384
#: No draw may carry more than this share of all weight: beyond it the mean has no known error.
LARGEST_SHARE = 0.02
#: Surrogates promise mass where they have no data; more than this many nats is not believed,
#: neither of the convexity nor of weights on places that they know less well than the others.
LARGEST_CORRECTION = 1.0


@dataclass(frozen=True)
class Evidence:
    """The log evidence with the SD of its error, and how it was estimated.

    ``of_mean`` is log Z(f̄), or the ELBO in its place; ``convexity`` the average of T_s. ``bound``
    is the largest ELBO that a mixture was found to have.
    """

    value: float
    sd: float
    method: Method
    of_mean: float
    convexity: float
    bound: Elbo


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws x (n, D) of a posterior on part of a mixture's space, and its log density there (n,).

    It has the mixture's density, divided by what the mixture has there: the ``share`` in its
    support, of e^``log_mass`` on whole numbers.
    """

    x: FloatArray
    log_density: FloatArray
    log_mass: float
    share: float = 1.0


def evidence(
    rng: np.random.Generator,
    solution: Solution,
    *,
    importance: bool,
    bound: Elbo | None = None,
    draws: Draws | None = None,
) -> Evidence:
    """The expected log evidence of a solution, or with ``importance=False`` its ELBO.

    ``bound`` is the ELBO of another mixture for the same surrogate, if that is larger: one that
    covers the surrogate's posterior, as is best for draws, may have an ELBO far below (see
    `quell.vbmc.cover`). Where the weights are too uneven to be trusted, the larger ELBO takes the
    place of log Z(f̄), and what the weights would have added is part of the SD. Otherwise the SD
    holds that of the ELBO, which is the surrogate's uncertainty, that of the mean over the draws,
    and the convexity as the surrogate says it is, borne out or not.
    ``draws`` are given where the posterior is another than the mixture, in its support; the ELBO of
    the solution is then theirs.
    """
    elbo = solution.elbo
    if bound is None or bound.value < elbo.value:
        bound = elbo
    if not importance:
        return Evidence(bound.value, bound.sd, "elbo", bound.value, 0.0, bound)
    if draws is not None and not len(draws.x):
        return Evidence(np.nan, np.nan, "elbo", np.nan, np.nan, bound)
    gp, mixture = solution.surrogate(), solution.mixture
    seen = _weighted(gp, draws or _drawn(rng, mixture, N_DRAWS))
    if seen.weights.max() >= LARGEST_SHARE and draws is None:
        seen = _weighted(gp, _drawn(rng, mixture, MORE_DRAWS))
    weights, log_weights, n = seen.weights, seen.log_weights, len(seen.weights)
    of_mean = elbo.value
    # Not against the ELBO itself, whose entropy is an average over other draws.
    log_mean = float(log_weights.max() - np.log(weights.max() * n))
    gain = log_mean - float(log_weights.mean())
    # What the weights add to the larger of the two bounds is what has to be believed.
    correction = gain - (bound.value - elbo.value)
    variance = gp.weights @ seen.variances
    known = bool(weights @ variance <= variance.mean())
    if weights.max() < LARGEST_SHARE and (known or correction < LARGEST_CORRECTION):
        spread = float(np.std(weights, ddof=1) / np.mean(weights))
        method: Method = "importance sampling"
        error = spread / np.sqrt(n)
    else:
        weights = np.full(n, 1 / n)
        method = "corrected elbo"
        gain, error = bound.value - elbo.value, max(0.0, correction)
    of_mean += gain
    value = of_mean
    by_sample = _convexity(solution, gp, seen.means, seen.variances, weights)
    convexity = float(gp.weights @ by_sample)
    if convexity < LARGEST_CORRECTION:
        value += float(gp.weights @ (_borne_out(gp) * by_sample))
    error = float(np.hypot(error, 0.0 if draws is None else doubt_of(solution, draws.x)))
    sd = float(np.sqrt(elbo.sd**2 + error**2 + min(convexity, LARGEST_CORRECTION) ** 2))
    return Evidence(value, sd, method, of_mean, convexity, bound)


@dataclass(frozen=True, eq=False)
class _Weighted:
    """Moments (S, n) of the surrogate at n draws, and their weights: logs, and of sum one."""

    means: FloatArray
    variances: FloatArray
    log_weights: FloatArray
    weights: FloatArray


def _drawn(rng: np.random.Generator, mixture: Mixture, n: int) -> Draws:
    x = mixture_draws(rng, n, mixture)
    return Draws(x, mixture.log_density(x), 0.0)


def _weighted(gp: GaussianProcess, draws: Draws) -> _Weighted:
    means, variances = gp.predict(draws.x)
    log_weights = gp.weights @ means - draws.log_density
    weights = np.exp(log_weights - log_weights.max())
    return _Weighted(means, variances, log_weights, weights / weights.sum())


def _convexity(
    solution: Solution,
    gp: GaussianProcess,
    means: FloatArray,
    variances: FloatArray,
    weights: FloatArray,
) -> FloatArray:
    """T_s of the hyperparameter samples, (S,), from moments (S, n) at draws with weights (n,).

    The variance common to all points as under q, where it is known in closed form.
    """
    integral = solution.elbo.expected_log_joint
    apart = (means - gp.weights @ means) ** 2 @ weights
    apart -= (integral.sample_means - integral.mean) ** 2
    if gp.n_samples > 1:
        apart /= between_divisor(gp.weights)
    return np.maximum(0.5 * (variances @ weights - integral.sample_variances + apart), 0.0)


def _borne_out(gp: GaussianProcess) -> FloatArray:
    """κ_s: how much of the variance that each sample says f has about m the data bear out, (S,).

    With K + Σ = L Lᵀ all is a matter of M = L⁻¹ K L⁻ᵀ and L⁻¹ r, with L⁻¹ H projected out of both.
    """
    data = gp.data
    x = (data.x - data.x.mean(axis=0)) / np.maximum(data.x.std(axis=0), np.finfo(float).tiny)
    terms = np.column_stack([np.ones(len(x)), x, x**2])
    shares = np.zeros(gp.n_samples)
    for s in range(gp.n_samples):
        hyper = gp.samples[s]
        noise = gp.whiten(s, np.diag(np.sqrt(noise_variance(hyper, data.variance))))
        directions = np.linalg.qr(gp.whiten(s, terms))[0]
        signal = np.eye(len(x)) - noise @ noise.T
        signal -= directions @ (directions.T @ signal)
        residual = gp.whiten(s, data.rest - mean_function(hyper, data.x))
        residual = residual - directions @ (directions.T @ residual)
        information = float(np.sum(signal * signal.T))
        score = float(residual @ signal @ residual - np.trace(signal))
        # ρ̂ / (1 + Var ρ̂), without a division by an information of zero.
        shares[s] = (information + score) / (information + 2.0)
    return np.clip(shares, 0.0, 1.0)
