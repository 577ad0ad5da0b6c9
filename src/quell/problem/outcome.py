"""What one evaluation of the user's function gave: a value, or the reason why there is none.

How a value and an SD are read under each noise mode is in `quell.problem.noise`.
"""

from dataclasses import dataclass
from math import nan
from typing import Literal

# "bad value": a number that cannot be a log-likelihood. "bad return": something else than a target
# should return, most likely at every point. "lost": no answer came (a time-out, a dead worker).
FailureKind = Literal["zero density", "exception", "bad value", "bad return", "lost"]

ZERO_DENSITY = "zero density: the log-likelihood is -inf"
#: Below this a log-likelihood is taken for -inf: the most negative number there is stands for that
#: in many programs, and with a prior it would overflow.
LOWEST_VALUE = -1e300


@dataclass(frozen=True)
class Outcome:
    """One evaluation: the log-likelihood ``value`` and the ``sd`` of its noise, or an ``error``.

    ``sd`` is nan where it was not reported and 0 for an exact target. ``error`` is None, or one
    line saying why the evaluation failed; ``value`` is then -inf (zero density), the finite value
    the function returned (when only its SD was bad) or nan. ``kind`` sorts the failures, None if
    there was none; ``traceback`` is the full text where the function raised; ``note`` says what
    the user should know about an evaluation that did not fail. ``reported`` is True where the
    target returned a pair and the noise mode uses its SD, even if that was missing (nan).

    >>> Outcome(-3.5, 0.2).failed
    False
    >>> lost = Outcome.failure("timed out after 60 s", kind="lost")
    >>> lost.failed, lost.value
    (True, nan)
    """

    value: float
    sd: float = nan
    error: str | None = None
    seconds: float = nan
    traceback: str = ""
    note: str = ""
    kind: FailureKind | None = None
    reported: bool = False

    @classmethod
    def failure(
        cls,
        error: str,
        *,
        kind: FailureKind,
        value: float = nan,
        seconds: float = nan,
        traceback: str = "",
    ) -> "Outcome":
        """A failed evaluation; ``error`` becomes one line."""
        return cls(value, nan, " ".join(error.split()), seconds, traceback, kind=kind)

    @property
    def failed(self) -> bool:
        """Whether the surrogate cannot use this evaluation."""
        return self.error is not None

    @property
    def zero_density(self) -> bool:
        """Whether it failed because the log-likelihood is -inf."""
        return self.kind == "zero density"
