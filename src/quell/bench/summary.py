"""What many runs say together: numbers per group of runs that differ only in their seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.bench.metrics import bootstrap_interval, quantile, usable
from quell.bench.problems import PROBLEMS
from quell.bench.provenance import version_of
from quell.calibration.ranks import covered, rank_p_values
from quell.calibration.shares import wilson_interval

#: The metrics of a run, in the order of the tables.
METRICS = ("lml_loss", "lml_loss_checked", "gskl", "mmtv")

#: What the records of algorithms without a log evidence say of its method.
NO_EVIDENCE = "none"

Record = dict[str, Any]


class Group(NamedTuple):
    """Runs that belong together: all but the seed is equal."""

    problem: str
    dim: int
    data: str
    mode: str
    fast: bool
    noise: float | None
    noise_jitter: float
    budget: int
    algorithm: str
    stop_early: bool

    @classmethod
    def of(cls, record: Record) -> Group:
        """The group of a record; the first records had neither data nor shortcuts."""
        return cls(*({"data": "", "fast": False, **record}[name] for name in cls._fields))

    @property
    def task(self) -> Group:
        """The group without its algorithm: what the algorithms of a comparison share."""
        return self._replace(algorithm="", stop_early=False)


def groups(records: Iterable[Record]) -> dict[Group, list[Record]]:
    """The records of each group; problems as in the list of all, algorithms as they appear."""
    found: dict[Group, list[Record]] = {}
    for record in records:
        found.setdefault(Group.of(record), []).append(record)
    places = {name: place for place, name in enumerate(PROBLEMS)}

    def order(g: Group) -> tuple[Any, ...]:
        return (places.get(g.problem, len(places)), g.problem, g.dim, g.data, g.mode, g.fast,
                g.noise or 0.0, g.noise_jitter, g.budget)  # fmt: skip

    return {group: found[group] for group in sorted(found, key=order)}


@dataclass(frozen=True)
class Spread:
    """The median of a metric over runs, its 95 % bootstrap interval, and the 90 % quantile."""

    median: float
    low: float
    high: float
    q90: float

    @classmethod
    def of(cls, values: ArrayLike) -> Spread:
        """The spread of values (R,); infinite ones are allowed, and nan if it is all of them.

        >>> Spread.of([1.0, 2.0, 4.0]).median
        2.0
        """
        if np.isnan(np.asarray(values, dtype=float)).all():
            return cls(np.nan, np.nan, np.nan, np.nan)
        return cls(quantile(values, 0.5), *bootstrap_interval(values), quantile(values, 0.9))


@dataclass(frozen=True)
class Share:
    """A share of runs with its 95 % Wilson interval."""

    share: float
    low: float
    high: float

    @classmethod
    def of(cls, flags: Iterable[bool]) -> Share:
        """The share of true ones; nan of none.

        >>> Share.of([True, False]).share
        0.5
        """
        flags = list(flags)
        if not flags:
            return cls(np.nan, np.nan, np.nan)
        return cls(sum(flags) / len(flags), *wilson_interval(sum(flags), len(flags)))


@dataclass(frozen=True, eq=False)
class GroupSummary:
    """What the runs of a group say.

    ``spreads`` per metric; a run that failed has infinite ones. ``usable``: LML loss against the
    stored truth, gsKL and MMTV below the paper's limits, all three. ``coverage``: the 95 % interval
    of the log evidence has the checked truth. ``overhead_ms`` is the algorithm's own median CPU
    time per evaluation, nan if all failed. ``rank_p`` (D,) tests the ranks of the parameters
    behind simulated data for uniformity; None where there are none. ``evaluations`` is the median
    number made, ``versions`` how many runs each version has made.
    """

    runs: int
    failed: int
    spreads: dict[str, Spread]
    usable: Share
    coverage: Share
    overhead_ms: float
    rank_p: FloatArray | None
    evaluations: float
    versions: dict[str, int]


def summarise(records: list[Record]) -> GroupSummary:
    """The summary of the records of one group."""
    values = {name: [_metric(record, name) for record in records] for name in METRICS}
    good = [record for record in records if "error" not in record]
    cost = [1e3 * record["overhead_cpu_seconds_per_evaluation"] for record in good]
    ranks = [record["ranks"] for record in good if "ranks" in record]
    # An algorithm that gives no evidence is judged by its posterior.
    scores = zip(np.nan_to_num(values["lml_loss"]), values["gskl"], values["mmtv"], strict=True)
    losses = [
        (loss, record)
        for loss, record in zip(values["lml_loss_checked"], records, strict=True)
        if not np.isnan(loss)
    ]
    return GroupSummary(
        runs=len(records),
        failed=len(records) - len(good),
        spreads={name: Spread.of(column) for name, column in values.items()},
        usable=Share.of(usable(*triple) for triple in scores),
        coverage=Share.of(
            covered(loss, float(record.get("log_evidence_sd", "nan"))) for loss, record in losses
        ),
        overhead_ms=float(np.median(cost)) if cost else np.nan,
        rank_p=rank_p_values(ranks) if ranks else None,
        evaluations=float(np.median([r.get("evaluations", np.nan) for r in good] or [np.nan])),
        versions=dict(Counter(version_of(record) for record in records)),
    )


def _metric(record: Record, name: str) -> float:
    """A metric of a run; infinite where the run failed or it is not a number.

    The loss of an evidence that the algorithm does not give is nan.
    """
    if record.get("evidence_method") == NO_EVIDENCE and name.startswith("lml"):
        return np.nan
    value = float(record[name]) if "error" not in record else np.inf
    return np.inf if np.isnan(value) else value
