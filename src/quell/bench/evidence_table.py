"""The log evidence beside the ELBO of the same runs: is it nearer to the truth?"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from quell.arrays import FloatArray
from quell.bench.implied import implied_truth
from quell.bench.summary import Record, groups
from quell.bench.tables import algorithm, mixed_runs, noise, number
from quell.text import table

HEADER = ("problem", "D", "noise", "algorithm", "runs", "LML", "ELBO", "ratio", "nearer")
LEGEND = (
    "LML, ELBO: median errors of the log evidence and of the ELBO against the best value known.",
    "ratio: the geometric mean of their ratio over runs, ×/÷ its 95 % interval; below 1 the log",
    "evidence is nearer to the truth. nearer: in how many runs it is. Groups whose rows do not",
    "tell the truth, or whose log evidence is the ELBO, are left out.",
)
#: Runs needed for an interval, and half its width in standard errors.
FEWEST, Z95 = 2, 1.96


def evidence_table(records: Iterable[Record], *, markdown: bool = False) -> str:
    """A row for each group of runs that have both, and one for all of them."""
    rows: list[tuple[str, ...]] = [HEADER]
    every: list[tuple[FloatArray, FloatArray]] = []
    used: list[Record] = []
    for group, runs in groups(records).items():
        truth = implied_truth(runs, "lml_loss_checked")
        good = [
            run
            for run in runs
            if "error" not in run
            and "elbo" in run  # not all baselines have one
            and run.get("evidence_method", "elbo") not in ("elbo", "none")
        ]
        # Rows of make bench-evidence have the truth itself, for data may differ between seeds.
        truths = [run.get("truth", truth) for run in good]
        if None in truths or len(good) < FEWEST:
            continue
        errors = [
            np.abs(np.array([float(run[name]) for run in good]) - np.array(truths, dtype=float))
            for name in ("log_evidence", "elbo")
        ]
        every.append((errors[0], errors[1]))
        used += good
        name = (group.problem, str(group.dim), noise(group), algorithm(group))
        rows.append((*name, *_cells(errors[0], errors[1])))
    if not every:
        return "no runs that have a log evidence beside the ELBO"
    total = _cells(*(np.concatenate([pair[i] for pair in every]) for i in (0, 1)))
    rows.append(("all", "", "", "", *total))
    if not markdown:
        return "\n".join([table(rows, indent=""), "", *LEGEND, *mixed_runs(used)])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|---|---:|---|---" + "|---:" * (len(HEADER) - 4) + "|")
    return "\n".join([*lines, "", *LEGEND, *mixed_runs(used)])


def _cells(evidence: FloatArray, elbo: FloatArray) -> tuple[str, ...]:
    """Cells of errors (R,) of R runs, two of them."""
    tiny = np.finfo(float).tiny
    logs = np.log(np.maximum(evidence, tiny)) - np.log(np.maximum(elbo, tiny))
    half = Z95 * float(np.std(logs, ddof=1)) / np.sqrt(len(logs))
    return (
        str(len(logs)),
        number(float(np.median(evidence))),
        number(float(np.median(elbo))),
        f"{np.exp(np.mean(logs)):.2f} ×/÷ {np.exp(half):.2f}",
        f"{int(np.sum(evidence < elbo))} of {len(logs)}",
    )
