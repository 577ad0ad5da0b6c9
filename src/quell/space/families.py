"""Distributions whose cdf F maps the real line onto (0, 1), for coordinates between two bounds.

"logit": standard logistic, F(t) = 1/(1 + e⁻ᵗ), the choice of Acerbi (2020, arXiv 2006.08655,
Section 2.1). "probit": standard normal; "soft" is the same, until the edges are made soft
(`quell.space.InferenceSpace.with_softness`). "student": Student-t with 4 degrees of freedom,
F(t) = (1 + s)² (2 − s)/4 with s = t/√(4 + t²); the heavier the tails, the further out in t the
neighbourhood of a bound is mapped.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtr, ndtri

from quell.arrays import FloatArray


@dataclass(frozen=True)
class Family:
    """A symmetric distribution on the real line, written by its lower tail.

    Everything is expressed by the distance r = |t| from the centre and the probabilities
    p ≤ ½ ≤ q = 1 − p on its two sides, so that neither tail suffers from cancellation.

    >>> FAMILIES["logit"].tail(np.array([0.0, 800.0])) > 0
    array([ True, False])
    """

    quantile: Callable[[FloatArray, FloatArray], FloatArray]  # (p, q) -> r
    tail: Callable[[FloatArray], FloatArray]  # r -> p = F(−r)
    log_density: Callable[[FloatArray], FloatArray]  # t -> log F'(t)


def _logistic_quantile(p: FloatArray, q: FloatArray) -> FloatArray:
    return np.log(q) - np.log(p)


def _logistic_tail(r: FloatArray) -> FloatArray:
    return np.asarray(expit(-r))


def _logistic_log_density(t: FloatArray) -> FloatArray:
    r = np.abs(t)
    return -r - 2.0 * np.log1p(np.exp(-r))


def _normal_quantile(p: FloatArray, q: FloatArray) -> FloatArray:  # noqa: ARG001
    return np.asarray(-ndtri(p))


def _normal_tail(r: FloatArray) -> FloatArray:
    return np.asarray(ndtr(-r))


def _normal_log_density(t: FloatArray) -> FloatArray:
    t = np.clip(t, -1e150, 1e150)  # whose square is still finite
    return np.asarray(-0.5 * t * t - 0.5 * np.log(2.0 * np.pi))


def _student_quantile(p: FloatArray, q: FloatArray) -> FloatArray:
    """r = 2 √(cos(φ/3)/a − 1), a = √(4pq), φ = arccos a; the difference as a product of sines."""
    a = 2.0 * np.sqrt(p) * np.sqrt(q)
    phi = np.arctan2(q - p, a)
    return 2.0 * np.sqrt(2.0 * np.sin(2.0 * phi / 3.0) * np.sin(phi / 3.0) / a)


def _student_tail(r: FloatArray) -> FloatArray:
    """F(−r) = (1 − s)² (2 + s)/4 with s = r/√(4 + r²) and 1 − s = (1 − s²)/(1 + s)."""
    hypotenuse = np.hypot(2.0, r)
    s = r / hypotenuse
    one_minus_s = (2.0 / hypotenuse) ** 2 / (1.0 + s)
    return one_minus_s**2 * (2.0 + s) / 4.0


def _student_log_density(t: FloatArray) -> FloatArray:
    return np.asarray(np.log(3.0 / 8.0) - 5.0 * np.log(np.hypot(1.0, 0.5 * t)))


_PROBIT = Family(_normal_quantile, _normal_tail, _normal_log_density)
FAMILIES = {
    "soft": _PROBIT,
    "logit": Family(_logistic_quantile, _logistic_tail, _logistic_log_density),
    "probit": _PROBIT,
    "student": Family(_student_quantile, _student_tail, _student_log_density),
}
