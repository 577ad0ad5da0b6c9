"""Runs of Quell beside PyVBMC's published figures, at equal evaluations and at both's own stops.

PyVBMC's figures are of runs that end by its own rule, most of them long before their cap, and of
its ELBO. So that like is compared with like, Quell has three lines per target: after at most as
many evaluations as PyVBMC's median, at its own stop, and with its whole budget; with the error of
its ELBO beside that of its log evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from quell.bench.implied import implied_truth
from quell.bench.metrics import USABLE, quantile
from quell.bench.published import PYVBMC, PYVBMC_RUNS, Published, Quartiles, median
from quell.bench.summary import Record
from quell.bench.tables import mixed_runs, number
from quell.text import table

HEADER = ("target", "who", "runs", "evaluations", "ELBO", "LML", "gsKL", "MMTV", "worst", "usable")
LEGEND = (
    "Medians [quartiles]. ELBO, LML: errors of the ELBO and of the log evidence against the stored",
    "truth; PyVBMC gives the ELBO only. worst: the worst ELBO / gsKL / MMTV of all runs (PyVBMC's",
    "is not published). usable: share of runs with an error below 1, gsKL below 1 and MMTV below",
    "0.2, by the ELBO's error and, for Quell, by that of its log evidence. same: runs whose budget",
    "is PyVBMC's median number of evaluations or, where there are none, the last checkpoint before",
    "that in longer runs; own stop: runs that may stop early; whole: budget 50 (D + 2).",
)
METRICS = ("elbo_error", "lml_loss", "gskl", "mmtv")
#: What both have, and how it is called.
COMPARED = {"elbo_error": "ELBO", "gskl": "gsKL", "mmtv": "MMTV"}


class Scored(NamedTuple):
    """The scores of a run, wherever in it they were taken; ``lml_loss`` may be nan."""

    evaluations: float
    elbo_error: float
    lml_loss: float
    gskl: float
    mmtv: float

    def usable(self, error: float) -> bool:
        """Whether the posterior is usable, and the evidence with this error."""
        return (
            error < USABLE["lml_loss"] and self.gskl < USABLE["gskl"] and self.mmtv < USABLE["mmtv"]
        )


def beside_peer(records: Iterable[Record], *, markdown: bool = False) -> str:
    """The table of all targets for which there are runs of Quell and published figures."""
    mine = [record for record in records if record["algorithm"] == "quell"]
    rows: list[tuple[str, ...]] = [HEADER]
    compared: dict[str, list[dict[str, bool]]] = {}
    used: list[Record] = []
    for published in PYVBMC:
        runs = [record for record in mine if _is_target(record, published)]
        if not runs:
            continue
        used += runs
        name = f"{published.problem} D{published.dim}, SD {published.noise:g}"
        rows.append((name, "PyVBMC, own stop", *_published_cells(published)))
        for who, scored in _protocols(published, runs).items():
            rows.append(("", f"Quell, {who}", *_cells(scored)))
            compared.setdefault(who, []).append(_smaller(scored, published))
    if not compared:
        return "no runs of quell on a target with published figures"
    notes = [*LEGEND, *(_tally(who, wins) for who, wins in compared.items()), *mixed_runs(used)]
    if not markdown:
        return "\n".join([table(rows, indent=""), "", *notes])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|---|---" + "|---:" * (len(HEADER) - 2) + "|")
    # In Markdown lines run on: those below the legend are a list.
    listed = [f"- {line}" for line in notes[len(LEGEND) :]]
    return "\n".join([*lines, "", *LEGEND, "", *listed])


def _smaller(scored: Sequence[Scored], published: Published) -> dict[str, bool]:
    """Of which metrics the median is smaller than the published one; those not known left out."""
    found = {}
    for name in COMPARED:
        values = [getattr(one, name) for one in scored]
        if not np.isnan(values).any():
            found[name] = quantile(values, 0.5) < median(getattr(published, name))
    return found


def _tally(who: str, wins: Sequence[dict[str, bool]]) -> str:
    """How often the medians of Quell are smaller, in words."""
    parts = []
    for name, title in COMPARED.items():
        known = [won[name] for won in wins if name in won]
        if known:
            parts.append(f"{title} {sum(known)} of {len(known)}")
    return (
        f"Quell, {who}: the median is smaller than PyVBMC's on so many targets: {', '.join(parts)}."
    )


def _is_target(record: Record, published: Published) -> bool:
    return (
        (record["problem"], record["dim"], record["noise"] or 0.0)
        == (published.problem, published.dim, published.noise)
        and record["mode"] == "exact"
        and not record["noise_jitter"]
        and record.get("data", "") != "simulated"
    )


def _protocols(published: Published, runs: list[Record]) -> dict[str, list[Scored]]:
    """The scores of the runs by what they are: same, own stop, whole; those there are."""
    truth = implied_truth(runs)
    whole = [run for run in runs if _budget(run) and not run["stop_early"]]
    own = _at_own_stop([run for run in runs if _budget(run)])
    equal = round(median(published.evaluations))
    short = [run for run in runs if run["budget"] == equal and not run["stop_early"]]
    found = {"same": [_at_end(run, truth) for run in short]}
    if not short:
        found |= _same_from_traces(whole, equal, truth)
    found |= {
        "own stop": [_at_end(run, truth) for run in own],
        "whole": [_at_end(run, truth) for run in whole],
    }
    return {who: scored for who, scored in found.items() if scored}


def _same_from_traces(
    whole: Sequence[Record], equal: int, truth: float | None
) -> dict[str, list[Scored]]:
    """The scores of the runs with traces as they would have been returned, and of the others."""
    found = {}
    for returned, words in ((True, "boosted"), (False, "as the run went")):
        found[f"same ({words})"] = [
            _at_checkpoint(run, equal, truth)
            for run in whole
            if run.get("trace") and (run.get("trace_kind") == "as returned") == returned
        ]
    return found


def _at_own_stop(runs: Sequence[Record]) -> list[Record]:
    """Runs that may stop early, and the answers that others note for where they would have."""
    found = {
        run["seed"]: {**run, **(run["own_stop"] or {})}
        for run in runs
        if not run["stop_early"] and "own_stop" in run
    }
    found |= {run["seed"]: run for run in runs if run["stop_early"]}
    return list(found.values())


def _budget(run: Record) -> bool:
    return bool(run["budget"] == 50 * (run["dim"] + 2))


def _at_end(run: Record, truth: float | None) -> Scored:
    if "error" in run:
        return Scored(np.nan, *[np.inf] * len(METRICS))
    elbo = _error(run.get("elbo"), truth)
    return Scored(float(run["evaluations"]), elbo, *(_finite(run, key) for key in METRICS[1:]))


def _at_checkpoint(run: Record, most: int, truth: float | None) -> Scored:
    """The scores of the last checkpoint with at most this many evaluations."""
    reached = [row for row in run["trace"] if row["evaluations"] <= most]
    if not reached:
        return Scored(np.nan, *[np.inf] * len(METRICS))
    row = reached[-1]
    posterior = _finite(row, "gskl"), _finite(row, "mmtv")
    if "elbo" in row and "log_evidence" not in row:  # the loss in the row is that of the ELBO
        return Scored(row["evaluations"], _finite(row, "lml_loss"), np.nan, *posterior)
    elbo = _error(row.get("elbo"), truth)
    return Scored(row["evaluations"], elbo, _finite(row, "lml_loss"), *posterior)


def _error(estimate: Any, truth: float | None) -> float:
    if estimate is None or truth is None:
        return np.nan
    return abs(float(estimate) - truth)


def _finite(row: Record, key: str) -> float:
    value = float(row[key])
    return np.inf if np.isnan(value) else value


def _cells(scored: Sequence[Scored]) -> tuple[str, ...]:
    columns = {name: np.array([getattr(one, name) for one in scored]) for name in Scored._fields}
    worst = " / ".join(_worst(columns[name]) for name in ("elbo_error", "gskl", "mmtv"))
    shares = [
        _share([one.usable(getattr(one, error)) for one in scored], columns[error])
        for error in ("elbo_error", "lml_loss")
    ]
    return (
        str(len(scored)),
        _spread(columns["evaluations"], whole=True),
        *(_spread(columns[name]) for name in METRICS),
        worst,
        " / ".join(shares),
    )


def _worst(values: Any) -> str:
    return "-" if np.isnan(values).all() else number(float(np.nanmax(values)))


def _share(flags: Sequence[bool], errors: Any) -> str:
    return "-" if np.isnan(errors).any() else f"{np.mean(flags):.2f}".removeprefix("0")


def _spread(values: Any, *, whole: bool = False) -> str:
    """Median and quartiles."""
    known = values[~np.isnan(values)]
    if not len(known):
        return "-"
    middle, low, high = (quantile(known, p) for p in (0.5, 0.25, 0.75))
    if whole:
        return f"{middle:.0f}" if low == high else f"{middle:.0f} [{low:.0f}, {high:.0f}]"
    return f"{number(middle)} [{number(low)}, {number(high)}]"


def _published_cells(published: Published) -> tuple[str, ...]:
    def cell(figure: Quartiles | float, *, whole: bool = False) -> str:
        show = (lambda value: f"{value:.0f}") if whole else number
        if isinstance(figure, tuple):
            return f"{show(figure[0])} [{show(figure[1])}, {show(figure[2])}]"
        return show(figure)

    return (
        str(PYVBMC_RUNS), cell(published.evaluations, whole=True), cell(published.elbo_error), "-",
        cell(published.gskl), cell(published.mmtv), "-",
        f"{published.usable:.2f}".removeprefix("0"),
    )  # fmt: skip
