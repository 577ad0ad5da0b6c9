"""Can the answer of a run be believed? One file for each question, and the verdict.

``case`` is what all of them look at: the answer, its surrogate, and the evaluations. Each question
is a function from the case to a `Finding`: a figure, the limit from which on it speaks against the
answer, and in words what that means and what to do. ``stability`` asks whether the answer still
moves; the others, whether something in hand contradicts it. ``verdict`` puts them together.
Which faults they see, and which not: docs/experiments/honesty.md.
"""

from quell.diagnostics.case import Case
from quell.diagnostics.finding import Finding
from quell.diagnostics.verdict import Status, Verdict, judge

__all__ = ["Case", "Finding", "Status", "Verdict", "judge"]
