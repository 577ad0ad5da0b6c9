"""The verdict on an answer: what speaks against it, and whether it still moves."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from quell.diagnostics.case import Case
from quell.diagnostics.denied import denied_by_surrogate, mass_left_out
from quell.diagnostics.finding import Finding
from quell.diagnostics.fit import effective_draws, unknown_shape
from quell.diagnostics.lone import lone_peak
from quell.diagnostics.marginals import unknown_marginals
from quell.diagnostics.places import mass_at_bounds, mass_beyond, mass_in_support, mass_outside
from quell.diagnostics.predictions import odd_ones, prediction_errors
from quell.diagnostics.promise import promise
from quell.diagnostics.regions import core_errors, shell_errors
from quell.diagnostics.residuals import noise_followed, outliers, residual_scale
from quell.diagnostics.stability import Stability, stability
from quell.diagnostics.tails import pareto_tail
from quell.text import printable

#: Tests of the answer that need no random numbers, in the order they are reported.
TESTS = (
    promise,
    lone_peak,
    denied_by_surrogate,
    outliers,
    residual_scale,
    noise_followed,
    prediction_errors,
    odd_ones,
    core_errors,
    shell_errors,
    effective_draws,
    pareto_tail,
    unknown_shape,
    mass_in_support,
    mass_at_bounds,
    mass_outside,
    mass_beyond,
)


class Status(StrEnum):
    """How an answer stands; equal to its value as text.

    >>> Status.STABLE == "stable"
    True
    """

    STABLE = "stable"  #: it has not moved for long enough, and nothing speaks against it
    TOO_SHORT = "too short to tell"  #: the run had too few evaluations to see whether it moves
    UNSTABLE = "unstable"  #: it still moves
    SUSPECT = "suspect"  #: something in hand contradicts it


@dataclass(frozen=True)
class Verdict:
    """What the tests of an answer found."""

    stability: Stability
    findings: tuple[Finding, ...]

    @property
    def status(self) -> Status:
        """The status of the answer."""
        if any(finding.against for finding in self.findings):
            return Status.SUSPECT
        if self.stability.is_stable:
            return Status.STABLE
        return Status.TOO_SHORT if self.stability.is_too_short else Status.UNSTABLE

    @property
    def objections(self) -> tuple[str, ...]:
        """What speaks against the answer, in words."""
        return tuple(finding.text for finding in self.findings if finding.against)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the answer is not stable, in words."""
        return (*self.objections, *self.about_stability)

    @property
    def about_stability(self) -> tuple[str, ...]:
        """Why it is not known to have come to rest, in words; empty if it has."""
        s = self.stability
        if s.is_stable:
            return ()
        text = f"the solution was stable for {s.evaluations} of the {s.needed} evaluations needed"
        if s.is_too_short:
            return (f"{text}: make at least {s.needed - s.possible} more",)
        return (
            f"{text} (before, it differed by {s.elbo_change:.2g} nats and a gsKL of {s.gskl:.2g}): "
            "use a larger budget, or compare with another seed",
        )

    def figures(self) -> dict[str, Any]:
        """The figure of every test by its name, and those of stability."""
        s = self.stability
        return {finding.test: finding.figure for finding in self.findings} | {
            "stable_evaluations": s.evaluations,
            "stable_evaluations_needed": s.needed,
            "elbo_change": s.elbo_change,
            "gskl_change": s.gskl,
        }


def judge(rng: np.random.Generator, case: Case) -> Verdict:
    """Put an answer to all tests; ``rng`` is for those that draw."""
    assert case.chosen is not None
    drawing = (partial(mass_left_out, rng), partial(unknown_marginals, rng))
    findings = [_made(test, case) for test in (*TESTS, *drawing)]
    return Verdict(stability(case.chosen, case.history, case.evaluations), tuple(findings))


def _made(test: Callable[[Case], Finding], case: Case) -> Finding:
    """A test made; one that cannot be made speaks against the answer, and must not lose it."""
    try:
        return test(case)
    except (ArithmeticError, LinAlgError, ValueError) as error:
        name = getattr(test, "func", test).__name__
        return Finding(
            name, np.nan, np.nan, f"the test {name!r} could not be made: {printable(str(error))}"
        )
