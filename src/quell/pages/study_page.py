"""The page of a study: all its runs, and the parameters and evidences over them."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from quell.diagnostics import Status
from quell.diagnostics.check import Answer
from quell.errors import FileError
from quell.pages.chart import Chart
from quell.pages.forest import Estimate, forest_chart
from quell.pages.provenance import versions
from quell.pages.scales import Scale
from quell.pages.verdict import VerdictSection, joint_verdict, kind_of_status
from quell.plots.ranges import range_of
from quell.plots.study import five_quantiles
from quell.plots.style import Z95, cautious_numbers
from quell.results import Result
from quell.results.agreement import diagnose
from quell.studies.result import Row, StudyResult
from quell.text import printable

#: Runs that are drawn, and runs whose parameters are: reading them takes time.
MOST_DRAWN, MOST_READ = 200, 100
#: Parameters that are drawn.
MOST_PARAMETERS = 16


@dataclass(frozen=True)
class StudyRow:
    """One run as text."""

    problem: str
    seed: str
    kind: str
    status: str
    evidence: str
    evaluations: str
    error: str


@dataclass(frozen=True, eq=False)
class StudyPage:
    """All that the page of a study shows."""

    title: str
    verdict: VerdictSection
    rows: list[StudyRow]
    evidence: Chart | None
    parameters: list[Chart]
    agreements: list[list[str]]
    unread: list[str]
    n_drawn: int
    versions: list[tuple[str, str]]

    def data(self) -> dict[str, Any]:
        """Plain data for the scripts of the page."""
        charts = [self.evidence, *self.parameters]
        known = [chart for chart in charts if chart is not None and chart.hover is not None]
        return {"charts": {c.ident: c.hover.as_data() for c in known if c.hover is not None}}


def study_page(study: StudyResult, title: str = "") -> StudyPage:
    """The page of a study; ``ValueError`` if it has no runs."""
    if not study.rows:
        raise ValueError("the study has no runs to report")
    with cautious_numbers():
        results, unread = _read(study)
        drawn = study.rows[:MOST_DRAWN]
        n_problems = len({row.problem for row in study.rows})
        return StudyPage(
            title=printable(title)
            or f"Study of {n_problems} problem{'s' * (n_problems > 1)}, {len(study.rows)} runs",
            verdict=_verdict(study),
            rows=[_row(row) for row in study.rows],
            evidence=_evidence(study, drawn),
            parameters=_parameters(study, results),
            agreements=_agreements(results),
            unread=unread,
            n_drawn=len(drawn),
            versions=versions(),
        )


def _read(study: StudyResult) -> tuple[dict[tuple[str, int], Result], list[str]]:
    """Results of the first finished runs; and which of them could not be read, and why."""
    results, unread = {}, []
    finished = [row for row in study.rows if not row.error]
    for row in finished[:MOST_READ]:
        try:
            results[row.problem, row.seed] = study.result(row.problem, row.seed)
        except (FileError, KeyError) as error:
            unread.append(printable(f"{row.problem}, seed {row.seed}: {error}"))
    return results, unread


def _verdict(study: StudyResult) -> VerdictSection:
    counts = Counter(row.status or "status not kept" for row in study.rows if not row.error)
    n, n_failed = len(study.rows), sum(bool(row.error) for row in study.rows)
    n_stable = counts[str(Status.STABLE)]
    answer = Answer.USABLE if n_stable == n else Answer.NOT_YET
    answer = Answer.NO if counts[str(Status.SUSPECT)] or n_failed else answer
    reasons = []
    if n_failed:
        reasons.append(f"{n_failed} of {n} runs have no result: the table below says why")
    for status, advice in (
        (Status.SUSPECT, "something contradicts them: report each alone to see what"),
        (Status.UNSTABLE, "they still move: use a larger budget"),
        (Status.TOO_SHORT, "they are too short to tell: use a larger budget"),
    ):
        if counts[str(status)]:
            reasons.append(f'{counts[str(status)]} of {n} runs are "{status}": {advice}')
    headline = f"{n_stable} of {n} stable"
    sentence = (
        "All runs are stable, and nothing speaks against any of them."
        if n_stable == n
        else "What each run says of itself is in the table of runs."
    )
    return joint_verdict(answer, "How do the runs stand?", headline, sentence, reasons)


def _row(row: Row) -> StudyRow:
    _, _, evidence, status, evaluations, _ = row.cells()
    kind = "failed" if row.error else kind_of_status(row.status)
    return StudyRow(
        printable(row.problem), str(row.seed), kind, "no result" if row.error else status,
        evidence, evaluations, printable(row.error),
    )  # fmt: skip


def _name(study: StudyResult, row: Row) -> str:
    several = len({one.problem for one in study.rows}) < len(study.rows)
    return printable(f"{row.problem}, {row.seed}" if several else row.problem)


def _evidence(study: StudyResult, rows: tuple[Row, ...]) -> Chart | None:
    estimates = [
        Estimate(
            _name(study, row), row.log_evidence, row.log_evidence - Z95 * row.log_evidence_sd,
            row.log_evidence + Z95 * row.log_evidence_sd, kind_of_status(row.status),
            words=f"{_name(study, row)}: {' '.join(row.cells()[2:4])}",
        )
        for row in rows
        if not row.error and np.isfinite(row.log_evidence)
    ]  # fmt: skip
    if not estimates:
        return None
    return forest_chart(
        "evidences", "The log evidence of each run", "log evidence, 95 % interval", estimates
    )


def _parameters(study: StudyResult, results: dict[tuple[str, int], Result]) -> list[Chart]:
    names = list(
        dict.fromkeys(name for one in results.values() for name in one.posterior.space.free_names)
    )
    charts = []
    for place, name in enumerate(names[:MOST_PARAMETERS]):
        having = {
            row: results[row.problem, row.seed].posterior
            for row in study.rows
            if (row.problem, row.seed) in results
            and name in results[row.problem, row.seed].posterior.space.free_names
        }
        shown = range_of(list(having.values()), name)
        estimates = []
        for row, posterior in having.items():
            low, q1, middle, q3, high = five_quantiles(posterior, name, shown)
            words = f"{_name(study, row)}: {middle:.4g} ({low:.4g} to {high:.4g})"
            kind = kind_of_status(row.status)
            estimates.append(Estimate(_name(study, row), middle, low, high, kind, (q1, q3), words))
        charts.append(
            forest_chart(
                f"parameter-{place}", f"{printable(name)} in each run", printable(name)[:60],
                estimates, width=400, scale=Scale.of(shown),
            )
        )  # fmt: skip
    return charts


def _agreements(results: dict[tuple[str, int], Result]) -> list[list[str]]:
    """Whether the runs of each problem agree, where it has several."""
    problems: dict[str, dict[str, Result]] = {}
    for (problem, seed), result in results.items():
        problems.setdefault(problem, {})[f"seed {seed}"] = result
    rows = []
    for problem, runs in problems.items():
        if len(runs) > 1:
            try:
                found = diagnose(runs)
            except ValueError:  # a folder whose problem was changed between runs
                continue
            rows.append(
                [
                    printable(problem), f"{int(found.group.sum())} of {len(runs)}",
                    str(found.answer), printable(" ".join(found.reasons)),
                ]
            )  # fmt: skip
    return rows
