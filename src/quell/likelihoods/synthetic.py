"""Synthetic likelihood: a noisy log-likelihood from a simulator and summary statistics.

Wood (2010). The estimators are in `quell.likelihoods.summaries`, the SDs of their noise in
`quell.likelihoods.resampling`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.checks import as_floats, choice, flag, generator, integer, number
from quell.likelihoods.checks import function, point
from quell.likelihoods.resampling import (
    SD_METHODS,
    SdMethod,
    bootstrap_sd,
    jackknife_sd,
    least_simulations,
)
from quell.likelihoods.summaries import (
    JITTER,
    Estimator,
    Shrinkage,
    checked_form,
    observed_summaries,
    synthetic_log_likelihood,
)

#: A data set, or with ``vectorised`` n of them, to summaries (d,) or (n, d).
Summary = Callable[[Any], ArrayLike]

#: The SD reported with a value at the floor, as a share of the floor.
FLOOR_SD = 0.1


@dataclass(frozen=True, eq=False)
class SyntheticLikelihood:
    """A noisy log-likelihood by summaries; made, and checked, by :func:`synthetic_likelihood`.

    Parameters
    ----------
    observed
        The observed summaries (d,), not data.
    simulate, summary, n_simulations, vectorised
        The simulator, as explained at :func:`synthetic_likelihood`.
    estimator, shrinkage, sd, n_bootstrap, floor, jitter
        The estimate, as explained there.

    Examples
    --------
    >>> likelihood = synthetic_likelihood(
    ...     lambda theta, rng: rng.normal(theta[0], 1.0, size=2), [0.1, 0.3], n_simulations=50)
    >>> likelihood.summaries([0.0], np.random.default_rng(1)).shape
    (50, 2)
    """

    simulate: Callable[..., Any] = field(repr=False)
    summary: Summary | None = field(repr=False)
    observed: FloatArray = field(repr=False)
    n_simulations: int
    estimator: Estimator
    shrinkage: Shrinkage
    sd: SdMethod
    n_bootstrap: int
    floor: float
    jitter: float
    vectorised: bool

    def __call__(self, theta: ArrayLike, rng: np.random.Generator) -> tuple[float, float]:
        """The estimate at θ (D,), and the SD of its noise."""
        rng = generator(rng)
        summaries = self.summaries(theta, rng)
        value = self._value(summaries)
        if value <= self.floor:
            return self.floor, FLOOR_SD * abs(self.floor)
        form: dict[str, Any] = {
            "estimator": self.estimator,
            "shrinkage": self.shrinkage,
            "jitter": self.jitter,
            "floor": self.floor,
        }
        if self.sd == "jackknife":
            return value, jackknife_sd(summaries, self.observed, **form)
        sd = bootstrap_sd(summaries, self.observed, rng, n_bootstrap=self.n_bootstrap, **form)
        return value, sd

    def value(self, theta: ArrayLike, rng: np.random.Generator) -> float:
        """The estimate at θ (D,) alone, without the cost of its SD."""
        return self._value(self.summaries(theta, rng))

    def summaries(self, theta: ArrayLike, rng: np.random.Generator) -> FloatArray:
        """Summaries (n_simulations, d) of data sets simulated at θ (D,)."""
        theta, rng = point(theta), generator(rng)
        n, d = self.n_simulations, len(self.observed)
        if self.vectorised:
            data = self.simulate(theta, n, rng)
            found = as_floats("the summaries", data if self.summary is None else self.summary(data))
            if found.shape != (n, d):
                raise ValueError(
                    f"the simulator and its summaries must give an array of shape ({n}, {d}), a "
                    f"row for each data set, got {found.shape}"
                )
        else:
            found = np.empty((n, d))
            for row in found:
                data = self.simulate(theta.copy(), rng)
                row[:] = _one_summary(data if self.summary is None else self.summary(data), d)
        bad = ~np.isfinite(found).all(axis=0)
        if bad.any():
            which = int(np.argmax(bad))
            count = np.count_nonzero(~np.isfinite(found[:, which]))
            raise ValueError(
                f"summary {which} is not finite in {count} of {n} simulated data sets (use "
                "summaries that are defined for all data the model can produce)"
            )
        return found

    def _value(self, summaries: FloatArray) -> float:
        value = synthetic_log_likelihood(
            summaries,
            self.observed,
            estimator=self.estimator,
            shrinkage=self.shrinkage,
            jitter=self.jitter,
        )
        return max(value, self.floor)


def synthetic_likelihood(
    simulate: Callable[..., Any],
    observed: Any,
    *,
    summary: Summary | None = None,
    n_simulations: int = 100,
    estimator: Estimator = "plain",
    sd: SdMethod = "jackknife",
    n_bootstrap: int = 2000,
    shrinkage: Shrinkage = None,
    floor: float = -10_000.0,
    jitter: float = JITTER,
    vectorised: bool = False,
) -> SyntheticLikelihood:
    """A log-likelihood for :class:`quell.Problem` from a simulator and summary statistics.

    Data sets are simulated at θ and reduced to d summaries, to which a normal distribution is
    fitted; its density at the observed summaries is the likelihood. The result is called as
    ``log_likelihood(theta, rng)`` and returns (value, SD). Its methods ``summaries`` and ``value``
    return the simulated summaries and the value alone. It can be pickled (sent to other
    processes) if ``simulate`` and ``summary`` can.

    Parameters
    ----------
    simulate
        ``simulate(theta, rng)`` with θ (D,) and a generator returns one data set.
    observed
        The observed data set, of the same kind; without ``summary`` its summaries (d,).
    summary
        ``summary(data)`` returns the summaries (d,) of a data set; by default ``simulate`` returns
        them itself. They should be close to normally distributed.
    n_simulations
        N, data sets per evaluation. The noise variance goes about as 1/N.
    estimator
        "plain": the fitted normal density; too low on average. "unbiased_log": no bias in the
        log-likelihood, if the summaries are normal. "unbiased": no bias in the likelihood itself
        (Ghurye & Olkin), if they are normal. The differences vanish as N grows.
    sd
        How the SD is found from the simulations behind a value: by the "jackknife", or the
        "bootstrap", as in the paper's benchmark.
    n_bootstrap
        Resamples of the bootstrap.
    shrinkage
        For few simulations, with the plain estimator: the share, from 0 to 1, by which the
        correlations between summaries are shrunk towards 0, or "auto" to estimate the best.
    floor
        Values below it become ``floor``, with an SD of a tenth of its size.
    jitter
        Added to the variances of the summaries; only matters for summaries that hardly vary.
    vectorised
        ``simulate(theta, n, rng)`` returns n data sets, and ``summary`` takes n data sets and
        returns summaries (n, d). ``observed`` is then handed to it as an array with one entry.

    Returns
    -------
    A function ``log_likelihood(theta, rng)`` that returns (value, SD).

    Examples
    --------
    The mean of normal data with known SD, by their sample mean:

    >>> def simulate(theta, rng):
    ...     return rng.normal(theta[0], 1.0, size=25)
    >>> def summary(data):
    ...     return [data.mean()]
    >>> data = np.linspace(-2.0, 3.0, 25)
    >>> log_likelihood = synthetic_likelihood(
    ...     simulate, data, summary=summary, n_simulations=400, estimator="unbiased_log"
    ... )
    >>> value, sd = log_likelihood([0.4], np.random.default_rng(1))
    >>> exact = 0.5 * np.log(25 / (2 * np.pi)) - 0.5 * 25 * (0.5 - 0.4) ** 2
    >>> bool(abs(value - exact) < 3 * sd)
    True
    """
    vectorised = flag("vectorised", vectorised)
    function("simulate", simulate, "theta", *(["n"] if vectorised else []), "rng")
    if summary is not None:
        function("summary", summary, "data")
    estimator, shrinkage = checked_form(estimator, shrinkage)
    sd = choice("sd", sd, SD_METHODS)
    target = _observed(observed, summary, vectorised)
    n_simulations = integer("n_simulations", n_simulations, least=1)
    least = least_simulations(len(target), estimator, shrinkage, sd)
    if n_simulations < least:
        raise ValueError(
            f"n_simulations must be at least {least} for {len(target)} summaries with "
            f"estimator={estimator!r} and sd={sd!r}, got {n_simulations} (simulate more, or use "
            'the plain estimator with shrinkage="auto")'
        )
    return SyntheticLikelihood(
        simulate=simulate,
        summary=summary,
        observed=target,
        n_simulations=n_simulations,
        estimator=estimator,
        shrinkage=shrinkage,
        sd=sd,
        n_bootstrap=integer("n_bootstrap", n_bootstrap, least=2),
        floor=number("floor", floor, below=0),
        jitter=number("jitter", jitter, least=0),
        vectorised=vectorised,
    )


def _observed(observed: Any, summary: Summary | None, vectorised: bool) -> FloatArray:
    """The observed summaries (d,), from the observed data where there is a function for it."""
    if summary is None:
        found = observed
    elif vectorised:
        found = as_floats("the summaries of the observed data", summary(np.asarray(observed)[None]))
        if found.ndim != 2 or len(found) != 1:
            raise ValueError(
                "with vectorised=True, summary must return one row for each data set: for the one "
                f"observed data set an array of shape (1, d), got {found.shape}"
            )
        found = found[0]
    else:
        found = summary(observed)
    target = observed_summaries(np.atleast_1d(as_floats("the observed summaries", found)))
    target.setflags(write=False)
    return target


def _one_summary(found: ArrayLike, d: int) -> FloatArray:
    row = np.atleast_1d(as_floats("the summaries", found))
    if row.shape != (d,):
        raise ValueError(
            f"the summaries of a simulated data set must have shape ({d},), like those of the "
            f"observed data, got {row.shape}"
        )
    return row
