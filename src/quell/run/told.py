"""What goes out and what comes back: points asked for, and outcomes told."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from quell.arrays import FloatArray
from quell.evaluations import NO_PRIOR_DENSITY, Evaluations
from quell.problem import Problem
from quell.problem.outcome import Outcome, settle

USER = "user"  #: origin of a point that was told but never asked for
CHECK = "check"  #: origin of a second evaluation, by which noise="auto" is settled


@dataclass(frozen=True, eq=False)
class Ask:
    """A point θ (D,) to evaluate; ``index`` is that of its random stream (see `rng_for`)."""

    index: int
    theta: FloatArray
    origin: str


@dataclass(frozen=True, eq=False)
class Told:
    """An outcome at θ (D,), in answer to the ask ``index``; −1 for a point of the user's own."""

    index: int
    theta: FloatArray
    origin: str
    outcome: Outcome


def as_table(rows: Sequence[Told], problem: Problem) -> Evaluations:
    """Answers as a table, under the problem's noise mode and prior.

    >>> problem = Problem(
    ...     sum, lower=0, upper=2, plausible_lower=0.5, plausible_upper=1, noise="exact")
    >>> as_table([Told(0, np.array([0.7]), "search", Outcome(-3.0))], problem).sd
    array([0.])
    """
    outcomes = [_under(row.outcome, problem) for row in rows]
    theta = np.stack([row.theta for row in rows])
    log_prior = problem.log_prior(theta)
    no_prior = np.where(log_prior == -np.inf, NO_PRIOR_DENSITY, "")
    return Evaluations(
        problem.names,
        theta,
        np.array([outcome.value for outcome in outcomes], dtype=np.float64),
        np.array([outcome.sd for outcome in outcomes], dtype=np.float64),
        log_prior,
        tuple(o.error or str(text) for o, text in zip(outcomes, no_prior, strict=True)),
        np.array([outcome.seconds for outcome in outcomes], dtype=np.float64),
        tuple(row.origin for row in rows),
        np.array([row.index for row in rows], dtype=np.int64),
    )


def _under(outcome: Outcome, problem: Problem) -> Outcome:
    """The outcome under the noise mode as it is known now; it may have been made under "auto"."""
    if outcome.failed:
        return outcome
    again = settle(outcome.value, outcome.sd, outcome.reported, problem.noise)
    return replace(again, seconds=outcome.seconds, note=outcome.note)
