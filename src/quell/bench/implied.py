"""The true log evidence behind rows, which have only the sizes of their losses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quell.bench.summary import NO_EVIDENCE, Record

#: Values of the truth that differ by less are the same: what is left where rows are rounded.
SAME_TRUTH = 2e-3
#: By which factor another truth has to fit worse.
CLEARLY = 3.0


def implied_truth(records: Sequence[Record], loss: str = "lml_loss") -> float | None:
    """The log evidence that these losses are counted from; None if they do not tell.

    A loss tells the truth but for its side; two runs tell the side. ``loss`` is "lml_loss" for the
    stored truth and "lml_loss_checked" for the best one known.

    >>> runs = [{"log_evidence": -3.0, "lml_loss": 1.0}, {"log_evidence": -1.5, "lml_loss": 0.5}]
    >>> implied_truth(runs), implied_truth(runs[:1])
    (-2.0, None)
    """
    pairs = [
        (float(record["log_evidence"]), float(record[loss]))
        for record in records
        if "error" not in record
        and record.get("evidence_method") != NO_EVIDENCE
        and "log_evidence" in record
        and loss in record
    ]
    sides = np.array([(v - d, v + d) for v, d in pairs if np.isfinite([v, d]).all()])
    if not len(sides):
        return None
    candidates = sides.ravel()
    # How far each candidate is from the nearer side of each run.
    off = np.abs(candidates[:, None, None] - sides).min(axis=2)
    total = off.sum(axis=1)
    best = int(np.argmin(total))
    others = np.abs(candidates - candidates[best]) > SAME_TRUTH
    if off[best].max() > SAME_TRUTH or (total[others] <= CLEARLY * total[best]).any():
        return None
    return float(candidates[best])
