"""Can I believe this? The verdict on a result, for somebody who has to decide.

It rests on the status of the run (`quell.diagnostics.verdict`), and so cannot disagree with it:
what is stable is usable, what is too short or still moves is not usable yet, and what something in
hand contradicts is not.
"""

from dataclasses import dataclass
from enum import StrEnum

from quell.diagnostics.finding import Finding
from quell.diagnostics.forecast import Forecast
from quell.diagnostics.noise_audit import NoiseAudit
from quell.diagnostics.verdict import Status
from quell.text import printable, table

#: The page with a section on every test, by its name.
PAGE = "docs/troubleshooting.md"


class Answer(StrEnum):
    """Whether a result can be used; equal to its value as text.

    >>> Answer.NOT_YET == "not yet"
    True
    """

    USABLE = "usable"  #: stable, and nothing speaks against it
    NOT_YET = "not yet"  #: more evaluations are needed to tell, or to settle it
    NO = "no"  #: something in hand contradicts it


ANSWERS = {
    Status.STABLE: Answer.USABLE,
    Status.TOO_SHORT: Answer.NOT_YET,
    Status.UNSTABLE: Answer.NOT_YET,
    Status.SUSPECT: Answer.NO,
}


@dataclass(frozen=True)
class Reason:
    """One reason for an answer: what was found and what to do, and the ``page`` on it."""

    text: str
    page: str

    def __str__(self) -> str:
        return f"{printable(self.text)} ({self.page})"


@dataclass(frozen=True)
class Check:
    """Whether a result can be believed, and why; made by ``result.check()``.

    Attributes
    ----------
    answer
        "usable", "not yet" or "no".
    reasons
        Why, in words, each with its remedy and where to read on.
    findings
        Every test that was made, with its figure and its limit.
    noise
        Whether the reported SDs are honest.
    forecast
        What more evaluations would buy.

    Examples
    --------
    >>> import quell
    >>> problem = quell.Problem(
    ...     lambda theta: -0.5 * theta[0]**2, lower=-10, upper=10, plausible_lower=-3,
    ...     plausible_upper=3, noise="exact",
    ... )
    >>> check = quell.infer(problem, budget=20, seed=1, progress=False).check()
    >>> print(check.answer)
    not yet
    """

    answer: Answer
    reasons: tuple[Reason, ...]
    findings: tuple[Finding, ...]
    noise: NoiseAudit
    forecast: Forecast

    @property
    def usable(self) -> bool:
        """Whether the answer is "usable"."""
        return self.answer == Answer.USABLE

    def summary(self) -> str:
        """The verdict and its reasons, then the tests, the noise and the forecast."""
        rows = [("test", "figure", "limit", "")] + [
            (f.test, f"{f.figure:.3g}", f"{f.limit:.3g}", "against the answer" if f.against else "")
            for f in self.findings
        ]
        return "\n".join(
            [
                f"Can I believe this?  {self.answer.upper()}",
                *(f"  - {reason}" for reason in self.reasons),
                "",
                table(rows, indent=""),
                "",
                str(self.noise),
                str(self.forecast),
            ]
        )

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"Check({self.answer}, {len(self.reasons)} reasons)"


def reason_of(test: str, text: str) -> Reason:
    """A reason that a test gives.

    >>> reason_of("residual_scale", "residuals are 3 times the reported SDs").page
    'docs/troubleshooting.md#residual_scale'
    """
    return Reason(text, f"{PAGE}#{test}")
