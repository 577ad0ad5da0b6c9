"""The law of inverse binomial sampling (IBS), and draws from it for known probabilities.

Van Opheusden, Acerbi & Ma (2020). A trial whose observed response has probability p is simulated
until the simulated response equals the observed one; K ≥ 1 counts the draws, so K is geometric.
One repeat estimates log p without bias, and its own variance too:

    l = −Σ_{j=1}^{K−1} 1/j      E[l] = log p
    v =  Σ_{j=1}^{K−1} 1/j²     E[v] = Var[l]

Both depend on the number of *misses* m = K − 1 alone. R repeats are averaged: the value of a data
set is Σ_i (1/R) Σ_r l_ir, and its variance Σ_i (1/R²) Σ_r v_ir.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quell.arrays import FloatArray
from quell.checks import as_floats, generator, integer

IntArray = NDArray[np.int64]

#: Misses whose sums are looked up; beyond them the asymptotic series is as good.
_TABLE = 64
_H1 = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, _TABLE))])
_H2 = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, _TABLE) ** 2)])
_H2_LIMIT = np.pi**2 / 6

#: Up to this many repeats are drawn one by one: that is fast enough.
_FEW = 5000
#: Repeats drawn one by one at a time, which bounds the memory.
_CHUNK = 1 << 17
#: Below this log p (p < 1e-15) there are so many misses that only their logarithm matters.
_RARE = -35.0
#: A log p above 0 by no more than this is taken as 0: rounding error.
_ROUNDING = 1e-9


def harmonic_sums(misses: NDArray[np.floating] | IntArray) -> tuple[FloatArray, FloatArray]:
    """Σ_{j≤m} 1/j and Σ_{j≤m} 1/j² for whole numbers m ≥ 0, of any shape.

    >>> harmonic_sums(np.array([0, 1, 2]))
    (array([0. , 1. , 1.5]), array([0.  , 1.  , 1.25]))
    """
    large = misses >= _TABLE
    if large.all():
        return _asymptotic_sums(misses.astype(np.float64))
    small = np.where(large, 0, misses).astype(np.intp)
    first, second = _H1[small], _H2[small]
    if large.any():
        first[large], second[large] = _asymptotic_sums(misses[large].astype(np.float64))
    return first, second


def _asymptotic_sums(m: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The two sums for m ≥ 64 (Euler–Maclaurin; errors below 1e-12)."""
    x = 1.0 / m
    square = x * x
    first = np.log(m) + np.euler_gamma + 0.5 * x - square * (1 / 12 - square / 120)
    second = _H2_LIMIT - x + 0.5 * square - x * square * (1 / 6 - square / 30)
    return first, second


def sd_or_one_miss(variance: float, repeats: float, weight: float = 1.0) -> float:
    """The square root of a variance; where it is 0, the SD that one miss would have given.

    Without a single miss the estimated variance is 0, although no more is known than that misses
    are rare; an SD of 0 would claim an exact value.
    """
    return float(np.sqrt(variance)) if variance > 0 else weight / repeats


def ibs_from_log_probabilities(
    log_p: ArrayLike, *, repeats: int, rng: np.random.Generator, counts: ArrayLike | None = None
) -> tuple[float, float]:
    """An IBS estimate Σ_i counts_i log p_i, and the SD it reports, without simulating responses.

    (value, SD) has the same distribution as that of :func:`quell.likelihoods.ibs` without a cap:
    for tests, and for studies of models whose trial probabilities are known.

    Parameters
    ----------
    log_p
        (n,) log-probabilities of the observed responses. Where one is −inf (with a positive
        count) a simulator would never hit: the value is −inf, with a finite SD.
    repeats
        R, repeats per trial.
    rng
        Where the noise comes from.
    counts
        (n,) number of trials with each probability; one each by default.

    Returns
    -------
    The value, and its SD.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> log_p, counts = np.log([0.5, 0.9]), [60, 40]
    >>> value, sd = ibs_from_log_probabilities(log_p, repeats=100, rng=rng, counts=counts)
    >>> bool(abs(value - counts @ log_p) < 3 * sd)
    True
    """
    log_p = _log_probabilities(log_p)
    repeats = integer("repeats", repeats, least=1)
    rng = generator(rng)
    trials = _counts(counts, len(log_p))
    log_p, trials = log_p[trials > 0], trials[trials > 0]
    first, second = _total(log_p, trials * repeats, rng)
    return 0.0 - first / repeats, sd_or_one_miss(second / repeats**2, repeats)


