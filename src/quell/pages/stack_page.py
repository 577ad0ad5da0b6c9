"""The page of a stacked result: several runs of one problem as one posterior."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from quell.diagnostics.check import ANSWERS, Answer
from quell.pages.chart import Chart
from quell.pages.corner import Corner, corner_of
from quell.pages.evaluations import EvaluationsSection, evaluations_section
from quell.pages.forest import Estimate, forest_chart
from quell.pages.parameters import ParameterRow, parameter_rows
from quell.pages.provenance import digest, problem_lines, problem_rows, versions
from quell.pages.run_page import Figure, names_in_words
from quell.pages.verdict import VerdictSection, joint_verdict, kind_of_status
from quell.plots.style import Z95, cautious_numbers
from quell.stacking import StackedResult
from quell.text import printable

HEADLINES = {
    Answer.USABLE: ("Usable", "The runs stacked have come to rest, and cover what all have seen."),
    Answer.NOT_YET: ("Not yet", "None of the runs stacked has come to rest."),
    Answer.NO: ("No", "Too few of the runs are sound, or they do not cover what all have seen."),
}
#: Runs that are drawn.
MOST_DRAWN = 200


@dataclass(frozen=True)
class StackedRun:
    """One of the runs as text."""

    number: str
    seed: str
    kind: str
    status: str
    evidence: str
    evaluations: str
    weight: str
    left_out: str


@dataclass(frozen=True, eq=False)
class StackPage:
    """All that the page of a stacked result shows."""

    title: str
    verdict: VerdictSection
    figures: list[Figure]
    rows: list[StackedRun]
    evidence: Chart
    parameters: list[ParameterRow]
    corner: Corner
    evaluations: EvaluationsSection
    problem: list[tuple[str, str]]
    digest: str
    versions: list[tuple[str, str]]
    snippet: str

    def data(self) -> dict[str, Any]:
        """Plain data for the scripts of the page."""
        charts = [self.evidence, self.evaluations.chart]
        known = [chart for chart in charts if chart is not None]
        return {
            "charts": {c.ident: c.hover.as_data() for c in known if c.hover is not None},
            "corner": self.corner.data,
            "evaluations": self.evaluations.data,
        }


def stack_page(result: StackedResult, title: str = "") -> StackPage:
    """The page of a stacked result."""
    posterior, n = result.posterior, len(result.runs)
    with cautious_numbers():
        answer = ANSWERS[result.status]
        headline, sentence = HEADLINES[answer]
        return StackPage(
            title=printable(title) or f"{n} runs stacked: {names_in_words(posterior.names)}",
            verdict=joint_verdict(
                answer, "Can this be believed?", headline,
                f"{sentence} {n - len(result.left_out)} of {n} runs are stacked.",
                [*result.reasons, *(f"left out: {one}" for one in result.left_out)],
            ),
            figures=_figures(result),
            rows=[_row(i, row) for i, row in enumerate(result.runs, start=1)],
            evidence=_evidence(result),
            parameters=parameter_rows(posterior),
            corner=corner_of(posterior),
            evaluations=evaluations_section(result.evaluations, posterior.space.dimension),
            problem=problem_rows(result.problem),
            digest=digest(result.problem),
            versions=versions(),
            snippet=snippet(result),
        )  # fmt: skip


def _figures(result: StackedResult) -> list[Figure]:
    n, free = len(result.evaluations), result.posterior.space.dimension
    evidence = Figure("log evidence", "undefined", "the prior is improper")
    if np.isfinite(result.log_evidence):
        value = f"{result.log_evidence:.3f} ± {result.log_evidence_sd:.3f}"
        evidence = Figure("log evidence", value, f"± SD, by {result.evidence_method}")
    failed = result.evaluations.n_failed
    return [
        evidence,
        Figure("ELBO", f"{result.elbo:.3f}", "a lower bound"),
        Figure("evaluations", str(n), f"{failed or 'none'} failed"),
        Figure("parameters", str(free), ""),
        Figure("components", str(result.n_components), f"of {len(result.posterior.members)} runs"),
        Figure("effective draws", f"{result.effective_draws:.0f}", "behind the evidence"),
    ]


def _of_run(row: dict[str, Any]) -> tuple[str, float, float]:
    """The log evidence of a run with its SD, or its ELBO, whose SD is not kept."""
    if np.isfinite(row["log_evidence"]):
        return "log evidence", row["log_evidence"], row["log_evidence_sd"]
    return "ELBO", row["elbo"], np.nan


def _row(number: int, row: dict[str, Any]) -> StackedRun:
    name, value, sd = _of_run(row)
    return StackedRun(
        str(number), str(row["seed"]), kind_of_status(row["status"]), row["status"],
        f"{value:.3f} ± {sd:.3f}" if name == "log evidence" else f"ELBO {value:.3f}",
        str(row["evaluations"]), f"{row['weight']:.3f}", row["left_out"],
    )  # fmt: skip


def _evidence(result: StackedResult) -> Chart:
    """The log evidences of the runs with their 95 % intervals, that of all together first."""
    whole, sd = result.log_evidence, result.log_evidence_sd
    defined = bool(np.isfinite(whole))
    unit = "log evidence" if defined else "ELBO"
    kind = str(ANSWERS[result.status]).replace(" ", "-")
    rows = [("all together", whole if defined else result.elbo, sd if defined else np.nan, kind)]
    for i, row in enumerate(result.runs[:MOST_DRAWN], start=1):
        _, value, sd = _of_run(row)
        rows.append((f"run {i} (seed {row['seed']})", value, sd, kind_of_status(row["status"])))
    estimates = []
    for name, value, sd, kind in rows:
        half = float(np.nan_to_num(Z95 * sd))
        words = f"{name}: {unit} {value:.3f}" + (f" ± {sd:.3f}" if np.isfinite(sd) else "")
        estimates.append(Estimate(name, value, value - half, value + half, kind, words=words))
    title = f"The {unit} of all runs together, and of each"
    return forest_chart("evidences", title, f"{unit}, 95 % interval", estimates)


def snippet(result: StackedResult) -> str:
    """Python code that makes the stack again, given the target."""
    runs = [f"({row['seed']}, {row['evaluations']})" for row in result.runs]
    lines = [
        *problem_lines(result.problem),
        "runs = [  # seed and budget of each",
        *(f"    {run}," for run in runs),
        "]",
        "results = [quell.infer(problem, budget=budget, seed=seed) for seed, budget in runs]",
        "stacked = quell.stack(results)",
    ]
    return "\n".join(lines)
