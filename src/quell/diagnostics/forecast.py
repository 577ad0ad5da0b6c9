"""What would more evaluations buy?

An extrapolation. The surrogate's log density is uncertain by δ. A posterior whose log density is
off by δ is off by a divergence of half the variance of δ over it, to first order: what is common to
all of it changes nothing. The expectation of that is half of the surrogate's variance within the
posterior, less what is shared: an estimate of the posterior's error (the figure "convexity" of
`quell.diagnostics.fit`), which falls like 1/n with n evaluations, as variances do. The SD of the
log evidence falls with a power of n that the run itself shows. Both are set beside what happened in
benchmarks/bench_forecast.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quell.arrays import FloatArray

#: The power of n with which SDs fall: that of independent errors, and the range a run may show.
USUAL_POWER, POWERS = 0.5, (0.0, 1.0)
#: Iterations from which a power can be told.
FEWEST_ITERATIONS = 6


@dataclass(frozen=True)
class Forecast:
    """What is expected after ``more`` evaluations; an extrapolation.

    ``sd_now`` and ``sd`` are SDs of the log evidence, ``error_now`` and ``error`` distances of the
    posterior from the truth, as a divergence (comparable with a gsKL).
    """

    more: int
    sd_now: float
    sd: float
    error_now: float
    error: float

    def __str__(self) -> str:
        return (
            f"{self.more} more evaluations: SD of the log evidence {self.sd_now:.2g} -> "
            f"{self.sd:.2g}, error of the posterior (as a gsKL) {self.error_now:.2g} -> "
            f"{self.error:.2g} (an extrapolation)"
        )


def forecast(
    history: Sequence[dict[str, Any]], sd: float, error: float, more: int = 100
) -> Forecast:
    """What to expect of ``more`` evaluations.

    ``history`` are rows of iterations, ``sd`` that of the log evidence now, and ``error`` what is
    expected of the posterior's.

    >>> rows = [{"n_evaluations": n, "elbo_sd": 2 / n**0.5, "warmup": False, "believable": True}
    ...         for n in range(50, 101, 5)]
    >>> print(forecast(rows, sd=0.2, error=0.1, more=100))
    100 more evaluations: SD of the log evidence 0.2 -> 0.14, error of the posterior (as a gsKL) 0.1 -> 0.05 (an extrapolation)
    """  # noqa: E501
    n = history[-1]["n_evaluations"]
    factor = n / (n + more)
    return Forecast(more, sd, sd * factor ** _power(history), error, error * factor)


def _power(history: Sequence[dict[str, Any]]) -> float:
    """The power of n with which the ELBO's SD has fallen over the latter half of the run."""
    n, sds = _settled(history)
    if len(n) < FEWEST_ITERATIONS:
        return USUAL_POWER
    slope = np.polyfit(np.log(n), np.log(sds), 1)[0]
    return float(np.clip(-slope, *POWERS))


def _settled(history: Sequence[dict[str, Any]]) -> tuple[FloatArray, FloatArray]:
    """Evaluations and SDs of the ELBO in the latter half of the run, after warm-up."""
    half = 0.5 * history[-1]["n_evaluations"]
    rows = [
        (row["n_evaluations"], row["elbo_sd"])
        for row in history
        if row["n_evaluations"] >= half and row["believable"] and not row["warmup"]
        and 0 < row["elbo_sd"] < np.inf
    ]  # fmt: skip
    return tuple(np.array(rows, dtype=float).reshape(-1, 2).T)  # type: ignore[return-value]
