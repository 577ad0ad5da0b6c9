"""What one evaluation of the user's function gave: a value, or the reason why there is none.

`Outcome` is the record; `settle` applies the rules of the noise modes to a value and an SD:

============  ===========================  ==============================================
noise         a bare number                a pair (value, SD)
============  ===========================  ==============================================
"auto"        SD not reported (nan)        as "reported"
"reported"    failed: the SD is expected   SD > 0, or nan (or None) where it is missing
"unknown"     SD not reported (nan)        SD ignored, as asked for; `Outcome.note` says so
"exact"       SD 0                         SD 0, nan or None; anything else is failed
============  ===========================  ==============================================

A value of -inf is zero density under every mode, with or without an SD.
"""

from dataclasses import dataclass
from math import inf, isfinite, isnan, nan
from typing import Any, Literal

from quell.checks import LARGEST_NOISE_SD, choice, number

Noise = Literal["auto", "reported", "unknown", "exact"]
NOISE_MODES: tuple[Noise, ...] = ("auto", "reported", "unknown", "exact")

# "bad value": a number that is no log-likelihood. "bad return": not what a target should return,
# most likely at every point. "lost": no answer came (a time-out, a worker that died).
FailureKind = Literal["zero density", "exception", "bad value", "bad return", "lost"]

ZERO_DENSITY = "zero density: the log-likelihood is -inf"
IGNORED_SD = 'the target returned an SD; it was ignored because noise="unknown"'


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


def settle(value: Any, sd: Any, is_pair: bool, noise: Noise) -> Outcome:
    """The outcome for what a target returned at one point; ``sd`` counts only if ``is_pair``.

    >>> outcome = settle(-3.5, 0.2, True, "auto")
    >>> outcome.value, outcome.sd, outcome.reported
    (-3.5, 0.2, True)
    >>> settle(-3.5, None, False, "reported").kind
    'bad return'
    """
    try:
        value = number("the log-likelihood", value)
    except (TypeError, ValueError) as error:
        return Outcome.failure(str(error), kind="bad return")
    if value == -inf:
        return Outcome.failure(ZERO_DENSITY, kind="zero density", value=value)
    if not isfinite(value):
        advice = "return -inf where the density is zero, and raise where it cannot be computed"
        return Outcome.failure(f"the log-likelihood is {value} ({advice})", kind="bad value")
    if noise == "unknown":
        missing = sd is None or (isinstance(sd, float) and isnan(sd))
        return Outcome(value, nan, note="" if missing or not is_pair else IGNORED_SD)
    if not is_pair:
        if noise == "reported":
            return Outcome.failure(
                'the target returned a number without an SD although noise="reported" (return '
                'the pair (value, sd), with sd nan where it is missing, or choose noise="unknown" '
                'or noise="exact")',
                kind="bad return",
                value=value,
            )
        return Outcome(value, 0.0 if noise == "exact" else nan)
    return _with_sd(value, sd, noise)


def _with_sd(value: float, sd: Any, noise: Noise) -> Outcome:
    try:
        sd = nan if sd is None else number("the SD", sd)
    except (TypeError, ValueError) as error:
        return Outcome.failure(str(error), kind="bad return", value=value)
    if noise == "exact":
        if sd == 0.0 or isnan(sd):
            return Outcome(value, 0.0)
        return Outcome.failure(
            f'the target returned the SD {sd!r} although noise="exact" (choose noise="reported", '
            "or return the value alone)",
            kind="bad return",
            value=value,
        )
    if sd <= 0.0 or sd > LARGEST_NOISE_SD:
        return Outcome.failure(
            f"the SD must be positive and finite, got {sd!r} (return nan where it is missing; "
            'choose noise="exact" for a target without noise)',
            kind="bad value",
            value=value,
        )
    return Outcome(value, sd, reported=True)


def check_noise(noise: Any) -> Noise:
    """``noise`` if it is a noise mode; else ``ValueError``."""
    return choice("noise", noise, NOISE_MODES)


def check_noise_guess(guess: Any, noise: Noise) -> float | None:
    """``guess`` as an SD, or None; ``ValueError`` where there can be none."""
    if guess is None:
        return None
    if noise == "exact":
        raise ValueError(f'noise_guess must be None when noise="exact", got {guess!r}')
    guess = number("noise_guess", guess)
    if not 0.0 < guess < inf:
        raise ValueError(f"noise_guess must be a positive, finite SD, got {guess!r}")
    return guess
