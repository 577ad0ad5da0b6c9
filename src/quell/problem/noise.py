"""The noise modes: what "auto", "reported", "unknown" and "exact" mean, wherever it matters.

`settle` makes an outcome of what the target returned at one point:

============  ===========================  ==============================================
noise         a bare number                a pair (value, SD)
============  ===========================  ==============================================
"auto"        SD not reported (nan)        as "reported"
"reported"    failed: the SD is expected   SD > 0, or nan (or None) where it is missing
"unknown"     SD not reported (nan)        SD ignored, as asked for; `Outcome.note` says so
"exact"       SD 0                         SD 0, nan or None; anything else is failed
============  ===========================  ==============================================

A value of -inf, or below -1e300, is zero density under every mode, with or without an SD.
`sds_under` has the same rules for a column of SDs that a user hands in.

"auto" is settled in the course of a run by `NoiseCheck`: a reported SD says what the mode is, a
bare number has to repeat itself. The first evaluation that gives a number without SD is made a
second time, and again if that fails. If both agree the target is exact; if not, it is noisy, and
the user has to say what is known about the size of the noise. Earlier evaluations are then read
again under the mode that was found: `under` for an outcome, `sds_once_exact` for a column.
"""

from dataclasses import dataclass, replace
from math import inf, isfinite, isnan, nan
from typing import Any, Literal

import numpy as np

from quell.arrays import FloatArray
from quell.checks import LARGEST_NOISE_SD, choice, number, raise_at
from quell.problem.outcome import LOWEST_VALUE, ZERO_DENSITY, Outcome

Noise = Literal["auto", "reported", "unknown", "exact"]
NOISE_MODES: tuple[Noise, ...] = ("auto", "reported", "unknown", "exact")

IGNORED_SD = 'the target returned an SD; it was ignored because noise="unknown"'


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
    if not 0.0 < guess <= LARGEST_NOISE_SD:
        raise ValueError(f"noise_guess must be a positive, finite SD, got {guess!r}")
    return guess


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
    if value < LOWEST_VALUE:
        return Outcome.failure(ZERO_DENSITY, kind="zero density", value=-inf)
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
    """The outcome for a pair (value, SD) under a mode that looks at the SD."""
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


def under(outcome: Outcome, noise: Noise) -> Outcome:
    """An outcome that may have been made under "auto", under the mode as it is known now.

    >>> under(Outcome(-3.0), "exact").sd
    0.0
    """
    if outcome.failed:
        return outcome
    again = settle(outcome.value, outcome.sd, outcome.reported, noise)
    return replace(again, seconds=outcome.seconds, note=outcome.note)


def sds_under(sds: FloatArray, noise: Noise) -> FloatArray:
    """SDs (n,) as the noise mode has them: none if unknown, zero if exact, not zero if reported.

    ``ValueError`` for the first that contradicts the mode.

    >>> sds_under(np.array([np.nan, 0.0]), "exact")
    array([0., 0.])
    """
    if noise == "unknown":
        return np.full_like(sds, np.nan)
    if noise == "exact":
        if (sds > 0).any():
            demand = 'must be 0 or missing because noise="exact" (choose noise="reported")'
            raise_at("sds", sds, sds > 0, demand)
        return np.zeros_like(sds)
    if noise == "reported" and (sds == 0).any():
        demand = 'must be positive, or nan if unknown, because noise="reported"'
        raise_at("sds", sds, sds == 0, demand)
    return sds.copy()


def check_told_sds(sds: FloatArray, noise: Noise, *, given: bool) -> None:
    """``ValueError`` if SDs (n,) told together do not suit the mode, or each other under "auto".

    ``given`` is False where the user gave none, so that all are nan. Under "auto" positive SDs
    mean "reported", and then none may be 0.

    >>> check_told_sds(np.array([np.nan]), "reported", given=False)
    Traceback (most recent call last):
        ...
    ValueError: sds must be given because noise="reported" (nan where it is not known)
    """
    if noise == "reported" and not given:
        raise ValueError('sds must be given because noise="reported" (nan where it is not known)')
    if noise == "auto" and np.any(sds > 0):
        sds_under(sds, "reported")


def sds_once_exact(sds: FloatArray) -> FloatArray:
    """SDs (n,) recorded under "auto", now that the target has turned out exact.

    Values without an SD came from the same, exact target.

    >>> sds_once_exact(np.array([np.nan, 0.0]))
    array([0., 0.])
    """
    return np.where(np.isnan(sds), 0.0, sds)


class NoiseUndecided(Exception):
    """The target is noisy but reports no SD; the message says what to do."""


@dataclass(frozen=True)
class NoiseCheck:
    """What is known about the noise: ``noise``, and under "auto" the point to repeat.

    >>> check = NoiseCheck("auto").after(np.array([1.0]), Outcome(-3.0))
    >>> check.theta
    array([1.])
    >>> check.after(np.array([1.0]), Outcome(-3.0)).noise
    'exact'
    >>> NoiseCheck("auto").after(np.array([1.0]), Outcome(-3.0, 0.5, reported=True)).noise
    'reported'
    """

    noise: Noise
    theta: FloatArray | None = None
    value: float = np.nan

    @property
    def is_waiting(self) -> bool:
        """Whether ``theta`` has to be evaluated again before evaluations can be used."""
        return self.noise == "auto" and self.theta is not None

    def after(self, theta: FloatArray, outcome: Outcome, *, repeat: bool = False) -> "NoiseCheck":
        """What is known after one more outcome at θ (D,); ``repeat`` if it was asked for as one.

        Raises `NoiseUndecided` where two evaluations of one point differ.
        """
        if self.noise != "auto":
            return self
        if not outcome.failed and outcome.reported:
            return NoiseCheck("exact" if outcome.sd == 0.0 else "reported")
        if self.theta is None:
            return self if outcome.failed else NoiseCheck("auto", theta, outcome.value)
        if not (repeat or (not outcome.failed and np.array_equal(theta, self.theta))):
            return self
        if outcome.failed and not outcome.zero_density:
            return self
        if outcome.value == self.value:
            return NoiseCheck("exact")
        raise NoiseUndecided(
            f"two evaluations of the target at {theta.tolist()} gave {self.value!r} "
            f"and {outcome.value!r}: the target is noisy, but returns no SD. Return the pair "
            '(value, SD) if the SD of the noise can be estimated; otherwise pass noise="unknown" '
            "to Problem, and its size will be fitted."
        )
