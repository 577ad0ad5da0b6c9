"""All runs of a study: parameters by problem, with intervals, and the evidences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quell.diagnostics import Status
from quell.plots.keys import legend_above, marker_key
from quell.plots.models import ModelEvidence, evidence_by_model
from quell.plots.ranges import Range, range_of
from quell.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    SMALL_FONT,
    VERMILLION,
    Z95,
    as_is,
    cautious_numbers,
    few_ticks,
    inches,
    label,
    panels,
    short,
    tidy,
)
from quell.results import Posterior, Result
from quell.studies.result import Row, StudyResult

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

#: Colour and marker of each status; those of rows without one, and of runs that failed.
STATUS_LOOKS: dict[str, tuple[str, str]] = {
    Status.STABLE: (BLUE, "o"),
    Status.TOO_SHORT: (ORANGE, "s"),
    Status.UNSTABLE: (GREEN, "^"),
    Status.SUSPECT: (VERMILLION, "X"),
}
UNKNOWN, FAILED = (GREY, "o"), (BLACK, "x")
#: Inches for a run, its margins, and the least width of a panel.
RUN, MARGINS, PANEL = 0.17, 0.75, 1.25
#: Shares of the thick and the thin interval.
THICK, THIN = (0.25, 0.75), (0.025, 0.975)


def plot_study(
    study: StudyResult,
    parameters: Sequence[str] | str | None = None,
    *,
    models: Mapping[str, str] | None = None,
    axes: Any = None,
    width: float | str = "full",
) -> Figure | SubFigure:
    """Draw the parameters of every run of a study, and the log evidences.

    One line for every run: the median, the central 50 % (thick) and 95 % (thin) intervals; of the
    log evidence a 95 % interval. Colour and shape of a marker are the status of the run; runs that
    failed have a cross. Runs that an earlier call finished are replayed from their journals, which
    takes the algorithm's time but no evaluations.

    Parameters
    ----------
    study
        What `quell.study` returned.
    parameters
        Names of those to show; by default all that any run has free. An empty list for the
        evidences alone, which need no replay.
    models
        Where each problem is one model of one subject: of which model each is, by the problem's
        name. One more panel then has the log evidence of each model, summed over its problems (the
        mean of several seeds), relative to the best; models that miss a problem are left out.
    axes
        One Axes for each parameter, one for the evidences, and one for the models if there are
        any; or a figure to fill; a new figure by default.
    width
        Width of a new figure: "column" (3.3 in), "full" (6.9 in), or inches.

    Returns
    -------
    The figure.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> study = StudyResult((Row("anna", 1, -3.2, 0.1, -3.3, 0.1, True, 80, status="stable"),
    ...                      Row("ben", 1, error="ValueError: no")))
    >>> figure = plot_study(study, [])
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['anna', 'ben']
    >>> plt.close(figure)
    """
    if not isinstance(study, StudyResult):
        raise TypeError(f"study must be a quell.StudyResult, got {type(study).__name__}")
    if not study.rows:
        raise ValueError("the study has no runs to plot")
    wanted = parameters is None or len([parameters] if isinstance(parameters, str) else parameters)
    results = _results(study) if wanted else {}
    names = _parameters(results, parameters)
    totals = [] if models is None else evidence_by_model(study.rows, models)
    n_runs, n_panels = len(study.rows), len(names) + 1 + bool(totals)
    columns = max(1, min(n_panels, int((inches(width) - 0.8) / PANEL)))
    height = MARGINS + RUN * n_runs
    figure, made = panels(axes, n_panels, columns=columns, width=width, height=height)
    if totals:
        _models(made[-1], totals)
        made = made[:-1]
    with cautious_numbers():
        for ax, name in zip(made, names, strict=False):
            _intervals(ax, study.rows, results, name)
            label(ax, short(name, inches(width) / columns))
        _evidences(made[-1], study.rows)
    for place, ax in enumerate(made):
        tidy(ax)
        ax.set_ylim(n_runs - 0.4, -0.6)
        _run_names(ax, study.rows if place % columns == 0 else None, n_runs)
    legend_above(figure, made, _entries(study.rows))
    return figure


def _results(study: StudyResult) -> dict[tuple[str, int], Result]:
    return {
        (row.problem, row.seed): study.result(row.problem, row.seed)
        for row in study.rows
        if not row.error
    }


def _parameters(results: dict[tuple[str, int], Result], parameters: Any) -> list[str]:
    free = list(
        dict.fromkeys(name for one in results.values() for name in one.posterior.space.free_names)
    )
    if parameters is None:
        return free
    asked = [parameters] if isinstance(parameters, str) else list(parameters)
    for name in asked:
        if name not in free:
            raise ValueError(f"parameters has {name!r}, which is none of the names {free}")
    return asked


def _look(row: Row) -> tuple[str, str]:
    return FAILED if row.error else STATUS_LOOKS.get(row.status, UNKNOWN)


def _intervals(
    ax: Axes, rows: Sequence[Row], results: dict[tuple[str, int], Result], name: str
) -> None:
    having: dict[int, Posterior] = {}
    for i, row in enumerate(rows):
        result = results.get((row.problem, row.seed))
        if result is not None and name in result.posterior.space.free_names:
            having[i] = result.posterior
    shown = range_of(list(having.values()), name)
    for i, posterior in having.items():
        colour, marker = _look(rows[i])
        low, q1, middle, q3, high = five_quantiles(posterior, name, shown)
        ax.plot([low, high], [i, i], color=colour, linewidth=0.8, gid="95 %")
        ax.plot([q1, q3], [i, i], color=colour, linewidth=2.4, solid_capstyle="butt", gid="50 %")
        ax.plot([middle], [i], marker, color=colour, markersize=3.5, gid="median")
    shown.on_x(ax, 4)


def five_quantiles(posterior: Posterior, name: str, shown: Range) -> list[float]:
    """Five quantiles of a parameter in order; of a periodic one unrolled from the first."""
    marginal = posterior.marginal(name)
    found = [marginal.quantile(p) for p in (THIN[0], THICK[0], 0.5, THICK[1], THIN[1])]
    if not shown.period:
        return found
    middle = float(shown.place(np.array(found[2])))
    offsets = [np.mod(q - found[2] + 0.5 * shown.period, shown.period) for q in found]
    return [middle + float(offset) - 0.5 * shown.period for offset in offsets]


def _evidences(ax: Axes, rows: Sequence[Row]) -> None:
    known = [row.log_evidence for row in rows if np.isfinite(row.log_evidence)]
    for i, row in enumerate(rows):
        colour, marker = _look(row)
        if row.error:
            place = float(np.mean(known)) if known else 0.0
            ax.plot([place], [i], marker, color=colour, markersize=4, gid="failed")
        elif np.isfinite(row.log_evidence):
            ax.errorbar(
                [row.log_evidence], [i], xerr=[Z95 * row.log_evidence_sd], fmt=marker,
                color=colour, markersize=3.5, elinewidth=0.8, gid="evidence",
            )  # fmt: skip
    few_ticks(ax.xaxis, 4)
    label(ax, "log evidence")


def _models(ax: Axes, totals: Sequence[ModelEvidence]) -> None:
    """The evidence of each model, relative to the best of those that have all problems."""
    tidy(ax)
    most = max(one.n_problems for one in totals)
    whole = [one for one in totals if one.n_problems == most and not one.n_missing]
    best = max((one.total for one in whole), default=0.0)
    for i, one in enumerate(totals):
        if one in whole:
            ax.errorbar(
                [one.total - best], [i], xerr=[Z95 * one.sd], fmt="o", color=BLACK, markersize=3.5,
                elinewidth=0.8, gid="model",
            )  # fmt: skip
    ax.axvline(0.0, color=GREY, linewidth=0.6)
    ax.set_ylim(len(totals) - 0.4, -0.6)
    ax.set_yticks(range(len(totals)), [short(one.model, 1.0, SMALL_FONT) for one in totals])
    for text in ax.get_yticklabels():
        as_is(text)
    few_ticks(ax.xaxis, 4)
    label(ax, "sum, relative to best")


def _run_names(ax: Axes, rows: Sequence[Row] | None, n: int) -> None:
    if rows is None:
        ax.set_yticks(range(n), [""] * n)
        return
    several = len({row.problem for row in rows}) < len(rows)
    texts = [f"{row.problem}, {row.seed}" if several else row.problem for row in rows]
    ax.set_yticks(range(n), [short(text, 1.2, SMALL_FONT) for text in texts])
    for text in ax.get_yticklabels():
        as_is(text)


def _entries(rows: Sequence[Row]) -> list[tuple[Artist, str]]:
    entries: list[tuple[Artist, str]] = []
    for status, (colour, marker) in STATUS_LOOKS.items():
        if any(row.status == status and not row.error for row in rows):
            entries.append((marker_key(marker, colour), str(status)))
    if any(not row.error and row.status not in STATUS_LOOKS for row in rows):
        entries.append((marker_key(UNKNOWN[1], UNKNOWN[0]), "status not kept"))
    if any(row.error for row in rows):
        entries.append((marker_key(FAILED[1], FAILED[0]), "failed"))
    return entries
