"""What would more evaluations buy?

An extrapolation, from how the answer has changed with the evaluations so far. Errors of a posterior
fall like 1/√n, their squares, and with them the gsKL to the truth, like e(n) = c/n. Of that, half
of the evaluations had 2c/n, so between then and now the posterior has moved by about c/n = e(n):
the change since half of the evaluations is an estimate of the error that is left. The SD of the
log evidence falls with a power of n that the run itself shows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quell.arrays import FloatArray
from quell.diagnostics.case import Case
from quell.diagnostics.finding import Finding
from quell.diagnostics.stability import difference
from quell.vbmc import Iteration

#: The power of n with which SDs fall: that of independent errors, and the range a run may show.
USUAL_POWER, POWERS = 0.5, (0.0, 1.0)
#: Iterations from which a power can be told.
FEWEST_ITERATIONS = 6
#: The paper's limit of a usable posterior.
USABLE_GSKL = 1.0


@dataclass(frozen=True)
class Forecast:
    """What is expected after ``more`` evaluations; an extrapolation.

    ``sd`` and ``sd_now`` are SDs of the log evidence, ``gskl`` and ``gskl_now`` distances of the
    posterior from the truth, nan where the run was too short to tell.
    """

    more: int
    sd_now: float
    sd: float
    gskl_now: float
    gskl: float

    def __str__(self) -> str:
        gskl = "posterior: too short a run to tell"
        if np.isfinite(self.gskl):
            gskl = f"error of the posterior (gsKL) {self.gskl_now:.2g} -> {self.gskl:.2g}"
        return (
            f"{self.more} more evaluations: SD of the log evidence {self.sd_now:.2g} -> "
            f"{self.sd:.2g}, {gskl} (an extrapolation)"
        )


def forecast(
    history: Sequence[dict[str, Any]], sd: float, since_half: float, more: int = 100
) -> Forecast:
    """What to expect of ``more`` evaluations.

    ``history`` are rows of iterations, ``sd`` that of the log evidence now, and ``since_half`` the
    gsKL to the posterior of half as many evaluations.

    >>> rows = [{"n_evaluations": n, "elbo_sd": 2 / n**0.5, "warmup": False, "believable": True}
    ...         for n in range(50, 101, 5)]
    >>> print(forecast(rows, sd=0.2, since_half=0.1, more=100))
    100 more evaluations: SD of the log evidence 0.2 -> 0.14, error of the posterior (gsKL) 0.1 -> 0.05 (an extrapolation)
    """  # noqa: E501
    n = history[-1]["n_evaluations"]
    factor = n / (n + more)
    return Forecast(more, sd, sd * factor ** _power(history), since_half, since_half * factor)


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


def since_half(case: Case) -> Finding:
    """The gsKL to the posterior of half as many evaluations; nan if that is one of warm-up."""
    figure = np.nan if case.chosen is None else _since_half(case.chosen, case.history)
    return Finding("gskl_since_half", figure, USABLE_GSKL)


def _since_half(chosen: Iteration, history: Sequence[Iteration]) -> float:
    half = 0.5 * chosen.n_evaluations
    then = [it for it in history if it.n_evaluations <= half and it.believable]
    return np.nan if not then or then[-1].warmup else difference(then[-1], chosen)[1]
