"""Emulated noise: an exact log-likelihood with normal noise of a known SD.

For tests, and for studies of how much noise, or how wrong a reported SD, an inference stands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.checks import generator, number
from quell.likelihoods.checks import function, point


@dataclass(frozen=True, eq=False)
class EmulatedLikelihood:
    """An exact log-likelihood with emulated noise; made, and checked, by :func:`emulated`.

    Parameters
    ----------
    log_likelihood
        The exact log-likelihood, a function of θ (D,).
    sd
        SD of the noise.
    jitter
        SD, on the log scale, of the error in the SD that is reported.

    Examples
    --------
    >>> noisy = emulated(lambda theta: 0.0, sd=2.0, jitter=0.1)
    >>> noisy
    EmulatedLikelihood(sd=2.0, jitter=0.1)
    """

    log_likelihood: Callable[[FloatArray], float] = field(repr=False)
    sd: float
    jitter: float

    def __call__(self, theta: ArrayLike, rng: np.random.Generator) -> tuple[float, float]:
        """A noisy value at θ (D,), and the SD reported with it."""
        theta, rng = point(theta), generator(rng)
        noise, error = rng.standard_normal(2)
        value = number("what log_likelihood returns", self.log_likelihood(theta))
        return value + self.sd * noise, self.sd * float(np.exp(self.jitter * error))


def emulated(
    log_likelihood: Callable[[FloatArray], float], sd: float, *, jitter: float = 0.0
) -> EmulatedLikelihood:
    """A noisy log-likelihood for :class:`quell.Problem` from an exact one.

    The value is ``log_likelihood(theta)`` plus normal noise of standard deviation ``sd``. The SD
    reported with it is ``sd`` times exp(``jitter`` · normal): right on average on the log scale,
    and off by about a factor exp(±``jitter``) each time. A value of −inf stays so.

    Parameters
    ----------
    log_likelihood
        A function of θ (D,) that returns the exact log-likelihood.
    sd
        SD of the noise to add, positive.
    jitter
        How wrong the reported SD is; 0 for always right.

    Returns
    -------
    A function ``log_likelihood(theta, rng)`` that returns (value, SD).

    Examples
    --------
    >>> def log_likelihood(theta):
    ...     return -0.5 * np.sum(theta**2)
    >>> noisy = emulated(log_likelihood, sd=2.0)
    >>> value, sd = noisy([0.0, 1.0], np.random.default_rng(1))
    >>> bool(abs(value + 0.5) < 6), sd
    (True, 2.0)
    """
    function("log_likelihood", log_likelihood, "theta")
    return EmulatedLikelihood(
        log_likelihood, number("sd", sd, above=0), number("jitter", jitter, least=0)
    )
