"""Answers as a table."""

from collections.abc import Sequence

import numpy as np

from quell.arrays import FloatArray
from quell.evaluations.events import NOT_ASKED, Answered, Asked
from quell.evaluations.head_start import NO_PRIOR_DENSITY
from quell.evaluations.origin import Origin
from quell.evaluations.table import Evaluations
from quell.problem import Outcome, Problem
from quell.problem.noise import under


def as_recorded(answers: Sequence[Answered], names: Sequence[str]) -> Evaluations:
    """Answers as a table, just as they came; the log prior is not known (nan)."""
    return _table(answers, [a.outcome for a in answers], names, np.full(len(answers), np.nan))


def as_table(answers: Sequence[Answered], problem: Problem) -> Evaluations:
    """Answers as a table, under the problem's noise mode and prior.

    >>> problem = Problem(
    ...     sum, lower=0, upper=2, plausible_lower=0.5, plausible_upper=1, noise="exact")
    >>> asked = Asked(0, np.array([0.7]), Origin.SEARCH)
    >>> as_table([Answered(asked, Outcome(-3.0))], problem).sd
    array([0.])
    """
    outcomes = [under(answer.outcome, problem.noise) for answer in answers]
    log_prior = problem.log_prior(np.stack([answer.asked.theta for answer in answers]))
    return _table(answers, outcomes, problem.names, log_prior)


def head_start_answers(table: Evaluations) -> list[Answered]:
    """The rows of a head start as answers to questions that were never asked."""
    return [
        Answered(
            Asked(NOT_ASKED, table.theta[i], Origin.GIVEN),
            Outcome(
                float(table.value[i]), float(table.sd[i]), table.error[i] or None,
                float(table.seconds[i]),
            ),
        )
        for i in range(len(table))
    ]  # fmt: skip


def _table(
    answers: Sequence[Answered], outcomes: Sequence[Outcome], names: Sequence[str],
    log_prior: FloatArray,
) -> Evaluations:  # fmt: skip
    no_prior = np.where(log_prior == -np.inf, NO_PRIOR_DENSITY, "")
    theta = np.array([answer.asked.theta for answer in answers], dtype=np.float64)
    return Evaluations(
        tuple(names),
        theta.reshape(len(answers), len(names)),
        np.array([outcome.value for outcome in outcomes], dtype=np.float64),
        np.array([outcome.sd for outcome in outcomes], dtype=np.float64),
        log_prior,
        tuple(o.error or str(text) for o, text in zip(outcomes, no_prior, strict=True)),
        np.array([outcome.seconds for outcome in outcomes], dtype=np.float64),
        tuple(answer.asked.origin for answer in answers),
        np.array([answer.asked.index for answer in answers], dtype=np.int64),
    )
