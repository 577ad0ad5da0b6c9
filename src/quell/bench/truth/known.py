"""The truth about a posterior, and the densities its marginals are compared by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from quell.arrays import FloatArray
from quell.bench.density import Density, density_from_draws, density_of_logs, density_on_box

Sampler = Callable[[int, np.random.Generator], FloatArray]

#: Draws from the truth behind the marginals of its MMTV, and their seed.
TRUTH_DRAWS, TRUTH_SEED = 100_000, 20200615


class DensityEstimator(Protocol):
    """Makes a density from draws (n,) between two bounds."""

    def __call__(self, draws: FloatArray, *, lower: float, upper: float) -> Density:
        """The estimate."""


@dataclass(frozen=True, eq=False)
class Truth:
    """What is known about a posterior in D dimensions.

    Attributes
    ----------
    log_evidence
        The log evidence that answers are scored against.
    mean, covariance
        The moments of the posterior, (D,) and (D, D).
    marginals
        One density per parameter.
    sample
        ``sample(n, rng)`` draws (n, D); None where there is no sampler.
    log_evidence_checked
        A second, better value where the one in use is known to be less precise; else the same.
    log_evidence_error
        The standard error of ``log_evidence_checked``; 0 where it is known exactly.
    on_box
        Whether the marginals are estimates on a grid from bound to bound, as the original benchmark
        makes them.
    in_logs
        Whether marginals are compared as those of the parameters' logs. The distance is the same,
        but estimates from draws are not: no grid is fine enough for the peak and long enough for
        the tail of a density over several decades.

    Examples
    --------
    >>> from quell.bench import load
    >>> truth = load("normal", dim=2).truth
    >>> truth.log_evidence, truth.covariance.diagonal()
    (0.0, array([1., 4.]))
    >>> first, _ = truth.marginals
    >>> float(first([0.0]).round(3)[0])
    0.399
    """

    log_evidence: float
    mean: FloatArray
    covariance: FloatArray
    marginals: tuple[Density, ...]
    sample: Sampler | None = None
    log_evidence_checked: float = np.nan
    log_evidence_error: float = 0.0
    on_box: bool = False
    in_logs: bool = False

    def __post_init__(self) -> None:
        if np.isnan(self.log_evidence_checked):
            object.__setattr__(self, "log_evidence_checked", self.log_evidence)

    @property
    def estimator(self) -> DensityEstimator:
        """Makes, from draws, densities that can be compared with the reference."""
        if self.on_box:
            return density_on_box
        return density_of_logs if self.in_logs else density_from_draws

    @cached_property
    def reference(self) -> tuple[Density, ...]:
        """The marginals MMTV compares with.

        Estimated from draws like those of the posterior under test, so that both have the same
        smoothing; the marginals themselves where there is no sampler.
        """
        if self.sample is None:
            return self.marginals
        draws = self.sample(TRUTH_DRAWS, np.random.default_rng(TRUTH_SEED))
        if self.in_logs:
            return tuple(density_of_logs(column) for column in draws.T)
        return tuple(density_from_draws(column) for column in draws.T)
