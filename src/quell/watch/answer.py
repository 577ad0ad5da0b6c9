"""The result so far: what of it there is to see, as plain data."""

from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from quell.errors import FileError
from quell.journal.snapshots import Snapshot
from quell.results import Posterior, Result
from quell.results.reading import read_result
from quell.results.table import summary_rows

#: Points at which the density of a marginal is drawn, and the probability beyond them.
GRID, BEYOND = 81, 0.001


@dataclass(frozen=True)
class Answer:
    """The result in a snapshot: figures, trace, marginals; ``trouble`` says what is missing."""

    figures: dict[str, Any]
    trace: list[dict[str, Any]]
    marginals: list[dict[str, Any]]
    trouble: str = ""


def read_answer(snapshot: Snapshot, where: str) -> Answer:
    """The answer in a snapshot; nothing in it is executed."""
    try:
        result = read_result(snapshot.data, where)
    except FileError as error:
        return Answer({}, [], [], f"the result so far cannot be read: {error}")
    try:
        marginals = marginals_of(result.posterior)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return Answer(_figures(result), _trace(result), [], f"no marginals: {error}")
    return Answer(_figures(result), _trace(result), marginals)


def plain(value: Any) -> float | None:
    """A number for JSON, None where there is none.

    >>> plain(np.float64(2.5)), plain(float("nan"))
    (2.5, None)
    """
    return float(value) if isfinite(value) else None


def _figures(result: Result) -> dict[str, Any]:
    last = result.history[-1]
    return {
        "status": str(result.status),
        "reasons": list(result.reasons),
        "log_evidence": plain(result.log_evidence),
        "log_evidence_sd": plain(result.log_evidence_sd),
        "elbo": plain(last["elbo"]),
        "elbo_sd": plain(last["elbo_sd"]),
        "reliability": plain(last["reliability"]),
        "components": int(last["n_components"]),
        "iterations": len(result.history),
        "phase": "warm-up" if last["warmup"] else "refinement",
        "cpu_seconds": plain(result.cpu_seconds),
        "noise": str(result.problem.get("noise", "")),
    }


def _trace(result: Result) -> list[dict[str, Any]]:
    return [
        {
            "n": int(row["n_evaluations"]),
            "elbo": plain(row["elbo"]),
            "sd": plain(row["elbo_sd"]),
            "reliability": plain(row["reliability"]),
            "components": int(row["n_components"]),
        }
        for row in result.history
    ]


def marginals_of(posterior: Posterior) -> list[dict[str, Any]]:
    """For every free parameter its figures, and its density ``y`` on a grid ``x``."""
    found = []
    for row in summary_rows(posterior):
        if not row.free:
            continue
        marginal = posterior.marginal(row.name)
        low, high = map(float, marginal.quantile(np.array([BEYOND, 1 - BEYOND])))
        if row.goes_through_bounds or not low < high:  # all around its circle
            place = posterior.names.index(row.name)
            bounds = posterior.space.bounds
            low, high = float(bounds.lower[place]), float(bounds.upper[place])
        x = np.linspace(low, high, GRID)
        y = np.nan_to_num(marginal.density(x), posinf=0.0)
        mean, sd, lower, median, upper = map(plain, row.figures)
        found.append({
            "name": row.name, "mean": mean, "sd": sd, "low": lower, "median": median,
            "high": upper, "x": x.tolist(), "y": y.tolist(),
        })  # fmt: skip
    return found