def _total(log_p: FloatArray, n: IntArray, rng: np.random.Generator) -> tuple[float, float]:
    """Sums of Σ 1/j and Σ 1/j² over n_i geometric variates for each probability.

    Σ_r Σ_{j≤m_r} 1/j = Σ_j N_j/j, where N_j, the number of repeats with at least j misses, is
    binomial given N_{j−1}: one draw stands for all repeats of a trial. When a level ends less
    than half a repeat per trial, or few are left, those are drawn one by one: a geometric variate
    has no memory.
    """
    first = second = 0.0
    miss, level, hits = -np.expm1(log_p), 0, n.sum()
    while n.sum() > _FEW and hits > len(n) / 2:
        level, hits = level + 1, n.sum()
        n = rng.binomial(n, miss)
        hits -= n.sum()
        log_p, miss, n = log_p[n > 0], miss[n > 0], n[n > 0]
        first += n.sum() / level
        second += n.sum() / level**2
    ends = np.cumsum(n)
    for start in range(0, int(n.sum()), _CHUNK):
        sizes = np.minimum(ends, start + _CHUNK) - np.maximum(ends - n, start)
        more = _tail(log_p[sizes > 0], sizes[sizes > 0], level, rng)
        first, second = first + more[0], second + more[1]
    return float(first), float(second)


def _tail(
    log_p: FloatArray, n: IntArray, level: int, rng: np.random.Generator
) -> tuple[float, float]:
    """What misses after the first ``level`` add to the two sums, over n_i repeats for each p."""
    p = np.exp(log_p)
    rare, sure = log_p < _RARE, p == 1.0
    some = ~(rare | sure)
    # ⌊E/λ⌋ with P(miss) = exp(−λ) is geometric.
    scale = -1.0 / np.log1p(-p[some])
    misses = np.floor(rng.standard_exponential(n[some].sum()) * np.repeat(scale, n[some]))
    first, second = harmonic_sums(level + misses)
    log_misses = np.log(rng.standard_exponential(n[rare].sum())) - np.repeat(log_p[rare], n[rare])
    total = first.sum() + np.sum(log_misses + np.euler_gamma)
    squares = second.sum() + _H2_LIMIT * len(log_misses)
    before_first, before_second = (sums[0] for sums in harmonic_sums(np.array([level])))
    missed = n[~sure].sum()
    return total - missed * before_first, squares - missed * before_second


def _log_probabilities(log_p: ArrayLike) -> FloatArray:
    array = as_floats("log_p", log_p)
    if array.ndim != 1:
        raise ValueError(f"log_p must have shape (n,), got {array.shape}")
    bad = ~(array <= _ROUNDING)
    if bad.any():
        index = int(np.argmax(bad))
        raise ValueError(
            f"log_p[{index}] must be the logarithm of a probability (at most 0), got "
            f"{array[index]:g}"
        )
    return np.minimum(array, 0.0)


def _counts(counts: ArrayLike | None, n: int) -> IntArray:
    if counts is None:
        return np.ones(n, dtype=np.int64)
    array = as_floats("counts", counts)
    if array.shape != (n,):
        raise ValueError(f"counts must have shape ({n},), like log_p, got {array.shape}")
    if not np.all((array >= 0) & (array == np.floor(array)) & (array < 2**53)):
        raise ValueError("counts must be whole numbers, 0 or more")
    return array.astype(np.int64)
