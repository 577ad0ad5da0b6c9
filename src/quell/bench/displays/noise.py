"""Figures of final metrics against the noise, and against how badly the noise is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from quell.bench.displays.bands import Band
from quell.bench.displays.drawn import (
    AXIS_FONT,
    BAND_ALPHA,
    PANEL,
    ROW,
    Drawn,
    Material,
    NotMade,
    finish,
    head,
    labels,
    log_axis,
    log_limits,
    look_of,
    provenance,
    target_line,
)
from quell.bench.displays.looks import AGAINST_NOISE, LML, MMTV, TITLES, Metric, asked
from quell.bench.displays.scores import scores_at_end
from quell.bench.displays.selection import Count, by_algorithm, full_runs
from quell.bench.summary import Record
from quell.plots.style import LINE, inches, label, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The SD of the emulated noise whose size is misreported.
MISREPORTED_SD = 2.0
#: An algorithm is followed over so many levels at least.
FEWEST = 2
Levels = dict[str, dict[float, list[Record]]]


def noise_level(record: Record) -> float | None:
    """The SD of emulated noise of a full run, 0 for none; None for other runs."""
    if record["mode"] != "exact" or not full_runs([record]):
        return None
    return float(record["noise"] or 0.0)


def jitter_level(record: Record) -> float | None:
    """The spread of the reported SDs of a run with noise of SD 2; None for other runs."""
    alike = full_runs([{**record, "noise_jitter": 0.0}])
    if record["mode"] != "exact" or record["noise"] != MISREPORTED_SD or not alike:
        return None
    return float(record["noise_jitter"])


def against_levels(
    material: Material,
    level: Callable[[Record], float | None],
    algorithms: Sequence[str],
    x: str,
    what: str,
) -> Drawn:
    """Two rows of panels, LML loss and MMTV, a column per problem, against a level of noise."""
    found, left_out = {}, []
    for problem in AGAINST_NOISE:
        levels = levels_of(material.records, problem, level, algorithms)
        if not levels:
            left_out.append(f"{TITLES[problem]} (runs at two levels or more are needed)")
        else:
            found[problem] = levels
    if not found:
        raise NotMade(f"no algorithm has runs at two levels of {what}")
    columns = len(found)
    narrow = columns * PANEL > inches(material.width) + 1e-9 and columns > 2
    height = ROW * (0.9 if narrow else 1.0)
    figure, axes = panels(None, 2 * columns, columns=columns, width=material.width, height=height)
    for row, metric in enumerate((LML, MMTV)):
        for ax, (problem, levels) in zip(axes[row * columns :], found.items(), strict=False):
            _panel(ax, metric, levels)
            every = {name: list(chain(*by.values())) for name, by in levels.items()}
            head(ax, problem, None, _count(levels, every))
    labels(axes, columns, x)
    for row, metric in enumerate((LML, MMTV)):
        label(axes[row * columns], None, metric.title, size=AXIS_FONT)
    present = [name for name in algorithms if any(name in levels for levels in found.values())]
    finish(figure, axes, present)
    rows = [
        record
        for levels in found.values()
        for by_level in levels.values()
        for runs in by_level.values()
        for record in runs
    ]
    text = (
        f"Final metrics against {what}: medians over runs with 95 % bootstrap intervals "
        f"(shaded). Above: absolute error of the log evidence, "
        f"target below {LML.target:g}; below: MMTV, target below {MMTV.target:g} (dashed). n: runs "
        f"per algorithm and level. {provenance(rows)}"
    )
    return Drawn(figure, text, len(rows), 2 * columns, tuple(left_out))


def levels_of(
    records: Sequence[Record],
    problem: str,
    level: Callable[[Record], float | None],
    algorithms: Sequence[str],
) -> Levels:
    """The runs of each algorithm at each level, levels ascending; those at two levels or more.

    Runs with simulated data are left out where there are some with real data.
    """
    mine = [record for record in records if record["problem"] == problem]
    real = [record for record in mine if record.get("data") == "real"]
    found: Levels = {}
    for name, runs in by_algorithm(real or mine, algorithms).items():
        levels: dict[float, list[Record]] = {}
        for record in runs:
            place = level(record)
            if place is not None:
                levels.setdefault(place, []).append(record)
        if len(levels) >= FEWEST:
            found[name] = dict(sorted(levels.items()))
    return found


def _count(levels: Levels, every: dict[str, list[Record]]) -> Count:
    """Runs per algorithm and level; mixed if any algorithm's runs at any level are."""
    numbers = {
        f"{name} {level:g}": len(runs)
        for name, by_level in levels.items()
        for level, runs in by_level.items()
    }
    return Count(numbers, Count.of(every).mixed)


def _panel(ax: Axes, metric: Metric, levels: Levels) -> None:
    target_line(ax, metric.target)
    log_axis(ax)
    seen: list[float] = []
    for name, by_level in levels.items():
        if not asked(name, metric):
            continue
        scores = [scores_at_end(runs, metric) for runs in by_level.values()]
        if any(np.isnan(values).any() for values in scores):
            continue
        bands = [Band.of(values[:, None]) for values in scores]
        x = np.array(list(by_level))
        low, middle, high = (
            np.array([getattr(band, part)[0] for band in bands])
            for part in ("low", "middle", "high")
        )
        look = look_of(name)
        ax.fill_between(
            x, low, np.minimum(high, 1e300), color=look.colour, alpha=BAND_ALPHA, linewidth=0,
            gid=f"band {name}",
        )  # fmt: skip
        there = np.isfinite(middle)
        ax.plot(
            x[there], middle[there], color=look.colour, linestyle=look.line, linewidth=LINE,
            marker=look.marker, markersize=3.2, gid=f"curve {name}",
        )  # fmt: skip
        seen += [float(value) for value in (*low, *middle)]
    log_limits(ax, metric, seen)
