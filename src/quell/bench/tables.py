"""Records of many runs as a table of medians: for a terminal, for Markdown, for a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from quell.bench.problems import NOTES
from quell.bench.provenance import version_of
from quell.bench.summary import (
    METRICS,
    Group,
    GroupSummary,
    Record,
    Share,
    Spread,
    groups,
    summarise,
)
from quell.text import table

TITLES = {"lml_loss": "LML", "lml_loss_checked": "LML checked", "gskl": "gsKL", "mmtv": "MMTV"}
RESULTS = (
    "runs", "evals", *(text for name in METRICS for text in (TITLES[name], "q90")),
    "usable", "covered", "ms",
)  # fmt: skip
LEGEND = (
    "Medians over runs [95 % bootstrap interval], and 90 % quantiles (q90). LML: loss of the log",
    "evidence against the stored truth; LML checked: against the best value known. usable: share",
    "of runs with LML < 1, gsKL < 1 and MMTV < 0.2; covered: share of runs whose log evidence is",
    "within 1.96 of its own SDs of the checked truth; both with [95 % Wilson interval]. ms: the",
    "algorithm's own CPU time per evaluation, median. evals: evaluations used, median. Protocols:",
    "full budget, all of which is used; own stop, where the algorithm ends by its own rule.",
)
#: What protocols are called: runs that may stop early, or not.
PROTOCOLS = {False: "full budget", True: "own stop"}


def text_table(records: Iterable[Record]) -> str:
    """The table for a terminal: one line per problem and setting, its algorithms below."""
    rows: list[tuple[str, ...]] = [("", *RESULTS)]
    headings: dict[int, str] = {}
    summaries = _summaries(records)
    task = None
    for group, summary in summaries.items():
        if group.task != task:
            task = group.task
            headings[len(rows)] = describe(group)
        rows.append((algorithm(group), *cells(summary)))
    lines = table(rows, indent="").splitlines()
    output = []
    for number, line in enumerate(lines):
        if number in headings:
            output += ["", headings[number]]
        output.append(line)
    return "\n".join([*output, "", *LEGEND, *notes(summaries)])


def markdown_table(records: Iterable[Record]) -> str:
    """The table as Markdown: one row per group."""
    summaries = _summaries(records)
    header = ("problem", "D", "data", "mode", "noise", "budget", "algorithm", "protocol", *RESULTS)
    rows = [
        (
            group.problem, str(group.dim), group.data or "-", mode(group), noise(group),
            str(group.budget), group.algorithm, PROTOCOLS[group.stop_early], *cells(summary),
        )
        for group, summary in summaries.items()
    ]  # fmt: skip
    rule = ["---" if title in header[:8] and title != "D" else "---:" for title in header]
    lines = [f"| {' | '.join(row)} |" for row in (header, *rows)]
    return "\n".join(
        [lines[0], f"|{'|'.join(rule)}|", *lines[1:], "", *LEGEND, *notes(summaries)]
    )  # fmt: skip


def csv_table(records: Iterable[Record]) -> str:
    """The numbers of the table, in full, one row per group."""
    output = io.StringIO()
    rows = [
        {**group._asdict(), **numbers(summary)} for group, summary in _summaries(records).items()
    ]
    writer = csv.DictWriter(output, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return output.getvalue().rstrip("\n")


def _summaries(records: Iterable[Record]) -> dict[Group, GroupSummary]:
    return {group: summarise(runs) for group, runs in groups(records).items()}


def numbers(summary: GroupSummary) -> dict[str, Any]:
    """The numbers of a summary, by name."""
    row: dict[str, Any] = {"runs": summary.runs, "failed": summary.failed}
    for name, spread in summary.spreads.items():
        row |= {f"{name}_{part}": value for part, value in vars(spread).items()}
    for name in ("usable", "coverage"):
        share: Share = getattr(summary, name)
        row |= {name: share.share, f"{name}_low": share.low, f"{name}_high": share.high}
    ranks = "" if summary.rank_p is None else " ".join(f"{p:.6g}" for p in summary.rank_p)
    versions = " ".join(f"{name}:{n}" for name, n in summary.versions.items())
    return {
        **row, "evaluations": summary.evaluations, "overhead_ms": summary.overhead_ms,
        "rank_p": ranks, "versions": versions,
    }  # fmt: skip


def cells(summary: GroupSummary) -> tuple[str, ...]:
    """The cells of a summary, in the order of the results' titles."""
    spreads = (part for name in METRICS for part in _spread(summary.spreads[name]))
    failed = f" ({summary.failed} failed)" if summary.failed else ""
    cost = "-" if np.isnan(summary.overhead_ms) else f"{summary.overhead_ms:.0f}"
    return (
        f"{summary.runs}{failed}",
        "-" if np.isnan(summary.evaluations) else f"{summary.evaluations:.0f}",
        *spreads,
        _share(summary.usable),
        _share(summary.coverage),
        cost,
    )


