"""The expected log evidence under the surrogate.

The ELBO is the log evidence of the surrogate's mean f̄, less the divergence of q from it,

    ELBO = E_q[f̄(x) - log q(x)] = log Z(f̄) - KL(q || p),   Z(f) = ∫ exp f(x) dx,  p = exp f̄ / Z(f̄),

which a mixture leaves positive where the posterior has heavy tails or sharp edges. With draws x_i
from q and weights W_i = exp(f̄(x_i)) / q(x_i), Z(f̄) is the mean of the weights, without that loss.

The surrogate does not say that f is f̄, but that f is Gaussian around f̄_s with covariance C_s under
each of its hyperparameter samples s. log Z is convex in f, so its expectation is larger than
log Z(f̄), to second order by the average over s of

    T_s = ½ (E_p[D_s(x, x)] - E_p E_p[D_s(x, x')]),   D_s = C_s + (f̄_s - f̄)(f̄_s - f̄)' :

half of the variance at a point that is not common to all points. The first of the two means can be
ruled by a few draws in ten thousand, far out, where the surrogate knows f to ten nats: what log Z
may gain at a place has no limit, however little is there. What it may lose has one. So the mean is
replaced by what log Z loses if f is lower by half of its variance, which is the same to second
order, and to all orders where the variance is the same everywhere, but for no place more than all
of what is there:

    T_s = log Z(f̄) - log Z(f̄ - ½ D_s) - ½ E_p E_p[D_s(x, x')].

C_s is as large as the hyperparameters say, and under noise these may say what nobody has seen:
departures from the mean function that are smaller than the noise, or too short to be in two values
at once. They are counted as far as the data bear them out. If they had ρ times the variance that
the sample says, y - m would have the covariance ρ K + Σ; one step of Fisher's scoring from ρ = 1,
the terms 1, x, x² of the mean function projected out (restricted likelihood), finds ρ with an error
of

    ρ̂ = 1 + (rᵀ P K P r - tr(P K)) / tr(P K P K),   Var ρ̂ ≈ 2 / tr(P K P K),
    P = A - A H (Hᵀ A H)⁻¹ Hᵀ A,   A = (K + Σ)⁻¹,   r = y - m(X),   H = (1, x, x²) at X.

What is counted is κ_s T_s, κ_s = ρ̂ / (1 + Var ρ̂) within 0 and 1: nearly all of T_s where the
data see the departures, nothing where they could not. The SD holds the whole of it, by the mean
itself where that is larger, no draw counting for more than 1/√n; beyond one nat nothing is added.
How this was chosen, and what it leaves, is in docs/experiments/evidence.md.

f̄ may be high itself at such a place, so that one draw has most of the weight. With the weights
V_i = exp(f̄(x_i) - ½ D(x_i)) / q(x_i), D being the average of D_s(x, x), it has next to none, and

    log Z(f̄ - ½ D) + ½ E_v[D] ≤ log Z(f̄),   v = exp(f̄ - ½ D) / Z(f̄ - ½ D),

as log Z is convex along the line from f̄ - ½ D to f̄. The ELBO is another bound from below; the
larger one is taken.

Where the density is known to be zero (`quell.vbmc.support`), and between integers, there is no
evidence: draws are from the rest, with the density that q has if it is normalised there.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import logsumexp

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
    `quell.vbmc.cover`). Where the weights are too uneven to be trusted, log Z(f̄) is bounded from
    below, by weights that count a place as far as the surrogate knows it, or by the larger ELBO,
    and what the weights would have added is part of the SD, no draw counting for more than 1/√n of
    all. Otherwise the SD holds that of the ELBO, which is the surrogate's uncertainty, that of the
    mean over the draws, and the convexity as the surrogate says it is, borne out or not.
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
    if not seen.even and draws is None:
        seen = _weighted(gp, _drawn(rng, mixture, MORE_DRAWS))
    of_mean, error, weights, method = _of_mean(gp, seen, elbo.value, bound.value)
    value = of_mean
    by_sample = _convexity(solution, seen.departures, weights)
    convexity = float(gp.weights @ by_sample)
    said = max(convexity, _second_order(solution, seen.departures, weights))
    if said < LARGEST_CORRECTION:
        value += float(gp.weights @ (_borne_out(gp) * by_sample))
    error = float(np.hypot(error, 0.0 if draws is None else doubt_of(solution, draws.x)))
    sd = float(np.sqrt(elbo.sd**2 + error**2 + min(said, LARGEST_CORRECTION) ** 2))
    return Evidence(value, sd, method, of_mean, convexity, bound)


@dataclass(frozen=True, eq=False)
class _Weighted:
    """D_s(x, x) (S, n) at n draws, the surrogate's variance (n,); weights: logs, and of sum one."""

    departures: FloatArray
    variance: FloatArray
    log_weights: FloatArray
    weights: FloatArray

    def lowered(self, by: FloatArray) -> "_Weighted":
        """The same draws with the weights that they have if f̄ is lower, (n,)."""
        logs = self.log_weights - by
        return replace(self, log_weights=logs, weights=_shares(logs))

    @property
    def even(self) -> bool:
        """Whether no draw has too much of the weight."""
        return bool(self.weights.max() < LARGEST_SHARE)

    def may_add(self, correction: float) -> bool:
        """Whether so many nats are few, or on places that are known as well as the others."""
        known = bool(self.weights @ self.variance <= self.variance.mean())
        return known or correction < LARGEST_CORRECTION

    def error(self) -> float:
        """SD of the log of the weights' mean."""
        n = len(self.weights)
        return float(np.std(self.weights, ddof=1) * np.sqrt(n))


