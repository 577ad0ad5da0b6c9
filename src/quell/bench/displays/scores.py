"""The scores of runs: at their ends, and at the checkpoints of their traces.

The checkpoints of newer rows have the scores of what would have been returned if the run had ended
there, boosted as the posterior at the end of a run is; those of older rows have the scores of the
posterior as it was then, and the ELBO in place of the log evidence. "trace_kind" says which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from quell.arrays import FloatArray
from quell.bench.displays.looks import LML, Metric
from quell.bench.implied import implied_truth
from quell.bench.summary import NO_EVIDENCE, Record

#: What checkpoints are scores of, by the "trace_kind" of a row; without one, as the run went.
BOOSTED, AS_IT_WENT = "boosted at each checkpoint", "as the run went"
KINDS = {"as returned": BOOSTED}


def scores_at_end(records: Sequence[Record], metric: Metric) -> FloatArray:
    """The metric at the end of every run (R,); infinite where it failed, nan where it has none.

    The loss of the log evidence is against the best value known.
    """
    key = "lml_loss_checked" if metric is LML else metric.key
    return np.array([_number(record, key) for record in records])


def _number(record: Record, key: str) -> float:
    if "error" in record:
        return np.inf
    if key.startswith("lml") and record.get("evidence_method") == NO_EVIDENCE:
        return np.nan
    value = float(record[key])
    return np.inf if np.isnan(value) else value


def with_traces(records: Sequence[Record]) -> list[Record]:
    """Those that can be followed along the run; one that failed has got nowhere."""
    return [record for record in records if record.get("trace") or "error" in record]


def kinds_of_traces(records: Sequence[Record]) -> set[str]:
    """What the checkpoints of these runs are scores of, in words; empty without traces.

    >>> kinds_of_traces([{"trace": [{}], "trace_kind": "as returned"}, {}])
    {'boosted at each checkpoint'}
    """
    return {
        KINDS.get(record.get("trace_kind", ""), AS_IT_WENT)
        for record in records
        if record.get("trace")
    }


def elbo_for_evidence(records: Sequence[Record]) -> bool:
    """Whether some checkpoints of these runs have the ELBO in place of a log evidence."""
    return any(
        "elbo" in row and "log_evidence" not in row
        for record in records
        for row in record.get("trace", [])
    )


def scores_along(
    records: Sequence[Record], metric: Metric, evaluations: Sequence[int] | FloatArray
) -> FloatArray:
    """The metric of every run after these numbers of evaluations (n,), as an array (R, n).

    It is that of the last checkpoint before: what would have been returned. Infinite where there
    is none, nan where the algorithm gives no evidence.
    """
    truth = implied_truth(records, "lml_loss_checked") if metric is LML else None
    table = np.full((len(records), len(evaluations)), np.inf)
    for record, values in zip(records, table, strict=True):
        if metric is LML and record.get("evidence_method") == NO_EVIDENCE:
            values[:] = np.nan
            continue
        for row in record.get("trace", []):
            reached = np.asarray(evaluations) >= row["evaluations"]
            values[reached] = _score(row, metric, truth)
    return table


def _score(row: Mapping[str, Any], metric: Metric, truth: float | None) -> float:
    """The metric of one checkpoint; the loss of the evidence against ``truth`` where known."""
    if truth is not None:
        estimate = row.get("log_evidence", row.get("elbo"))
        value = np.nan if estimate is None else abs(float(estimate) - truth)
        if not np.isnan(value):
            return value
    value = float(row[metric.key])
    return np.inf if np.isnan(value) else value
