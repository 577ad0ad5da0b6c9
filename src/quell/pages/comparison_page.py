"""The page of a comparison of models, for one data set or for a group of subjects."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from quell.comparison import Comparison, GroupComparison
from quell.comparison.single import LIKELIHOODS, MEANINGLESS_SD, SETTLED_SDS
from quell.diagnostics.check import Answer
from quell.pages.chart import Chart
from quell.pages.forest import Estimate, forest_chart
from quell.pages.provenance import versions
from quell.pages.scales import Scale
from quell.pages.verdict import VerdictSection, joint_verdict
from quell.plots.style import Z95
from quell.text import printable

#: A probability, or a protected exceedance probability, from which a case is called decided.
SETTLED = 0.95


@dataclass(frozen=True, eq=False)
class Table:
    """A table of text: its place and heading in the page, caption, head, rows, what is under it."""

    ident: str
    heading: str
    caption: str
    head: list[str]
    rows: list[list[str]]
    note: str = ""


@dataclass(frozen=True, eq=False)
class ComparisonPage:
    """All that the page of a comparison shows."""

    title: str
    verdict: VerdictSection
    tables: list[Table]
    charts: list[Chart]
    cautions: list[str]
    versions: list[tuple[str, str]]

    def data(self) -> dict[str, Any]:
        """Plain data for the scripts of the page."""
        return {"charts": {c.ident: c.hover.as_data() for c in self.charts if c.hover is not None}}


def comparison_page(comparison: Comparison | GroupComparison, title: str = "") -> ComparisonPage:
    """The page of a comparison."""
    whole = f"{len(comparison.models)} models compared"
    if isinstance(comparison, Comparison):
        tables, charts, answer, headline = _of_one(comparison)
    else:
        tables, charts, answer, headline = _of_group(comparison)
        whole += f" over {len(comparison.subjects)} subjects"
    cautions = [printable(text) for text in (*comparison.cautions, LIKELIHOODS)]
    verdict = joint_verdict(answer, "Which model?", headline, comparison.verdict())
    return ComparisonPage(printable(title) or whole, verdict, tables, charts, cautions, versions())


Parts = tuple[list[Table], list[Chart], Answer, str]


def _of_one(comparison: Comparison) -> Parts:
    order = np.argsort(-comparison.log_evidence, kind="stable")
    best = int(order[0])
    names = [printable(model) for model in comparison.models]
    factors, sds = comparison.log_bayes_factors, comparison.log_bayes_factor_sds
    low_high, probabilities = comparison.intervals, comparison.probabilities
    rows = [
        [
            names[i], f"{comparison.log_evidence[i]:.3f} ± {comparison.sd[i]:.3f}",
            "–" if i == best else f"{factors[i, best]:.2f} ± {sds[i, best]:.2f}",
            f"{comparison.prior[i]:.3g}", f"{probabilities[i]:.3f}",
            f"{low_high[i, 0]:.3f} to {low_high[i, 1]:.3f}", f"{comparison.n_runs[i]:.0f}",
        ]
        for i in order
    ]  # fmt: skip
    tables = [
        Table(
            "models", "Models", "Models, the best first",
            ["model", "log evidence", "log Bayes factor to the best", "prior", "probability",
             "95 %", "runs"], rows,
            "Probabilities are expectations over the errors of the evidences; the interval is "
            "where these leave them.",
        ),
        Table(
            "factors", "Bayes factors", "Log Bayes factors: the row's model over the column's",
            ["", *(names[j] for j in order)],
            [[names[i], *("–" if i == j else f"{factors[i, j]:.2f} ± {sds[i, j]:.2f}"
                          for j in order)] for i in order],
        ),
    ]  # fmt: skip
    relative = [
        Estimate(
            names[i], factors[i, best], factors[i, best] - Z95 * sds[i, best],
            factors[i, best] + Z95 * sds[i, best],
            words=f"{names[i]}: log Bayes factor {factors[i, best]:.2f} ± {sds[i, best]:.2f}",
        )
        for i in order
    ]  # fmt: skip
    chances = [
        Estimate(
            names[i], probabilities[i], low_high[i, 0], low_high[i, 1],
            words=f"{names[i]}: probability {probabilities[i]:.3f} "
                  f"({low_high[i, 0]:.3f} to {low_high[i, 1]:.3f})",
        )
        for i in order
    ]  # fmt: skip
    charts = [
        forest_chart("factors-chart", "Evidence relative to the best model",
                     "log Bayes factor to the best, 95 % interval", relative, zero=0.0),
        forest_chart("chances", "Posterior probabilities of the models",
                     "posterior probability, 95 % interval", chances, scale=Scale(0.0, 1.0)),
    ]  # fmt: skip
    second = int(order[1])
    value, sd = factors[best, second], sds[best, second]
    if sd > MEANINGLESS_SD:
        return tables, charts, Answer.NO, "Means nothing"
    if value < SETTLED_SDS * sd:
        return tables, charts, Answer.NOT_YET, "Not settled"
    if probabilities[best] < SETTLED:
        return tables, charts, Answer.NOT_YET, "One is ahead, not decided"
    return tables, charts, Answer.USABLE, "Decided"


def _of_group(group: GroupComparison) -> Parts:
    order = np.argsort(-group.frequencies, kind="stable")
    best = int(order[0])
    names = [printable(model) for model in group.models]
    totals, sds = group.fixed_effects
    top, low_high = int(np.argmax(totals)), group.intervals
    rows = [
        [
            names[i], f"{group.frequencies[i]:.3f} ± {group.frequency_sds[i]:.3f}",
            f"{group.exceedance[i]:.3f}", f"{group.protected_exceedance[i]:.3f}",
            f"{low_high[i, 0]:.3f} to {low_high[i, 1]:.3f}",
            "–" if i == top
            else f"{totals[i] - totals[top]:.1f} ± {np.hypot(sds[i], sds[top]):.1f}",
        ]
        for i in order
    ]  # fmt: skip
    probabilities = group.subject_probabilities
    subjects = []
    for n, subject in enumerate(group.subjects):
        first = int(np.argmax(group.log_evidence[n]))
        cells = zip(group.log_evidence[n], group.sd[n], strict=True)
        subjects.append(
            [printable(subject), *(f"{value:.2f} ± {sd:.2f}" for value, sd in cells),
             names[first], f"{probabilities[n, first]:.3f}"]
        )  # fmt: skip
    tables = [
        Table(
            "models", "Models", "Models, the most frequent first",
            ["model", "frequency", "exceedance", "protected", "95 %", "fixed effects"], rows,
            f"Bayesian omnibus risk (that all models are equally frequent): "
            f"{group.omnibus_risk:.3f}. Fixed effects are sums of log evidences relative to the "
            "best: they ask which one model all subjects have.",
        ),
        Table(
            "subjects", "Subjects", "Log evidences by subject",
            ["subject", *names, "best", "probability"], subjects,
        ),
    ]  # fmt: skip
    frequent = [
        Estimate(
            names[i], group.frequencies[i],
            max(0.0, group.frequencies[i] - Z95 * group.frequency_sds[i]),
            min(1.0, group.frequencies[i] + Z95 * group.frequency_sds[i]),
            words=f"{names[i]}: frequency {group.frequencies[i]:.3f} ± "
                  f"{group.frequency_sds[i]:.3f}",
        )
        for i in order
    ]  # fmt: skip
    chart = forest_chart("frequencies", "How frequent each model is", "expected frequency ± 2 SD",
                         frequent, scale=Scale(0.0, 1.0))  # fmt: skip
    settled = group.protected_exceedance[best] >= SETTLED
    answer = Answer.USABLE if settled else Answer.NOT_YET
    return tables, [chart], answer, "Decided" if settled else "Not decided"
