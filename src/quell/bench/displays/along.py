"""Figures of a metric along runs: medians or other quantiles over runs, a panel per problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from quell.arrays import FloatArray
from quell.bench.displays.bands import Band
from quell.bench.displays.drawn import (
    AXIS_FONT,
    BAND_ALPHA,
    FAINT_ALPHA,
    FEW_BANDS,
    PANEL,
    ROW,
    Drawn,
    Material,
    NotMade,
    finish,
    footer,
    head,
    how_in_words,
    labels,
    log_axis,
    log_limits,
    look_of,
    provenance,
    target_line,
)
from quell.bench.displays.looks import GSKL, LML, MMTV, NAMES, TITLES, Metric, asked
from quell.bench.displays.scores import (
    elbo_for_evidence,
    kinds_of_traces,
    scores_along,
    scores_at_end,
    with_traces,
)
from quell.bench.displays.selection import Count, by_algorithm, paper_runs
from quell.bench.summary import Record
from quell.plots.style import LINE, few_ticks, inches, label, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Points of a curve: as many as a trace has checkpoints.
POINTS = 12
#: The quantile of the figure of bad cases.
WORSE = 0.9


def along_runs(
    material: Material,
    metrics: Sequence[Metric],
    problems: Sequence[str],
    algorithms: Sequence[str],
    *,
    p: float = 0.5,
    needs: Sequence[str] = (),
) -> Drawn:
    """A panel for each problem and metric: its quantile ``p`` against evaluations.

    Curves have bands of their 95 % bootstrap intervals; markers with bars, at the end, are what
    the runs returned. Problems without runs of an algorithm in ``needs`` are left out, if there
    are any in it.
    """
    chosen: list[tuple[str, Metric, dict[str, list[Record]]]] = []
    left_out = []
    for problem in problems:
        every = by_algorithm(paper_runs(material.records, problem), algorithms)
        if not every or (needs and not set(needs) & set(every)):
            left_out.append(_missing(problem, needs))
            continue
        for metric in metrics:
            groups = {name: runs for name, runs in every.items() if _shown(name, runs, metric)}
            if groups:
                chosen.append((problem, metric, groups))
    if not chosen:
        wanted = f"of {', '.join(needs)} " if needs else ""
        raise NotMade(f"no full runs {wanted}on {', '.join(problems)}")
    columns = max(1, min(len(chosen), int(inches(material.width) / PANEL), 3))
    figure, axes = panels(None, len(chosen), columns=columns, width=material.width, height=ROW)
    ways: dict[str, set[str]] = {}
    present = [name for name in algorithms if any(name in groups for _, _, groups in chosen)]
    for ax, (problem, metric, groups) in zip(axes, chosen, strict=True):
        for name, way in _panel(ax, metric, groups, p).items():
            ways.setdefault(name, set()).update(way)
        head(ax, problem, next(iter(groups.values()))[0], Count.of(groups, present))
    labels(axes, columns, "evaluations")
    for place, (ax, (_, metric, _)) in enumerate(zip(axes, chosen, strict=True)):
        if place % columns == 0 or len(metrics) > 1:
            text = metric.title if p == 0.5 else f"{metric.title} ({100 * p:.0f} % quantile)"
            label(ax, None, text, size=AXIS_FONT)
    finish(figure, axes, present)
    words = how_in_words(ways) + _without_runs(present, algorithms, metrics)
    footer(figure, words)
    # A run is one row, however many panels it is in.
    rows = list(
        {
            id(run): run for _, _, groups in chosen for runs in groups.values() for run in runs
        }.values()
    )
    text = caption(metrics, p, words, rows)
    return Drawn(figure, text, len(rows), len(chosen), tuple(left_out))


def _shown(name: str, runs: Sequence[Record], metric: Metric) -> bool:
    """Whether an algorithm is asked for this metric, and gives it."""
    return asked(name, metric) and not np.isnan(scores_at_end(runs, metric)).any()


def _missing(problem: str, needs: Sequence[str]) -> str:
    wanted = f" of {', '.join(needs)}" if needs else ""
    return f"{TITLES.get(problem, problem)} (no full runs{wanted})"


def _without_runs(
    present: Sequence[str], algorithms: Sequence[str], metrics: Sequence[Metric]
) -> str:
    """Of which algorithms of the figure there is nothing to show, in words."""
    missing = [
        NAMES.get(name, name)
        for name in algorithms
        if name not in present and any(asked(name, metric) for metric in metrics)
    ]
    return f" Without runs, or without this metric: {', '.join(missing)}." if missing else ""


def _panel(
    ax: Axes, metric: Metric, groups: dict[str, list[Record]], p: float
) -> dict[str, set[str]]:
    """Draw one panel; returns what the curve of each algorithm has the scores of."""
    target_line(ax, metric.target)
    ways, seen = {}, []
    alpha = BAND_ALPHA if len(groups) <= FEW_BANDS else FAINT_ALPHA
    log_axis(ax)
    for place, (name, runs) in enumerate(groups.items()):
        budget = runs[0]["budget"]
        # Markers side by side, for those of several algorithms would hide each other.
        at = budget * (1.03 + 0.035 * place)
        seen += draw_end(ax, name, at, Band.of(scores_at_end(runs, metric)[:, None], p))
        followed = with_traces(runs)
        ways[name] = kinds_of_traces(followed)
        if ways[name]:
            x = np.round(np.linspace(0, budget, POINTS + 1)[1:])
            seen += draw_curve(ax, name, x, Band.of(scores_along(followed, metric, x), p), alpha)
    log_limits(ax, metric, seen)
    few_ticks(ax.xaxis, 4)
    ax.set_xlim(left=0)
    return ways


def draw_curve(
    ax: Axes, name: str, x: FloatArray, band: Band, alpha: float = BAND_ALPHA
) -> list[float]:
    """Draw a curve with its band; returns the values that must be seen."""
    look = look_of(name)
    there = np.isfinite(band.middle)
    # On a logarithmic axis an infinite end of a band is its upper edge.
    top = np.where(np.isfinite(band.high), band.high, 1e300)
    ax.fill_between(
        x, band.low, top, where=there.tolist(), color=look.colour, alpha=alpha, linewidth=0,
        gid=f"band {name}",
    )  # fmt: skip
    ax.plot(
        x[there], band.middle[there], color=look.colour, linestyle=look.line, linewidth=LINE,
        gid=f"curve {name}",
    )  # fmt: skip
    return list(band.middle[there])


def draw_end(ax: Axes, name: str, x: float, band: Band) -> list[float]:
    """Draw a marker with its interval; returns the values that must be seen."""
    if not np.isfinite(band.middle[0]):
        return []
    look = look_of(name)
    high = min(band.high[0], 1e300)
    ax.plot([x, x], [band.low[0], high], color=look.colour, linewidth=0.8, gid=f"interval {name}")
    ax.plot(
        [x], band.middle, look.marker, color=look.colour, markersize=3.2, gid=f"end {name}"
    )  # fmt: skip
    return [float(band.low[0]), float(band.middle[0])]


MEANINGS = {
    LML: "absolute error of the log evidence (LML loss), against the best value known",
    GSKL: "Gaussianized symmetrized KL divergence (gsKL) to the true posterior",
    MMTV: "mean marginal total variation distance (MMTV) to the true posterior",
}


def caption(metrics: Sequence[Metric], p: float, words: str, rows: Sequence[Record]) -> str:
    """The caption of such a figure; ``words`` say how the curves were read."""
    what = "Median" if p == 0.5 else f"{100 * p:.0f} % quantile"
    elbo = ""
    if LML in metrics and elbo_for_evidence(rows):
        elbo = " Along runs the ELBO stands for the log evidence."
    targets = ", ".join(f"below {metric.target:g}" for metric in metrics)
    return (
        f"{what} of the {', the '.join(MEANINGS[metric] for metric in metrics)}, against the "
        f"number of likelihood evaluations. Targets: {targets} (dashed). Shaded: 95 % bootstrap "
        f"interval over runs; markers on the right, with bars: what the runs returned. "
        f"{words}{elbo} n: runs per algorithm, in the order of the legend. {provenance(rows)}"
    )
