"""Settling noise="auto": a reported SD says so, a bare number has to repeat itself.

The first evaluation that gives a number without SD is made a second time, and again if that fails.
If both agree the target is exact; if not, it is noisy and nobody knows how much, which the user has
to decide.
"""

from dataclasses import dataclass

import numpy as np

from quell.arrays import FloatArray
from quell.problem.outcome import Noise, Outcome


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
        """Whether a second evaluation of ``theta`` has to come before anything else is learnt."""
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
