"""Records of many runs as a table of medians."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from quell.bench.metrics import bootstrap_interval, quantile, usable, wilson_interval
from quell.text import table

METRICS = (("lml_loss", "LML loss"), ("gskl", "gsKL"), ("mmtv", "MMTV"))
HEADER = (
    "problem", "D", "mode", "noise", "algorithm", "budget", "runs",
    *(text for _, label in METRICS for text in (f"{label} [95 %]", "q90")),
    "usable [95 %]", "ms/eval",
)  # fmt: skip


class Group(NamedTuple):
    """Runs that belong together: all but the seed is equal."""

    problem: str
    dim: int
    mode: str
    noise: float | None
    noise_jitter: float
    budget: int
    algorithm: str
    stop_early: bool

    @classmethod
    def of(cls, record: dict[str, Any]) -> Group:
        """The group of a record."""
        return cls(*(record[name] for name in cls._fields))


def groups(records: Iterable[dict[str, Any]]) -> dict[Group, list[dict[str, Any]]]:
    """The records of each group, groups in the order they first appear per problem."""
    found: dict[Group, list[dict[str, Any]]] = {}
    for record in records:
        found.setdefault(Group.of(record), []).append(record)
    problems = list(dict.fromkeys(group.problem for group in found))
    order = sorted(
        found,
        key=lambda g: (problems.index(g.problem), g.dim, g.mode, g.noise or 0.0, g.noise_jitter),
    )
    return {group: found[group] for group in order}


def number(value: float) -> str:
    """A number in three digits.

    >>> number(0.12345), number(np.inf)
    ('0.123', 'inf')
    """
    return f"{value:.3g}"


def row(group: Group, records: list[dict[str, Any]]) -> tuple[str, ...]:
    """The cells of a group. A failed run has infinite metrics and is not usable."""
    failed = sum("error" in record for record in records)
    scores = {name: [_metric(record, name) for record in records] for name, _ in METRICS}
    cells = []
    for values in scores.values():
        low, high = bootstrap_interval(values)
        cells.append(f"{number(quantile(values, 0.5))} [{number(low)}, {number(high)}]")
        cells.append(number(quantile(values, 0.9)))
    good = sum(usable(*values) for values in zip(*scores.values(), strict=True))
    low, high = wilson_interval(good, len(records))
    cost = [r["overhead_cpu_seconds_per_evaluation"] for r in records if "error" not in r]
    noise = "own" if group.mode == "noisy" else "-" if group.noise is None else f"{group.noise:g}"
    return (
        group.problem,
        str(group.dim),
        group.mode,
        noise + (f" jitter {group.noise_jitter:g}" if group.noise_jitter else ""),
        group.algorithm + (" (stops early)" if group.stop_early else ""),
        str(group.budget),
        f"{len(records)}" + (f" ({failed} failed)" if failed else ""),
        *cells,
        f"{good / len(records):.2f} [{low:.2f}, {high:.2f}]",
        f"{1e3 * float(np.median(cost)):.0f}" if cost else "-",
    )


def _metric(record: dict[str, Any], name: str) -> float:
    value = float(record[name]) if "error" not in record else np.inf
    return np.inf if np.isnan(value) else value


def render(records: Iterable[dict[str, Any]], *, markdown: bool = False) -> str:
    """The table: medians with 95 % bootstrap intervals and 90 % quantiles of the metrics,
    the usable share with its Wilson interval, and the algorithm's own time per evaluation.
    """
    rows = [HEADER, *(row(group, runs) for group, runs in groups(records).items())]
    if not markdown:
        return table(rows, indent="")
    lines = [f"| {' | '.join(cells)} |" for cells in rows]
    rule = "|" + "|".join("---" if i in (0, 2, 3, 4) else "---:" for i in range(len(HEADER))) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])
