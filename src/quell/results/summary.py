"""The lines that summaries of results have in common."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from quell.diagnostics import Status
from quell.results.table import HEADER, SummaryRow
from quell.text import printable


class HasEvidence(Protocol):
    """A result with its log evidence, and how that was obtained."""

    @property
    def log_evidence(self) -> float:
        """The log evidence."""
        ...

    @property
    def log_evidence_sd(self) -> float:
        """Its SD."""
        ...

    @property
    def evidence_method(self) -> str:
        """How it was obtained."""
        ...


def headline(status: Status, rest: str, reasons: Sequence[str]) -> list[str]:
    """The status, in capitals unless it is "stable", the ``rest`` of its line, and the reasons."""
    word = status if status == Status.STABLE else status.upper()
    return [f"{word}{rest}", *(f"  - {printable(reason)}" for reason in reasons), ""]


def evidence_line(result: HasEvidence, undefined: str) -> str:
    """The log evidence with its SD, or ``undefined`` where there is none."""
    if not np.isfinite(result.log_evidence):
        return f"log evidence   {undefined}"
    figures = f"{result.log_evidence:.3f} ± {result.log_evidence_sd:.3f}"
    return f"log evidence   {figures} ({result.evidence_method})"


def marginals_line(expected_mmtv: float) -> list[str]:
    """How far the marginals may be off; no line where that is not known.

    >>> marginals_line(0.0712)
    ['marginals      expected to be off by 0.07 (total variation; 0 is exact, 1 another place)']
    """
    if not np.isfinite(expected_mmtv):
        return []
    about = "total variation; 0 is exact, 1 another place"
    return [f"marginals      expected to be off by {expected_mmtv:.2f} ({about})"]


def parameter_lines(rows: Sequence[SummaryRow]) -> list[str]:
    """A table with one line for each parameter.

    >>> print(*parameter_lines([SummaryRow("a", True, np.arange(5.0))]), sep="\\n")
    parameter       mean         sd      2.5 %     median     97.5 %
    a                  0          1          2          3          4
    """
    names = [printable(row.name) for row in rows]
    width = max(9, *(len(name) for name in names))
    lines = [f"{'parameter':{width}}" + "".join(f"{h:>11}" for h in HEADER)]
    for name, row in zip(names, rows, strict=True):
        if not row.free:
            lines.append(f"{name:{width}}{row.figures[0]:11.4g}      fixed")
            continue
        seam = "  (through the bounds)" if row.goes_through_bounds else ""
        lines.append(f"{name:{width}}" + "".join(f"{v:11.4g}" for v in row.figures) + seam)
    return lines