def _spread(spread: Spread) -> tuple[str, str]:
    if np.isnan(spread.median):
        return "-", "-"
    interval = f"[{number(spread.low)}, {number(spread.high)}]"
    return f"{number(spread.median)} {interval}", number(spread.q90)


def _share(share: Share) -> str:
    if np.isnan(share.share):
        return "-"
    value, low, high = (f"{part:.2f}".removeprefix("0") for part in vars(share).values())
    return f"{value} [{low}, {high}]"


def number(value: float) -> str:
    """A number in two digits, without the zero before the point.

    >>> number(0.12345), number(12.345), number(123.4), number(0.0000123), number(np.inf)
    ('.12', '12', '123', '1e-5', 'inf')
    """
    if not 0 < value < np.inf:
        return f"{value:.0f}"
    rounded = float(f"{value:.2g}")
    if rounded < 0.0005 or rounded >= 10_000:
        return f"{rounded:.0e}".replace("e-0", "e-").replace("e+0", "e")
    return f"{value:.0f}" if rounded >= 10 else f"{rounded}".removeprefix("0")


def describe(group: Group) -> str:
    """A problem and the setting it is run in."""
    parts = [f"{group.problem} (D = {group.dim})", mode(group)]
    parts += [f"noise {noise(group)}"] * (group.mode == "exact")
    parts += [f"budget {group.budget}"] + [f"{group.data} data"] * bool(group.data)
    return ", ".join(parts)


def mode(group: Group) -> str:
    """The mode of a group's runs, and whether they took the shortcut."""
    return group.mode + " (fast)" * group.fast


def noise(group: Group) -> str:
    """The noise of a group's runs."""
    sd = "own" if group.mode == "noisy" else "none" if group.noise is None else f"{group.noise:g}"
    return sd + (f" jitter {group.noise_jitter:g}" if group.noise_jitter else "")


def algorithm(group: Group) -> str:
    """The algorithm of a group's runs, and their protocol where that is not the full budget."""
    return group.algorithm + f", {PROTOCOLS[True]}" * group.stop_early


def notes(summaries: dict[Group, GroupSummary]) -> list[str]:
    """What a reader should know about the problems in the table, and the tests of ranks."""
    known = dict.fromkeys((group.problem, group.data) for group in summaries)
    lines = [NOTES[key] for key in known if key in NOTES]
    for group, summary in summaries.items():
        if summary.rank_p is not None:
            p = ", ".join(f"{value:.2g}" for value in summary.rank_p)
            lines.append(
                f"{group.problem} (D = {group.dim}), {algorithm(group)}: p-values of uniform ranks "
                f"of the {group.dim} true parameters over {summary.runs} data sets: {p}"
            )
    return [*lines, *mixed_versions(summaries)]


def mixed_versions(summaries: dict[Group, GroupSummary]) -> list[str]:
    """A warning for every algorithm whose runs in the table were made by several versions."""
    made: dict[str, Counter[str]] = {}
    for group, summary in summaries.items():
        made.setdefault(group.algorithm, Counter()).update(summary.versions)
    return _mixed(made)


def mixed_runs(records: Iterable[Record]) -> list[str]:
    """The same warnings about these records.

    >>> mixed_runs([{"algorithm": "quell", "commit": "a"}, {"algorithm": "quell", "commit": "b"}])
    ['MIXED: runs of quell are of 2 versions: 1 of a, 1 of b']
    """
    made: dict[str, Counter[str]] = {}
    for record in records:
        made.setdefault(record["algorithm"], Counter()).update([version_of(record)])
    return _mixed(made)


def _mixed(made: dict[str, Counter[str]]) -> list[str]:
    return [
        f"MIXED: runs of {name} are of {len(versions)} versions: "
        + ", ".join(f"{n} of {version}" for version, n in versions.items())
        for name, versions in made.items()
        if len(versions) > 1
    ]
