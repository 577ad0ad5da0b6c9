"""What runs knew at half their budget, beside what the others have after all of it.

Half the budget is read off the traces: it is what would have been returned there. PyVBMC's lines
are figures of other people's runs and of a few of our own (`quell.bench.published`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from quell.bench.displays.looks import NAMES, PAPER_SDS, TITLES
from quell.bench.displays.selection import by_algorithm, full_runs, noise_in_words
from quell.bench.implied import implied_truth
from quell.bench.layout import laid_out, listed
from quell.bench.published import MEASURED, MEASURED_RUNS, PYVBMC_RUNS, REAL, Published, median
from quell.bench.summary import Group, GroupSummary, Record, groups, summarise
from quell.bench.tables import mixed_runs, number

HEADER = ("problem", "noise", "who", "runs", "evaluations", "LML", "gsKL", "MMTV", "usable")
LEGEND = (
    "Medians. half: the last checkpoint before half of the budget 50 (D + 2), of what would have",
    "been returned there; whole: at its end. LML: error of the log evidence (PyVBMC: of the ELBO)",
    "against the best value known, of PyVBMC as published against the stored one. usable: share of",
    "runs with LML < 1 (stored truth), gsKL < 1 and MMTV < 0.2. PyVBMC, earlier: version 1.5.0 and",
    "the whole budget, runs made here whose rows were not kept; published: 100 runs by its",
    "developers, which end by its own rule.",
)
METRICS = {"lml_loss_checked": "LML", "gskl": "gsKL", "mmtv": "MMTV"}
HALF, WHOLE, EARLIER, PUBLISHED = "half", "whole", "earlier", "published"
#: What Quell is compared with, in the words below the table.
PEERS = {
    ("viqr", WHOLE): "VBMC-VIQR's after the whole budget",
    ("pyvbmc", WHOLE): "PyVBMC's after the whole budget",
    ("pyvbmc", EARLIER): "PyVBMC's after the whole budget, in earlier runs",
    ("pyvbmc", PUBLISHED): "PyVBMC's as published, at its own stop",
}
Medians = dict[str, float]


def halfway_table(records: Iterable[Record], *, markdown: bool = False) -> str:
    """A few rows for each of the ten problems: Quell, the paper's algorithm, PyVBMC."""
    rows: list[tuple[str, ...]] = [HEADER]
    compared: dict[tuple[str, str], list[dict[str, bool]]] = {}
    halves, wholes, used = [], [], []
    of_the_paper = [record for record in full_runs(records) if _has_the_papers_noise(record)]
    for runs in by_task(of_the_paper).values():
        mine = by_algorithm(runs, ("quell", "viqr", "pyvbmc"))
        lines = _lines(mine)
        if ("quell", HALF) not in lines:
            continue
        used += [run for those in mine.values() for run in those]
        problem, noise = runs[0]["problem"], noise_in_words(runs[0])
        # Figures of others stand beside one kind of noise, the emulated one if it is there.
        peers = {} if any(row[0] == problem for row in rows) else _peers(problem)
        named = (problem, noise)
        for (name, when), line in lines.items():
            rows.append((*named, f"{NAMES[name]}, {when}", *_cells(line)))
            named = ("", "")
        for (name, when), (count, figures) in peers.items():
            who = f"{NAMES[name]}, {when}"
            rows.append(("", f"SD {figures.noise:g}", who, *_peer(figures, count)))
        halves.append(lines["quell", HALF])
        wholes.append(lines["quell", WHOLE])
        medians = {key: _medians(line) for key, line in lines.items()}
        medians |= {key: _published_medians(figures) for key, (_, figures) in peers.items()}
        for key in set(PEERS) & set(medians):
            won = _smaller(medians["quell", HALF], medians[key])
            compared.setdefault(key, []).append(won)
    if not halves:
        return "no runs of quell on the ten problems that can be followed to half their budget"
    notes = [
        f"Quell: {_usable(halves)} runs are usable at half the budget, {_usable(wholes)} after the "
        "whole.",
        *(_tally(key, compared[key]) for key in PEERS if key in compared),
    ]
    table = laid_out(rows, words=3, markdown=markdown)
    below = listed([*notes, *mixed_runs(used)], markdown=markdown)
    return "\n".join([table, "", *LEGEND, "", *below])


