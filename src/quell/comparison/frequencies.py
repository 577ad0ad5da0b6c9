"""How frequent each model is in the population that the subjects come from.

Random-effects model selection: every subject n has one of K models, drawn with frequencies r, and
r has a Dirichlet distribution of concentrations α₀ = 1. Given the log evidences L_nk, q(r) =
Dir(α) and the probability g_nk that subject n has model k follow from each other (Stephan et
al. 2009, NeuroImage 46, Eqs. 10 to 14):

    g_nk ∝ exp(L_nk + ψ(α_k) − ψ(Σ_j α_j)),        α_k = α₀ + Σ_n g_nk.

The exceedance probability of model k is that it is the most frequent, P(r_k > r_j for all j ≠ k)
under q. It takes for granted that the frequencies differ. The Bayesian omnibus risk is the
probability that they do not, from the free energy F₁ of the above and the log evidence F₀ of equal
frequencies, and the protected exceedance probability allows for it (Rigoux et al. 2014, NeuroImage
84, Eqs. 5 to 7):

    F₀ = Σ_n log Σ_k e^{L_nk}/K,     BOR = 1/(1 + e^{F₁ − F₀}),     XP̃_k = XP_k (1 − BOR) + BOR/K.

All functions take S sets of log evidences at once.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import digamma, expit, gammainc, gammaincinv, gammaln, logsumexp

from quell.arrays import FloatArray

CONCENTRATION = 1.0  # α₀: all frequencies are as likely (Stephan et al. 2009)
TOLERANCE = 1e-8  # of the concentrations α
MOST_ITERATIONS = 5000
NODES = 200  # of Gauss-Legendre, for exceedance probabilities


@dataclass(frozen=True, eq=False)
class Frequencies:
    """What S sets of log evidences of N subjects and K models say.

    ``alpha`` (S, K) are the concentrations, ``assignments`` (S, N, K) the probabilities g_nk,
    ``exceedance`` and ``protected`` (S, K), ``omnibus_risk`` (S,).
    """

    alpha: FloatArray
    assignments: FloatArray
    exceedance: FloatArray
    omnibus_risk: FloatArray

    @property
    def expected(self) -> FloatArray:
        """Expected frequencies (S, K)."""
        return np.asarray(self.alpha / self.alpha.sum(axis=1, keepdims=True))

    @property
    def protected(self) -> FloatArray:
        """Protected exceedance probabilities (S, K)."""
        risk = self.omnibus_risk[:, None]
        return np.asarray(self.exceedance * (1 - risk) + risk / self.alpha.shape[1])


def frequencies(log_evidence: FloatArray, concentration: float = CONCENTRATION) -> Frequencies:
    """The frequencies of K models from log evidences (S, N, K); ``concentration`` is α₀.

    >>> found = frequencies(np.array([[[0.0, -9.0]] * 9 + [[-9.0, 0.0]]]))
    >>> found.expected.round(2)
    array([[0.83, 0.17]])
    >>> found.exceedance.round(3), found.omnibus_risk.round(2)
    (array([[0.994, 0.006]]), array([0.1]))
    """
    n_models = log_evidence.shape[2]
    alpha = np.full((len(log_evidence), n_models), concentration)
    for _ in range(MOST_ITERATIONS):
        assignments = _assignments(log_evidence, alpha)
        new = concentration + assignments.sum(axis=1)
        change = float(np.max(np.abs(new - alpha)))
        alpha = new
        if change < TOLERANCE:
            break
    assignments = _assignments(log_evidence, alpha)
    free_energy = _free_energy(log_evidence, alpha, assignments, concentration)
    equal = (logsumexp(log_evidence, axis=2) - np.log(n_models)).sum(axis=1)
    return Frequencies(alpha, assignments, exceedance(alpha), expit(equal - free_energy))


def exceedance(alpha: FloatArray) -> FloatArray:
    """P(r_k > r_j for all j ≠ k) for r ~ Dir(α), by quadrature; α and the result are (S, K).

    r is proportional to independent gamma variables, so this is E[Π_j P(α_j, x)] over x of the
    k-th, with P the regularised incomplete gamma function.

    >>> exceedance(np.array([[2.0, 2.0, 2.0]])).round(6)
    array([[0.333333, 0.333333, 0.333333]])
    """
    u, weight = _nodes()
    out = np.empty_like(alpha)
    for k in range(alpha.shape[1]):
        x = gammaincinv(alpha[:, k, None], u)  # (S, nodes)
        others = np.delete(alpha, k, axis=1)
        out[:, k] = np.prod(gammainc(others[:, :, None], x[:, None, :]), axis=1) @ weight
    return out / out.sum(axis=1, keepdims=True)


def _expected_log(alpha: FloatArray) -> FloatArray:
    """E[log r] (S, K) under Dir(α)."""
    return np.asarray(digamma(alpha) - digamma(alpha.sum(axis=1, keepdims=True)))


def _assignments(log_evidence: FloatArray, alpha: FloatArray) -> FloatArray:
    logits = log_evidence + _expected_log(alpha)[:, None, :]
    return np.asarray(np.exp(logits - logsumexp(logits, axis=2, keepdims=True)))


def _free_energy(
    log_evidence: FloatArray, alpha: FloatArray, assignments: FloatArray, concentration: float
) -> FloatArray:
    """F₁ (S,): the lower bound of the log evidence of unequal frequencies."""
    log_r = _expected_log(alpha)
    before = np.full_like(alpha, concentration)
    terms = np.where(assignments > 0, assignments, 1.0)
    by_subject = assignments * (log_evidence + log_r[:, None, :] - np.log(terms))
    prior = -_log_beta(before) + ((before - 1) * log_r).sum(axis=1)
    entropy = _log_beta(alpha) - ((alpha - 1) * log_r).sum(axis=1)
    return np.asarray(by_subject.sum(axis=(1, 2)) + prior + entropy)


def _log_beta(alpha: FloatArray) -> FloatArray:
    """Log of the Dirichlet distribution's normalising constant, (S,)."""
    return np.asarray(gammaln(alpha).sum(axis=1) - gammaln(alpha.sum(axis=1)))


@cache
def _nodes() -> tuple[FloatArray, FloatArray]:
    node, weight = np.polynomial.legendre.leggauss(NODES)
    return 0.5 * (node + 1), 0.5 * weight
