"""Is the target still the one of the journal? One recorded evaluation is made again and compared.

A simulator that was mended since, under the journal of the old one, would give the old result, or
a mixture of both. An evaluation is a function of its point and its random numbers, so:

* A target that takes ``rng``, or is exact, has to give what it gave, up to rounding: another
  machine, or another batch of a vectorised target, may sum in another order.
* One that has random numbers of its own, as two evaluations with the same ``rng`` show, or noise
  and no ``rng``, has to give the same within the SDs of its noise.
* A failure now, where there was a value, is a change if it happens at several points, twice each.

Nothing can be said where no evaluation with a value is on record, where they were told by a user
(`quell.Sampler`), or where the size of the noise is not known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, isfinite, nan

import numpy as np

from quell.errors import JournalError
from quell.evaluations.events import Answered
from quell.problem import Outcome, Problem
from quell.problem.noise import under
from quell.workers.pool import Pool

#: Half of the digits of a double: what rounding in another order can be expected to change, and
#: nothing to a posterior.
ROUNDING = float(np.sqrt(np.finfo(np.float64).eps))
#: Noisy values may differ by so many SDs of their difference: normal ones do in one of 1.7 million.
MOST_SDS = 5.0
#: Points that are tried: evaluations may be lost (a time-out, a dead worker), or fail by chance.
MOST_POINTS = 3


class AnotherTarget(JournalError):
    """The target is not the one of the journal."""


@dataclass(frozen=True)
class Comparison:
    """What is compared: outcomes at one point, with the noise as ``problem`` has it.

    ``noise_sd`` is the SD of noise of unknown size, nan where it is not known.
    """

    problem: Problem
    noise_sd: float = nan

    @property
    def repeats_itself(self) -> bool:
        """Whether the target is expected to give the same again."""
        return self.problem.target.takes_rng or self.problem.noise == "exact"

    def says_something(self, then: Outcome) -> bool:
        """Whether any value would be too far from the recorded one."""
        return self.repeats_itself or not (np.isnan(then.sd) and np.isnan(self.noise_sd))

    def is_same(self, then: Outcome, now: Outcome) -> bool:
        """Whether value and SD are the same, up to rounding."""
        if now.failed:
            return False
        then, now = (under(outcome, self.problem.noise) for outcome in (then, now))
        return _close(then.value, now.value, 1.0) and _close(then.sd, now.sd, 0.0)

    def is_compatible(self, then: Outcome, now: Outcome) -> bool:
        """Whether the values differ by no more than their noise; also where nobody can tell."""
        if now.failed:
            return False
        sds = [self.noise_sd if np.isnan(outcome.sd) else outcome.sd for outcome in (then, now)]
        spread = hypot(*sds)
        return not isfinite(spread) or abs(then.value - now.value) <= MOST_SDS * spread


def refuse_another_target(
    pool: Pool,
    problem: Problem,
    answers: Sequence[Answered],
    *,
    where: str,
    noise_sd: float = nan,
) -> None:
    """`AnotherTarget` if the target does not give what is on record any more.

    ``answers`` are recorded ones with a value, the latest last: that one is made again, in the
    pool; a second time if it differs, and the one before it if both fail. ``where`` names the
    journal.
    """
    comparison = Comparison(problem, noise_sd)
    # The streams of first attempts are a promise; those of others have changed once.
    order = sorted(answers, key=lambda answer: answer.attempt == 0)[-MOST_POINTS:]
    complaint = ""
    for answer in reversed(order):
        then = answer.outcome
        if not pool.n_free or not comparison.says_something(then):
            break
        now = _evaluate(pool, problem, answer)
        if now.kind == "lost":
            continue
        fits = comparison.is_same if comparison.repeats_itself else comparison.is_compatible
        if fits(then, now):
            return
        again = _evaluate(pool, problem, answer)
        if again.kind == "lost":
            continue
        if _is_answered(comparison, then, now, again):
            return
        complaint = _message(where, answer, now, again, comparison)
        if not (_broke(now) and _broke(again)):
            break
    if complaint:
        raise AnotherTarget(complaint)


def _is_answered(comparison: Comparison, then: Outcome, now: Outcome, again: Outcome) -> bool:
    """Whether what was recorded can still come out, after two evaluations of which one differs."""
    if comparison.is_same(then, again):
        return True
    if comparison.problem.noise == "exact" or comparison.is_same(now, again):
        return False
    return any(comparison.is_compatible(then, outcome) for outcome in (now, again))


def _broke(outcome: Outcome) -> bool:
    """Whether it failed, which some targets do now and then; zero density is no failure."""
    return outcome.failed and not outcome.zero_density


def _evaluate(pool: Pool, problem: Problem, answer: Answered) -> Outcome:
    pool.submit(problem, answer.asked, answer.attempt)
    while not (answers := pool.wait()):
        pass  # there is room for more, but nothing more to ask
    return answers[0].outcome


def _close(a: float, b: float, least: float) -> bool:
    both_missing = np.isnan(a) and np.isnan(b)
    return bool(both_missing or a == b or abs(a - b) <= ROUNDING * max(abs(a), abs(b), least))


def _message(
    where: str, answer: Answered, now: Outcome, again: Outcome, comparison: Comparison
) -> str:
    same = comparison.is_same(now, again) or (now.failed and again.failed)
    found = _text(now) if same else f"{_text(now)}, then {_text(again)}"
    how = "with the same random numbers" if comparison.problem.target.takes_rng else "again"
    return (
        f"{where} is of another target: at {answer.asked.theta.tolist()} the target gave "
        f"{_text(answer.outcome)}; evaluated {how} it gave {found}. If the target was changed, "
        "choose another path for a new run, or go back to what it was; to go on with the recorded "
        "evaluations all the same, pass journal_check=False"
    )


def _text(outcome: Outcome) -> str:
    if _broke(outcome):
        return f"an error ({outcome.error})"
    return f"{outcome.value!r}" + (f" (SD {outcome.sd!r})" if outcome.sd > 0 else "")
