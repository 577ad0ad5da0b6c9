"""Whether a result can be believed: what stands at the top of every report."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quell.diagnostics import Status
from quell.diagnostics.check import ANSWERS, Answer, Check
from quell.results import Result

#: The headline of each answer, and the sentence below it.
HEADLINES = {
    Answer.USABLE: ("Usable", "The answer has come to rest, and nothing in hand contradicts it."),
    Answer.NOT_YET: ("Not yet", "More evaluations are needed to tell, or to settle it."),
    Answer.NO: ("No", "Something in hand contradicts this answer."),
}
#: The finding of a result that a run under way has left in its journal.
UNFINISHED = "unfinished"


@dataclass(frozen=True)
class Test:
    """One test of the answer: its name, figure and limit as text, and whether it speaks against."""

    name: str
    figure: str
    limit: str
    against: bool


@dataclass(frozen=True, eq=False)
class VerdictSection:
    """The verdict: ``kind`` is "usable", "not-yet", "no" or "under-way"."""

    kind: str
    headline: str
    sentence: str
    reasons: list[str]
    notes: list[str]
    tests: list[Test]
    forecast: str
    status: str
    question: str = "Can this be believed?"


def verdict_section(result: Result, check: Check) -> VerdictSection:
    """The verdict on one run."""
    answer = check.answer
    kind = str(answer).replace(" ", "-")
    headline, sentence = HEADLINES[answer]
    if any(finding.test == UNFINISHED for finding in check.findings):
        kind, headline = "under-way", "Under way"
        sentence = "The run is not finished: this is how it stands."
    reasons = [reason.text for reason in check.reasons]
    # Reasons of the run that the check does not repeat: why it ended, and what to mind.
    notes = [text for text in result.reasons if text not in reasons]
    return VerdictSection(
        kind=kind,
        headline=headline,
        sentence=sentence,
        reasons=reasons,
        notes=notes,
        tests=[
            Test(f.test.replace("_", " "), _figure(f.figure), _figure(f.limit), f.against)
            for f in check.findings
            if f.test != UNFINISHED
        ],
        forecast="" if kind == "under-way" else _forecast(check),
        status=str(result.status),
    )


def joint_verdict(
    answer: Answer, question: str, headline: str, sentence: str, reasons: Sequence[str] = ()
) -> VerdictSection:
    """A verdict on several runs, or on a comparison."""
    kind = str(answer).replace(" ", "-")
    return VerdictSection(kind, headline, sentence, [*reasons], [], [], "", "", question)


def kind_of_status(status: str) -> str:
    """The kind of verdict that goes with a status as text; "unknown" for none.

    >>> kind_of_status("stable"), kind_of_status("suspect"), kind_of_status("")
    ('usable', 'no', 'unknown')
    """
    known = {str(one): ANSWERS[one] for one in Status}
    return str(known[status]).replace(" ", "-") if status in known else "unknown"


def _figure(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3g}"


def _forecast(check: Check) -> str:
    f = check.forecast
    if not (np.isfinite(f.sd) and np.isfinite(f.sd_now)):
        return ""
    text = (
        f"{f.more} more evaluations would bring the SD of the log evidence from {f.sd_now:.2g} to "
        f"about {f.sd:.2g}"
    )
    if np.isfinite(f.error) and np.isfinite(f.error_now):
        text += (
            f", and the error of the posterior (as a Gaussianized KL divergence) from "
            f"{f.error_now:.2g} to about {f.error:.2g}"
        )
    return f"{text}. This is an extrapolation."
