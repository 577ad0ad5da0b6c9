"""Priors that are flat between two values, and end at once, linearly, or like a normal density."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from quell.arrays import FloatArray
from quell.checks import number
from quell.priors.distribution import ReadyPrior

ROOT_2PI = float(np.sqrt(2 * np.pi))


def box(a: float, b: float) -> ReadyPrior:
    """The uniform prior between ``a`` and ``b``.

    Parameters
    ----------
    a, b
        Its two ends, ``a`` below ``b``.

    Examples
    --------
    >>> float(box(2, 6).pdf(3.0)), float(box(2, 6).cdf(3.0))
    (0.25, 0.25)
    """
    a, b = _increasing(box, a=a, b=b)
    return Trapezoid((a, a, b, b), f"box({a:.12g}, {b:.12g})")


def trapezoid(a: float, u: float, v: float, b: float) -> ReadyPrior:
    """Flat between ``u`` and ``v``, and falling linearly to zero at ``a`` and ``b``.

    For a parameter that is known to be between ``a`` and ``b`` and probably between ``u`` and
    ``v``: nothing sharp in between for the posterior to lean on.

    Parameters
    ----------
    a, u, v, b
        The corners, in this order; ``u`` = ``v`` is a triangle.

    Examples
    --------
    >>> prior = trapezoid(0, 1, 3, 4)
    >>> prior.pdf([0.5, 2.0, 4.5]).round(3)
    array([0.167, 0.333, 0.   ])
    >>> prior.support()
    (0.0, 4.0)
    """
    corners = _increasing(trapezoid, a=a, u=u, v=v, b=b)
    return Trapezoid(corners, f"trapezoid({', '.join(f'{c:.12g}' for c in corners)})")


def smooth_box(a: float, b: float, sd: float) -> ReadyPrior:
    """Flat between ``a`` and ``b``, with tails of a normal density beyond.

    Parameters
    ----------
    a, b
        The ends of the flat part.
    sd
        SD of the normal density whose halves are the tails.

    Examples
    --------
    >>> prior = smooth_box(-1, 1, 0.5)
    >>> prior.pdf([0.0, 1.5]).round(3)
    array([0.307, 0.186])
    >>> prior.support()
    (-inf, inf)
    """
    a, b = _increasing(smooth_box, a=a, b=b)
    sd = number("sd of smooth_box", sd, above=0)
    return SmoothBox(a, b, sd)


def _increasing(kind: object, **ends: float) -> tuple[float, ...]:
    """The ends as floats, once they are known to be finite and in order."""
    name = getattr(kind, "__name__", "")
    values = tuple(number(f"{key} of {name}", value) for key, value in ends.items())
    in_order = all(low <= high for low, high in pairwise(values))
    if not (np.isfinite(values).all() and in_order and values[0] < values[-1]):
        wanted = " <= ".join(ends) if len(ends) > 2 else " < ".join(ends)
        got = ", ".join(f"{value:g}" for value in values)
        raise ValueError(f"{name} needs finite numbers with {wanted}, got {got}")
    return values


@dataclass(frozen=True, repr=False)
class Trapezoid(ReadyPrior):
    """Flat between the inner two of four ``corners``, linear to zero at the outer ones.

    >>> Trapezoid((0.0, 1.0, 1.0, 2.0), "triangle").mean()
    1.0
    """

    corners: tuple[float, ...]
    text: str

    def __repr__(self) -> str:
        return self.text

    @property
    def _height(self) -> float:
        a, u, v, b = self.corners
        return 1.0 / (0.5 * ((b - a) + (v - u)))

    def logpdf(self, x: ArrayLike) -> FloatArray:
        """Log density (...) at points (...)."""
        a, u, v, b = self.corners
        x = np.asarray(x, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            left = np.where(x < u, (x - a) / (u - a) if u > a else 0.0, 1.0)
            right = np.where(x > v, (b - x) / (b - v) if b > v else 0.0, 1.0)
            share = np.where((x < a) | (x > b), 0.0, np.minimum(left, right))
            log = np.log(share) + np.log(self._height)
        return np.where(np.isnan(x), np.nan, log)

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Probability (...) of values up to points (...)."""
        a, u, v, b = self.corners
        x = np.clip(np.asarray(x, dtype=np.float64), a, b)
        rising = 0.5 * np.square(np.minimum(x, u) - a) / (u - a) if u > a else 0.0
        flat = np.clip(x, u, v) - u
        fall = b - v
        falling = 0.5 * (fall - np.square(b - np.maximum(x, v)) / fall) if fall > 0 else 0.0
        return np.minimum(self._height * (rising + flat + falling), 1.0)

    def ppf(self, q: ArrayLike) -> FloatArray:
        """Quantiles (...) of shares (...)."""
        a, u, v, b = self.corners
        q = np.asarray(q, dtype=np.float64)
        q = np.where((q >= 0) & (q <= 1), q, np.nan)
        area = q / self._height
        first, last = 0.5 * (u - a), 0.5 * (b - v)
        beyond = (1.0 - q) / self._height
        with np.errstate(invalid="ignore"):
            low = a + np.sqrt(2 * area * (u - a))
            high = b - np.sqrt(2 * beyond * (b - v))
            middle = np.clip(u + (area - first), u, v)
        return np.where(area < first, low, np.where(beyond < last, high, middle)) + 0.0 * q

    def _parts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Masses, means and variances, (3,) each, of the two shoulders and of what is between."""
        a, u, v, b = self.corners
        masses = self._height * np.array([0.5 * (u - a), v - u, 0.5 * (b - v)])
        means = np.array([a + 2 * (u - a) / 3, 0.5 * u + 0.5 * v, v + (b - v) / 3])
        return masses, means, np.array([(u - a) ** 2 / 18, (v - u) ** 2 / 12, (b - v) ** 2 / 18])

    def mean(self) -> float:
        """Mean."""
        masses, means, _ = self._parts()
        return float(masses @ means)

    def var(self) -> float:
        """Variance."""
        masses, means, variances = self._parts()
        return float(masses @ (variances + (means - self.mean()) ** 2))

    def support(self) -> tuple[float, float]:
        """The outer corners."""
        return self.corners[0], self.corners[-1]


@dataclass(frozen=True, repr=False)
class SmoothBox(ReadyPrior):
    """Flat between ``a`` and ``b``, with the tails of a normal density of this ``sd``.

    >>> SmoothBox(0.0, 2.0, 1.0).mean()
    1.0
    """

    a: float
    b: float
    sd: float

    def __repr__(self) -> str:
        return f"smooth_box({self.a:.12g}, {self.b:.12g}, {self.sd:.12g})"

    @property
    def _height(self) -> float:
        return 1.0 / (self.b - self.a + ROOT_2PI * self.sd)

    def logpdf(self, x: ArrayLike) -> FloatArray:
        """Log density (...) at points (...)."""
        x = np.asarray(x, dtype=np.float64)
        with np.errstate(over="ignore"):
            beyond = np.maximum(np.maximum(self.a - x, x - self.b), 0.0) / self.sd
            return np.log(self._height) - 0.5 * beyond**2

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Probability (...) of values up to points (...)."""
        x = np.asarray(x, dtype=np.float64)
        tail = ROOT_2PI * self.sd
        low = tail * ndtr(np.minimum(x - self.a, 0.0) / self.sd)
        high = tail * (ndtr(np.maximum(x - self.b, 0.0) / self.sd) - 0.5)
        return self._height * (low + np.clip(x, self.a, self.b) - self.a + high)

    def ppf(self, q: ArrayLike) -> FloatArray:
        """Quantiles (...) of shares (...)."""
        q = np.asarray(q, dtype=np.float64)
        q = np.where((q >= 0) & (q <= 1), q, np.nan)
        tail = ROOT_2PI * self.sd * self._height  # of both sides together
        low = self.a + self.sd * ndtri(np.clip(q / tail, 0.0, 0.5))
        high = self.b - self.sd * ndtri(np.clip((1.0 - q) / tail, 0.0, 0.5))
        middle = self.a + (q - 0.5 * tail) / self._height
        return np.where(q < 0.5 * tail, low, np.where(1.0 - q < 0.5 * tail, high, middle))

    def mean(self) -> float:
        """Mean."""
        return 0.5 * self.a + 0.5 * self.b

    def var(self) -> float:
        """Variance."""
        width, sd = self.b - self.a, self.sd
        tails = ROOT_2PI * sd * (0.25 * width**2 + sd**2) + 2 * width * sd**2
        return self._height * (width**3 / 12 + tails)

    def support(self) -> tuple[float, float]:
        """All numbers."""
        return -np.inf, np.inf
