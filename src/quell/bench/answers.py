"""What an algorithm gives back to the benchmark: estimates at the end of a run and along it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import EllipsisType
from typing import Any

import numpy as np

from quell.arrays import FloatArray

#: Estimates along a run that are scored, at most.
CHECKPOINTS = 12
#: Kinds of a trace: estimates as they would have been returned if the run had ended there, or those
#: it had at the time, without what is done to the last one. Records without a kind have the latter.
AS_RETURNED, AS_IT_STOOD = "as returned", "as it stood"


@dataclass(frozen=True, eq=False)
class Estimate:
    """An algorithm's answer at one moment: evidence, and moments and draws of its posterior.

    ``mean`` (D,), ``covariance`` (D, D); ``sample(n, rng)`` draws (n, D). ``status`` is what the
    algorithm says of its answer, if it says anything.
    """

    log_evidence: float
    log_evidence_sd: float
    mean: FloatArray
    covariance: FloatArray
    sample: Callable[[int, np.random.Generator], FloatArray]
    status: str = ""


@dataclass(frozen=True, eq=False)
class Answer:
    """The final estimate, further fields of the record, and the estimates along the run.

    ``checkpoints`` yields pairs (evaluations so far, estimate); ``trace_kind`` says what these
    are, `AS_RETURNED` or `AS_IT_STOOD`. In place of an estimate may be the error that a run would
    have ended with there.
    ``own_stop`` is the answer of a run that spends its whole budget at the moment when it would
    have stopped by its own rule: its estimate and fields, or None if it would not have. An
    algorithm of which that is not known leaves it out.
    """

    final: Estimate
    fields: dict[str, Any]
    checkpoints: Iterator[tuple[int, Estimate | Exception]]
    trace_kind: str = AS_IT_STOOD
    own_stop: tuple[Estimate, dict[str, Any]] | EllipsisType | None = ...


class Interrupted(RuntimeError):
    """The run was cut short from outside; it must not count as finished."""


def checkpoint_rows(counts: list[int]) -> list[int]:
    """Which of the iterations, ending after ``counts`` evaluations, to look at: at most 12.

    >>> checkpoint_rows([10, 15, 20])
    [0, 1, 2]
    >>> checkpoint_rows(list(range(5, 500, 5)))[:3]
    [7, 15, 23]
    """
    goals = np.linspace(0, counts[-1], CHECKPOINTS + 1)[1:]
    rows = np.searchsorted(counts, goals, side="right") - 1
    return sorted({int(row) for row in rows if row >= 0})
