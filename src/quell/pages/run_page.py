"""The page of one run."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from quell.pages.chart import Chart
from quell.pages.corner import Corner, corner_of
from quell.pages.evaluations import EvaluationsSection, evaluations_section
from quell.pages.noise import NoiseSection, noise_section
from quell.pages.parameters import ParameterRow, parameter_rows
from quell.pages.provenance import Provenance, provenance
from quell.pages.slices import slice_charts
from quell.pages.trace import trace_chart
from quell.pages.verdict import VerdictSection, verdict_section
from quell.plots.style import cautious_numbers
from quell.results import Result
from quell.text import printable


@dataclass(frozen=True)
class Figure:
    """A figure that is worth a glance: its name, the figure as text, and a word below."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True, eq=False)
class RunPage:
    """All that the page of one run shows."""

    title: str
    verdict: VerdictSection
    figures: list[Figure]
    parameters: list[ParameterRow]
    corner: Corner
    trace: Chart
    evaluations: EvaluationsSection
    slices: list[Chart]
    no_slices: str
    noise: NoiseSection
    evidence: list[Figure]
    provenance: Provenance
    journal: str
    unseen: str

    def charts(self) -> list[Chart]:
        """All charts that can be read off."""
        found = [self.trace, self.evaluations.chart, *self.slices, self.noise.chart]
        return [chart for chart in found if chart is not None]

    def data(self) -> dict[str, Any]:
        """Plain data for the scripts of the page."""
        return {
            "charts": {c.ident: c.hover.as_data() for c in self.charts() if c.hover is not None},
            "corner": self.corner.data,
            "evaluations": self.evaluations.data,
        }


def run_page(result: Result, title: str = "") -> RunPage:
    """The page of a result."""
    with cautious_numbers():
        check = result.check()
        slices, no_slices = _slices(result)
        return RunPage(
            title=printable(title) or f"Posterior of {names_in_words(result.posterior.names)}",
            verdict=verdict_section(result, check),
            figures=_figures(result),
            parameters=parameter_rows(result.posterior),
            corner=corner_of(result.posterior),
            trace=trace_chart(result),
            evaluations=evaluations_section(result.evaluations, result.posterior.space.dimension),
            slices=slices,
            no_slices=no_slices,
            noise=noise_section(result, check.noise),
            evidence=evidence_figures(result),
            provenance=provenance(result),
            journal=printable(result.journal),
            unseen=_unseen(result),
        )


def names_in_words(names: tuple[str, ...]) -> str:
    """A few names and the number of the others.

    >>> names_in_words(("a", "b")), names_in_words(("a", "b", "c", "d", "e", "f"))
    ('a and b', 'a, b, c and 3 more')
    """
    shown = [printable(name) for name in names]
    if len(shown) > 4:
        return f"{', '.join(shown[:3])} and {len(shown) - 3} more"
    return " and ".join(", ".join(shown).rsplit(", ", 1))


def _slices(result: Result) -> tuple[list[Chart], str]:
    """The slices, or why there are none."""
    try:
        return slice_charts(result), ""
    except ValueError as error:  # of a file that does not have its support
        return [], printable(str(error))


def _figures(result: Result) -> list[Figure]:
    table = result.evaluations
    given = len(table) - table.n_counted
    notes = [f"{table.n_counted_failed} failed"] * bool(table.n_counted_failed)
    notes += [f"{given} given before"] * bool(given)
    free, whole = result.posterior.space.dimension, result.posterior.dimension
    fixed = f"and {whole - free} fixed" if whole > free else ""
    overhead = 1e3 * result.cpu_seconds / max(1, table.n_counted)
    return [
        evidence_figures(result)[0],
        Figure("evaluations", str(table.n_counted), ", ".join(notes) or "none failed"),
        Figure("parameters", str(free), fixed),
        Figure("time in the target", duration(result.target_seconds), ""),
        Figure("time of the algorithm", duration(result.cpu_seconds),
               f"{overhead:.0f} ms per evaluation"),
    ]  # fmt: skip


def duration(seconds: float) -> str:
    """A duration in words.

    >>> duration(0.25), duration(75.0), duration(7300.0), duration(float("nan"))
    ('0.2 s', '75 s', '2.0 h', 'unknown')
    """
    if not np.isfinite(seconds):
        return "unknown"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 300:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def evidence_figures(result: Result) -> list[Figure]:
    """The log evidence first, and the ELBO."""
    elbo = Figure("ELBO", f"{result.elbo:.3f} ± {result.elbo_sd:.3f}", "a lower bound")
    if not np.isfinite(result.log_evidence):
        undefined = Figure("log evidence", "undefined", "the prior is improper")
        return [undefined, elbo]
    value = f"{result.log_evidence:.3f} ± {result.log_evidence_sd:.3f}"
    return [Figure("log evidence", value, f"± SD, by {result.evidence_method}"), elbo]


def _unseen(result: Result) -> str:
    if not result.unseen_share > 0.01:
        return ""
    return (
        f"{100 * result.unseen_share:.0f} % of the plausible box is out of sight of all "
        "evaluations: another mode there would not have been seen."
    )
