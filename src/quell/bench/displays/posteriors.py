"""Figures of posteriors beside the truth: marginals of all problems, and all pairs of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import gaussian_filter

from quell.arrays import FloatArray
from quell.bench.compact import restore_posterior
from quell.bench.density import Density, density_from_draws, trapezoid
from quell.bench.displays.drawn import Drawn, Material, NotMade, provenance
from quell.bench.displays.looks import NAMES, PROBLEMS, TITLES
from quell.bench.displays.selection import Count, by_algorithm, noise_in_words, paper_runs
from quell.bench.problems.base import BenchError
from quell.bench.single import Spec
from quell.bench.summary import Record
from quell.plots.densities import rising_levels
from quell.plots.keys import legend_above, line_key
from quell.plots.regions import draw_regions
from quell.plots.style import (
    BLACK,
    BLUE,
    LINE,
    SMALL_FONT,
    VERMILLION,
    Look,
    as_is,
    inches,
    new_figure,
    short,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Runs whose marginals are shown, and the seed of their choice.
SHOWN, CHOICE_SEED = 5, 2020
#: What a marginal leaves outside its panel on each side, and the points it is drawn at.
OUTSIDE, GRID = 0.002, 240
#: Cells of a picture of two parameters along each, the smoothing in cells, and the shares of the
#: regions.
CELLS, SMOOTH, SHARES = 48, 1.6, (0.5, 0.9)
#: The problem whose pairs are shown.
PAIRS = "timing"
#: Inches: the height of a row of marginals, and the width that is not there for names below it.
ROW, BESIDE = 0.62, 0.4


def marginals(material: Material, algorithm: str, problems: Sequence[str]) -> Drawn:
    """The marginals of five runs of an algorithm over the true ones, a row per problem."""
    chosen, left_out = {}, []
    for problem in problems:
        runs = _with_posteriors(material.records, problem, algorithm)
        try:
            if not runs:
                raise BenchError(f"no runs of {algorithm} with posteriors")
            chosen[problem] = runs, _true_marginals(runs[0])
        except BenchError as error:
            left_out.append(f"{TITLES[problem]} ({error})")
    if not chosen:
        reasons = dict.fromkeys(text.split(" (", 1)[1].removesuffix(")") for text in left_out)
        raise NotMade("; ".join(reasons))
    widest = max(len(true) for _, true in chosen.values())
    figure = new_figure(material.width, ROW * len(chosen) + 0.5, layout="constrained")
    grid = figure.subplots(len(chosen), widest, squeeze=False)
    rows: list[Record] = []
    shown: set[int] = set()
    room = (inches(material.width) - BESIDE) / widest
    for axes, (problem, (runs, true)) in zip(grid, chosen.items(), strict=True):
        picked = _pick(runs)
        shown.add(len(picked))
        rows += picked
        names = picked[0]["posterior"]["names"]
        for place, ax in enumerate(axes):
            if place < len(true):
                mine = [_marginal(record["posterior"], place) for record in picked]
                _marginal_panel(ax, true[place], mine)
                as_is(ax.set_xlabel(short(names[place], room, 5.5), fontsize=5.5, labelpad=1))
            else:
                ax.remove()
        count = Count.of(by_algorithm(paper_runs(material.records, problem), [algorithm]))
        text = f"{TITLES[problem]}\n{noise_in_words(runs[0])}\n{len(picked)} of {count}"
        as_is(axes[0].set_ylabel(text, fontsize=5.5, rotation=0, ha="right", va="center"))
    entries = [(line_key(VERMILLION), "truth"), (line_key(BLACK, width=0.6), NAMES[algorithm])]
    legend_above(figure, list(grid[:, 0]), entries)
    several = "–".join(str(n) for n in sorted({min(shown), max(shown)}))
    in_words = f"{several} run{'s' * (max(shown) > 1)}"
    text = (
        f"True marginal posteriors (red) and those of {in_words} of {NAMES[algorithm]} (black), "
        "chosen at random among those whose posteriors are on record, for each parameter (columns) "
        f"of each problem (rows); of how many runs, n, is on the left. {provenance(rows)}"
    )
    panels = sum(len(true) for _, true in chosen.values())
    return Drawn(figure, text, len(rows), panels, tuple(left_out))


def pairs(material: Material, algorithm: str, problem: str = PAIRS) -> Drawn:
    """All pairs of parameters of the truth (left), and of a typical run (right)."""
    runs = _with_posteriors(material.records, problem, algorithm)
    if not runs:
        raise NotMade(f"no runs of {algorithm} on {problem} with posteriors")
    truth = material.truths.get((problem, runs[0].get("data", "")))
    if truth is None:
        raise NotMade(f"no file with draws from the true posterior of {problem}")
    typical = sorted(runs, key=lambda record: float(record["mmtv"]))[(len(runs) - 1) // 2]
    true = np.array(truth["draws"], dtype=np.float64)
    mine = _draws(typical["posterior"], len(true))
    names = list(truth["names"])
    if names != list(typical["posterior"]["names"]):
        raise NotMade(f"the draws from the truth of {problem} have other parameters than its runs")
    ends = np.quantile(np.concatenate([true, mine]), [OUTSIDE, 1 - OUTSIDE], axis=0)
    wide = inches(material.width) > 5
    height = inches(material.width) * (0.53 if wide else 2.06)
    figure = new_figure(material.width, height, layout="constrained")
    parts: Any = figure.subfigures(*((1, 2) if wide else (2, 1)))
    count = Count.of({algorithm: runs})
    heads = ("A   truth", f"B   {NAMES[algorithm]}, a typical run (of {count})")
    looks = (Look(VERMILLION, "-", "o"), Look(BLUE, "-", "o"))
    for part, text, draws, look in zip(parts, heads, (true, mine), looks, strict=True):
        as_is(part.suptitle(text, fontsize=SMALL_FONT + 0.5))
        _triangle(part, draws, ends, names, look)
    text = (
        f"{TITLES[problem]}, all pairs of parameters, as regions of {SHARES[0]:.0%} and "
        f"{SHARES[1]:.0%} of the mass. A: {len(true)} draws from the true posterior; B: as many "
        f"from the run of {NAMES[algorithm]} with the median MMTV ({float(typical['mmtv']):.2g}, "
        f"seed {typical['seed']}) of {len(runs)}. {provenance([typical])}"
    )
    return Drawn(figure, text, len(runs), 2)


def _with_posteriors(records: Sequence[Record], problem: str, algorithm: str) -> list[Record]:
    """The runs of an algorithm on a problem whose posterior can be drawn without code."""
    runs = by_algorithm(paper_runs(records, problem), [algorithm]).get(algorithm, [])
    return [
        record
        for record in runs
        if "posterior" in record and not record["posterior"].get("truncated", False)
    ]


def _pick(runs: list[Record]) -> list[Record]:
    if len(runs) <= SHOWN:
        return runs
    places = np.random.default_rng(CHOICE_SEED).permutation(len(runs))[:SHOWN]
    return [runs[place] for place in sorted(places)]


def _true_marginals(record: Record) -> tuple[Density, ...]:
    """The true marginals of the problem of a run; `BenchError` if its data are not here."""
    return Spec.of_record(record).benchmark().truth.marginals


def _marginal(posterior: dict[str, Any], place: int) -> Callable[[FloatArray], FloatArray]:
    if posterior["kind"] == "draws":
        return density_from_draws(np.array(posterior["draws"])[:, place])
    return restore_posterior(posterior).marginal(place).pdf


def _draws(posterior: dict[str, Any], n: int) -> FloatArray:
    """``n`` draws (n, D) from a stored posterior; as many as there are of one stored by draws."""
    if posterior["kind"] == "draws":
        return np.array(posterior["draws"], dtype=np.float64)
    return restore_posterior(posterior).sample(n, 0)


def _marginal_panel(
    ax: Axes, true: Density, mine: Sequence[Callable[[FloatArray], FloatArray]]
) -> None:
    low, high = _range(true)
    spread = high - low
    ends = max(true.lower, low - 0.15 * spread), min(true.upper, high + 0.15 * spread)
    # Middles of cells, for at a bound itself a transformed density is zero or infinite.
    x = ends[0] + (ends[1] - ends[0]) * (np.arange(GRID) + 0.5) / GRID
    for one in mine:
        ax.plot(x, one(x), color=BLACK, linewidth=0.6, alpha=0.7, gid="run")
    ax.plot(x, true(x), color=VERMILLION, linewidth=LINE, gid="truth")
    # A run that has piled its mass on one place must not hide the others.
    heights = [float(np.max(line.get_ydata())) for line in ax.lines]
    ax.set_ylim(0, min(1.08 * max(heights), 2.2 * heights[-1]))
    tidy(ax, size=5)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_xticks([])


def _range(true: Density) -> tuple[float, float]:
    """Where the mass of a density is, but for a little on both sides."""
    x = true.grid
    heights = true(x)
    steps = 0.5 * (heights[1:] + heights[:-1]) * np.diff(x)
    below = np.concatenate([[0.0], np.cumsum(steps)]) / trapezoid(heights, x)
    low, high = np.interp([OUTSIDE, 1 - OUTSIDE], below, x)
    return float(low), float(high)


def _triangle(
    where: Any, draws: FloatArray, ends: FloatArray, names: Sequence[str], look: Look
) -> None:
    """Histograms on the diagonal, regions below it; ``ends`` (2, D) of the axes."""
    n = len(names)
    grid = where.subplots(n, n, squeeze=False)
    room = where.bbox.width / where.dpi_scale_trans.transform((1, 0))[0] / n
    for i, j in np.ndindex(n, n):
        ax = grid[i, j]
        if j > i:
            ax.remove()
            continue
        tidy(ax, size=5)
        ax.set_xlim(ends[0, j], ends[1, j])
        ax.set_xticks([])
        ax.set_yticks([])
        if i == j:
            ax.hist(
                draws[:, j], bins=30, range=(ends[0, j], ends[1, j]), density=True,
                color=look.colour, alpha=0.7,
            )  # fmt: skip
            ax.spines["left"].set_visible(False)
        else:
            ax.set_ylim(ends[0, i], ends[1, i])
            _region(ax, draws[:, j], draws[:, i], ends[:, j], ends[:, i], look)
        if i == n - 1:
            as_is(ax.set_xlabel(short(names[j], room, 5.5), fontsize=5.5, labelpad=1))
        if j == 0 and i > 0:
            as_is(ax.set_ylabel(short(names[i], room, 5.5), fontsize=5.5, labelpad=1))


def _region(
    ax: Axes, x: FloatArray, y: FloatArray, across: FloatArray, up: FloatArray, look: Look
) -> None:
    """Regions of highest density of draws (n,) and (n,), from a smoothed histogram."""
    counts, *edges = np.histogram2d(x, y, bins=CELLS, range=[list(across), list(up)])
    density = gaussian_filter(counts, SMOOTH, mode="nearest").T
    places = [
        np.clip(np.digitize(values, edge) - 1, 0, CELLS - 1)
        for values, edge in zip((x, y), edges, strict=True)
    ]
    levels = rising_levels(density[places[1], places[0]], SHARES)
    middles = [0.5 * (edge[1:] + edge[:-1]) for edge in edges]
    draw_regions(ax, middles[0], middles[1], density, levels, look)


MARGINAL_PROBLEMS = tuple(PROBLEMS)
