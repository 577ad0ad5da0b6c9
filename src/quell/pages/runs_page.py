"""The page of several runs of one problem: do they agree?"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from quell.diagnostics.check import ANSWERS, Answer
from quell.pages.chart import Chart, Key
from quell.pages.forest import Estimate, forest_chart
from quell.pages.overlay import overlay_charts, run_keys
from quell.pages.parameters import ParameterRow, parameter_rows
from quell.pages.provenance import Provenance, provenance
from quell.pages.run_page import Figure, evidence_figures, names_in_words
from quell.pages.trace import trace_chart
from quell.pages.verdict import VerdictSection, joint_verdict, verdict_section
from quell.plots.style import Z95, cautious_numbers
from quell.results import Result
from quell.results.agreement import LARGEST_GSKL, LARGEST_MMTV, Agreement, diagnose
from quell.text import printable

#: Pairs of runs that are listed, the furthest apart first.
MOST_PAIRS = 60
HEADLINES = {
    Answer.USABLE: ("Usable", "The runs agree, and vouch for each other."),
    Answer.NOT_YET: ("Not yet", "Not all runs agree."),
    Answer.NO: ("No", "These runs cannot be used as they are."),
}


@dataclass(frozen=True, eq=False)
class RunRow:
    """One of the runs, in the table of all."""

    name: str
    anchor: str
    kind: str
    answer: str
    status: str
    evidence: str
    evaluations: str
    seed: str
    agrees: bool


@dataclass(frozen=True, eq=False)
class SingleRun:
    """What is shown of each run below."""

    name: str
    anchor: str
    verdict: VerdictSection
    figures: list[Figure]
    parameters: list[ParameterRow]
    trace: Chart


@dataclass(frozen=True, eq=False)
class RunsPage:
    """All that the page of several runs shows."""

    title: str
    verdict: VerdictSection
    rows: list[RunRow]
    pairs: list[list[str]]
    n_pairs: int
    evidence: Chart
    marginals: list[Chart]
    keys: list[Key]
    runs: list[SingleRun]
    provenance: Provenance

    def data(self) -> dict[str, Any]:
        """Plain data for the scripts of the page."""
        charts = [self.evidence, *self.marginals, *(run.trace for run in self.runs)]
        return {"charts": {c.ident: c.hover.as_data() for c in charts if c.hover is not None}}


def runs_page(runs: Mapping[str, Result], title: str = "") -> RunsPage:
    """The page of runs by name; ``ValueError`` if they are not of one problem."""
    with cautious_numbers():
        agreement = diagnose(runs)
        first = next(iter(runs.values()))
        headline, sentence = HEADLINES[agreement.answer]
        n = len(runs)
        return RunsPage(
            title=printable(title)
            or f"{n} runs: {names_in_words(first.posterior.names)}",
            verdict=joint_verdict(
                agreement.answer, "Can these be believed?", headline,
                f"{sentence} {int(agreement.group.sum())} of {n} agree with each other.",
                agreement.reasons,
            ),
            rows=[_row(i, agreement, run) for i, run in enumerate(runs.values())],
            pairs=_pairs(agreement),
            n_pairs=n * (n - 1) // 2,
            evidence=evidence_chart(runs),
            marginals=overlay_charts(runs),
            keys=run_keys(runs),
            runs=[_single(i, name, run) for i, (name, run) in enumerate(runs.items())],
            provenance=provenance(first),
        )  # fmt: skip


def _row(i: int, agreement: Agreement, run: Result) -> RunRow:
    answer = agreement.answers[i]
    return RunRow(
        printable(agreement.names[i]), f"run-{i}", str(answer).replace(" ", "-"), str(answer),
        str(run.status),
        f"{agreement.log_evidence[i]:.3f} ± {agreement.log_evidence_sd[i]:.3f}",
        str(run.evaluations.n_counted), str(run.seed), bool(agreement.group[i]),
    )  # fmt: skip


def _pairs(agreement: Agreement) -> list[list[str]]:
    """Distances of every two runs, the furthest apart first."""
    pairs = sorted(
        combinations(range(len(agreement.names)), 2), key=lambda pair: -agreement.mmtv[pair]
    )
    return [
        [
            printable(agreement.names[i]), printable(agreement.names[j]),
            f"{agreement.mmtv[i, j]:.3f}", f"{agreement.gskl[i, j]:.3g}",
            f"{agreement.evidence_z[i, j]:.1f}", "yes" if agreement.agree[i, j] else "no",
        ]
        for i, j in pairs[:MOST_PAIRS]
    ]  # fmt: skip


def evidence_chart(runs: Mapping[str, Result]) -> Chart:
    """Log evidences with their 95 % intervals; ELBOs where they are not defined."""
    defined = all(np.isfinite(run.log_evidence) for run in runs.values())
    unit = "log evidence" if defined else "ELBO"
    rows = []
    for name, run in runs.items():
        value, sd = (run.log_evidence, run.log_evidence_sd) if defined else (run.elbo, run.elbo_sd)
        kind = str(ANSWERS[run.status]).replace(" ", "-")
        words = f"{printable(name)}: {unit} {value:.3f} ± {sd:.3f}, {run.status}"
        rows.append(
            Estimate(printable(name), value, value - Z95 * sd, value + Z95 * sd, kind, words=words)
        )
    return forest_chart("evidences", f"The {unit} of each run", f"{unit}, 95 % interval", rows)


def _single(i: int, name: str, run: Result) -> SingleRun:
    return SingleRun(
        printable(name), f"run-{i}", verdict_section(run, run.check()), evidence_figures(run),
        parameter_rows(run.posterior), trace_chart(run, f"trace-{i}"),
    )  # fmt: skip


#: Limits that the page states.
LIMITS = {"mmtv": f"{LARGEST_MMTV:g}", "gskl": f"{LARGEST_GSKL:g}"}
