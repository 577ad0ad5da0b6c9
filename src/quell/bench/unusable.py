"""The runs that are not usable, one by one: how bad they are, and what they say of themselves."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from quell.bench.metrics import usable
from quell.bench.summary import NO_EVIDENCE, Group, Record, groups
from quell.bench.tables import algorithm, mixed_runs, noise, number
from quell.text import table

HEADER = ("problem", "D", "noise", "budget", "algorithm", "not usable", "seed", "LML", "gsKL",
          "MMTV", "says")  # fmt: skip
LEGEND = (
    "Runs that fail one of LML < 1, gsKL < 1 and MMTV < 0.2 (LML against the stored truth), worst",
    "MMTV first; not usable: how many of the group's runs these are. says: the run's own status, -",
    "where rows have none. Groups of which all runs are usable are left out.",
)
#: Runs of a group that are shown.
MOST = 6


def unusable_table(records: Iterable[Record], *, markdown: bool = False) -> str:
    """A row for each run that is not usable, the worst of each group first."""
    records = list(records)
    rows: list[tuple[str, ...]] = [HEADER]
    for group, runs in groups(records).items():
        bad = sorted((run for run in runs if not _is_usable(run)), key=_badness, reverse=True)
        if bad:
            share = f"{len(bad)} of {len(runs)}"
            rows += [_row(group, share if run is bad[0] else "", run) for run in bad[:MOST]]
        if len(bad) > MOST:
            rows.append(("", *[""] * 4, "", f"and {len(bad) - MOST} more", *[""] * 4))
    if len(rows) == 1:
        return "all runs are usable"
    if not markdown:
        return "\n".join([table(rows, indent=""), "", *LEGEND, *mixed_runs(records)])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|---|---:|---|---:|---|---:" + "|---:" * 4 + "|---|")
    return "\n".join([*lines, "", *LEGEND, *mixed_runs(records)])


def _scores(run: Record) -> tuple[float, float, float]:
    if "error" in run:
        return np.inf, np.inf, np.inf
    loss = 0.0 if run.get("evidence_method") == NO_EVIDENCE else float(run["lml_loss"])
    return loss, float(run["gskl"]), float(run["mmtv"])


def _is_usable(run: Record) -> bool:
    scores = _scores(run)
    return not np.isnan(scores).any() and usable(*scores)


def _badness(run: Record) -> float:
    """What runs are ordered by: MMTV, and first those of which something is not a number."""
    scores = _scores(run)
    return np.inf if np.isnan(scores).any() else scores[2]


def _row(group: Group, share: str, run: Record) -> tuple[str, ...]:
    first = (group.problem, str(group.dim), noise(group), str(group.budget), algorithm(group))
    scores = ("failed", "", "") if "error" in run else tuple(map(number, _scores(run)))
    named = first if share else ("",) * len(first)
    return (*named, share, str(run["seed"]), *scores, str(run.get("status", "-")))