def _lines(mine: Mapping[str, list[Record]]) -> dict[tuple[str, str], GroupSummary]:
    """What the runs of each algorithm say, at half their budget where they have traces."""
    lines = {}
    for name, runs in mine.items():
        if earlier := at_half(runs):
            lines[name, HALF] = summarise(earlier)
        lines[name, WHOLE] = summarise(runs)
    return lines


def at_half(records: Sequence[Record]) -> list[Record]:
    """The records as if the runs had ended at half their budget; those without traces left out.

    A run that has no checkpoint by then counts as failed, as does one that failed later.
    """
    truth = implied_truth(records, "lml_loss_checked")
    found = []
    for record in records:
        if "error" in record:
            found.append(record)
        if not record.get("trace"):
            continue
        reached = [row for row in record["trace"] if 2 * row["evaluations"] <= record["budget"]]
        row: Mapping[str, Any] = reached[-1] if reached else {"error": "no checkpoint"}
        checked = np.nan
        if truth is not None and "log_evidence" in row:
            checked = abs(float(row["log_evidence"]) - truth)
        found.append({**record, "lml_loss_checked": checked, **row})
    return found


def by_task(records: Iterable[Record]) -> dict[Group, list[Record]]:
    """The records of each problem and kind of noise."""
    found: dict[Group, list[Record]] = {}
    for group, runs in groups(records).items():
        found.setdefault(group.task, []).extend(runs)
    return found


def _has_the_papers_noise(record: Record) -> bool:
    own = record["mode"] == "noisy" or record["noise"] == PAPER_SDS.get(record["problem"])
    return record["problem"] in TITLES and own


def _peers(problem: str) -> dict[tuple[str, str], tuple[int, Published]]:
    """PyVBMC's figures on a problem with the paper's noise, and how many runs they are of."""
    found: dict[tuple[str, str], tuple[int, Published]] = {}
    for row in MEASURED:
        if row.problem == problem:
            found["pyvbmc", EARLIER] = MEASURED_RUNS[problem], row
    for row in REAL:
        if (row.problem, row.noise) == (problem, PAPER_SDS.get(problem)):
            found["pyvbmc", PUBLISHED] = PYVBMC_RUNS, row
    return found


def _cells(summary: GroupSummary) -> tuple[str, ...]:
    medians = (number(summary.spreads[name].median) for name in METRICS)
    share = f"{summary.usable.share:.2f}".removeprefix("0")
    return str(summary.runs), f"{summary.evaluations:.0f}", *medians, share


def _peer(published: Published, runs: int) -> tuple[str, ...]:
    numbers = (number(value) for value in _published_medians(published).values())
    share = f"{published.usable:.2f}".removeprefix("0")
    return str(runs), f"{median(published.evaluations):.0f}", *numbers, share


def _medians(summary: GroupSummary) -> Medians:
    return {name: summary.spreads[name].median for name in METRICS}


def _published_medians(published: Published) -> Medians:
    figures = published.elbo_error, published.gskl, published.mmtv
    return dict(zip(METRICS, map(median, figures), strict=True))


def _smaller(mine: Medians, theirs: Medians) -> dict[str, bool]:
    return {name: mine[name] < theirs[name] for name in METRICS}


def _usable(summaries: Sequence[GroupSummary]) -> str:
    good = sum(round(summary.usable.share * summary.runs) for summary in summaries)
    return f"{good} of {sum(summary.runs for summary in summaries)}"


def _tally(key: tuple[str, str], wins: Sequence[dict[str, bool]]) -> str:
    parts = (f"{title} {sum(won[name] for won in wins)}" for name, title in METRICS.items())
    count = f"{len(wins)} {'comparison' if len(wins) == 1 else 'comparisons'}"
    return f"Quell's median at half the budget is smaller than {PEERS[key]}, of {count}: " + (
        f"{', '.join(parts)}."
    )
