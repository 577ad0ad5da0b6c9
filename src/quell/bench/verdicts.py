"""What runs said of themselves, beside whether they were usable."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from quell.bench.metrics import quantile, usable
from quell.bench.summary import Record, Share, groups
from quell.bench.tables import describe
from quell.diagnostics import Status
from quell.text import table

LEGEND = (
    "Runs by their status; usable: LML < 1, gsKL < 1 and MMTV < 0.2. wrongly stable: share of the",
    "unusable runs that say stable; wrongly not: share of the usable ones that do not; both with",
    "[95 % Wilson interval].",
)

#: Ends of the classes of expected MMTV; the last but one is where runs become suspect.
CLASSES = (0.0, 0.05, 0.1, 0.15, 0.2, np.inf)


def verdict_table(records: Iterable[Record]) -> str:
    """The table for a terminal: a row for each group of runs that carry a status, and for all."""
    judged = [record for record in records if "status" in record]
    rows = [("", "", *Status, "wrongly stable", "wrongly not")]
    for group, runs in groups(judged).items():
        rows += _rows(f"{describe(group)}, {group.algorithm}", runs)
    if judged:
        rows += _rows("all", judged)
    return "\n".join([table(rows, indent=""), "", *LEGEND])


def expected_table(records: Iterable[Record]) -> str:
    """MMTV beside what was expected of it, in classes of that; "" where no run has told."""
    pairs = [
        (float(record["tests"]["expected_mmtv"]), float(record["mmtv"]), _is_usable(record))
        for record in records
        if "expected_mmtv" in record.get("tests", {})
    ]
    rows = [("expected MMTV", "runs", "median expected", "median MMTV", "90 %", "unusable")]
    for low, high in pairwise(CLASSES):
        those = [pair for pair in pairs if low <= pair[0] < high]
        if not those:
            continue
        expected, found, good = (np.array(column) for column in zip(*those, strict=True))
        rows.append(
            (
                f"{low:g} to {high:g}" if np.isfinite(high) else f"over {low:g}",
                str(len(those)), f"{np.median(expected):.3f}", f"{quantile(found, 0.5):.3f}",
                f"{quantile(found, 0.9):.3f}", str(int(np.sum(~good))),
            )
        )  # fmt: skip
    return table(rows, indent="") if pairs else ""


def _rows(name: str, runs: list[Record]) -> list[tuple[str, ...]]:
    """Two rows, of the usable and of the other runs; those there are none of are left out."""
    rows: list[tuple[str, ...]] = []
    for good in (True, False):
        those = [record["status"] for record in runs if _is_usable(record) == good]
        if not those:
            continue
        counts = tuple(str(those.count(status)) for status in Status)
        wrong = Share.of((status == Status.STABLE) != good for status in those)
        share = f"{wrong.share:.2f} [{wrong.low:.2f}, {wrong.high:.2f}]"
        kind = "usable" if good else "unusable"
        rows.append(
            (name if not rows else "", kind, *counts, *(("", share) if good else (share, "")))
        )
    return rows


def _is_usable(record: Record) -> bool:
    scores = [float(record[name]) for name in ("lml_loss", "gskl", "mmtv")]
    return not np.isnan(scores).any() and usable(*scores)