def _drawn(rng: np.random.Generator, mixture: Mixture, n: int) -> Draws:
    x = mixture_draws(rng, n, mixture)
    return Draws(x, mixture.log_density(x), 0.0)


def _weighted(gp: GaussianProcess, draws: Draws) -> _Weighted:
    means, variances = gp.predict(draws.x)
    mean = gp.weights @ means
    logs = mean - draws.log_density
    departures = variances + _apart(means - mean, gp.weights)
    return _Weighted(departures, gp.weights @ variances, logs, _shares(logs))


def _apart(differences: FloatArray, weights: FloatArray) -> FloatArray:
    """What each sample, by its difference from the mean (S, ...), adds to the variance."""
    squares = differences**2
    return squares / between_divisor(weights) if len(weights) > 1 else squares


def _shares(log_weights: FloatArray) -> FloatArray:
    weights = np.exp(log_weights - log_weights.max())
    return np.asarray(weights / weights.sum())


def _log_mean(logs: FloatArray) -> float:
    return float(logsumexp(logs) - np.log(len(logs)))


def _of_mean(
    gp: GaussianProcess, seen: _Weighted, elbo: float, bound: float
) -> tuple[float, float, FloatArray, Method]:
    """log Z(f̄) with the SD of its error, the weights (n,) of draws that it rests on, and how."""
    logs, n = seen.log_weights, len(seen.weights)
    # What the draws say is a gain on their own ELBO; the other's entropy is of other draws.
    start = elbo - float(logs.mean())
    of_all = start + _log_mean(logs)
    # What the weights add to the larger of the two bounds is what has to be believed.
    if seen.even and seen.may_add(of_all - bound):
        return of_all, seen.error(), seen.weights, "importance sampling"
    departure = gp.weights @ seen.departures
    known = seen.lowered(0.5 * departure)
    of_known = start + _log_mean(known.log_weights) + 0.5 * float(known.weights @ departure)
    claim = max(of_known, start + _log_mean(truncated(logs)))
    if of_known > bound and known.even and seen.may_add(of_known - bound):
        error = float(np.hypot(known.error(), max(0.0, claim - of_known)))
        return of_known, error, known.weights, "importance sampling"
    return bound, max(0.0, claim - bound), np.full(n, 1 / n), "corrected elbo"


def truncated(logs: FloatArray) -> FloatArray:
    """Logs (n,) of weights, cut so that no weight is more than 1/√n of the sum of all that is left.

    Cutting at √n times the mean (Ionides 2008) until it does not change: a single weight, however
    large, then changes the mean by this share only.

    >>> weights = np.exp(truncated(np.log([1.0, 1.0, 1.0, 1e9])))
    >>> weights.round(3), bool(weights.max() <= weights.sum() / 2 + 1e-9)
    (array([1., 1., 1., 3.]), True)
    """
    # With the m largest cut to c, √n c = m c + the sum of the others: the first m < √n that fits.
    ascending, root = np.sort(logs), np.sqrt(len(logs))
    m = np.arange(int(np.ceil(root)))
    others = np.logaddexp.accumulate(ascending)[::-1][m]
    limits = others - np.log(root - m)
    return np.minimum(logs, limits[np.argmax(ascending[::-1][m] <= limits)])


def _convexity(solution: Solution, departures: FloatArray, weights: FloatArray) -> FloatArray:
    """T_s of the hyperparameter samples, (S,), from D_s (S, n) at draws with weights (n,).

    The variance common to all points as under q, where it is known in closed form.
    """
    lost = -logsumexp(-0.5 * departures, b=weights, axis=1)
    return np.maximum(lost - 0.5 * _common(solution), 0.0)


def _second_order(solution: Solution, departures: FloatArray, weights: FloatArray) -> float:
    """½ (E_p[D] - E_p E_p[D]) of all samples, no draw counting for more than 1/√n of the first."""
    terms = np.maximum(weights * (solution.weights @ departures), np.finfo(float).tiny)
    mean = np.exp(truncated(np.log(terms))).sum()
    return float(0.5 * (mean - solution.weights @ _common(solution)))


def _common(solution: Solution) -> FloatArray:
    """E_q E_q[D_s(x, x')], (S,)."""
    integral = solution.elbo.expected_log_joint
    apart = _apart(integral.sample_means - integral.mean, solution.weights)
    return np.asarray(apart + integral.sample_variances)


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
