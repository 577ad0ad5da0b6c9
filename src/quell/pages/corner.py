"""All parameters two by two: the corner of a report, and what its larger view of a pair needs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from quell.arrays import FloatArray
from quell.pages.chart import Chart, Key
from quell.pages.contours import outlines, straightened
from quell.pages.densities import densities_of
from quell.pages.frame import Box, fitting, out_of_bounds, x_axis, y_axis
from quell.pages.scales import Scale
from quell.pages.svg import (
    band,
    curve,
    element,
    group,
    label,
    line,
    number,
    picture,
    rectangle,
    trail,
)
from quell.plots.densities import peak
from quell.plots.ranges import Range, range_of
from quell.results.distribution import Distribution
from quell.text import printable

#: Probabilities of the regions, and the shares of the probability below the lines.
SHARES, QUANTILES = (0.5, 0.9), (0.025, 0.5, 0.975)
#: Maps are drawn in squares of this size, in whole numbers.
MAP = 1000
#: Pixels: the whole picture at most, a panel at most and at least, and the space between them.
WIDEST, LARGEST, SMALLEST, GAP = 1040, 230, 46, 8
LEFT, TOP, RIGHT, BOTTOM = 62, 24, 12, 46
#: Panels smaller than this have fewer ticks.
CROWDED = 110
#: Points of a curve in the data of the page.
N_READ = 100
#: More parameters than this are not drawn two by two: the panels would be too small to see.
MOST = 16


@dataclass(frozen=True, eq=False)
class Corner:
    """The corner as a chart, and plain ``data`` on each parameter for the view of one pair."""

    chart: Chart
    data: dict[str, Any]


def corner_of(posterior: Distribution, ident: str = "corner") -> Corner:
    """The corner of all free parameters; of the first `MOST` if there are more."""
    free = [int(i) for i in np.flatnonzero(posterior.space.free)]
    ranges = [range_of([posterior], posterior.names[i]) for i in free[:MOST]]
    drawn = densities_of(posterior)
    n = len(ranges)
    panel = min(LARGEST, max(SMALLEST, (WIDEST - LEFT - RIGHT - GAP * (n - 1)) / n))
    width, height = (edges + n * panel + GAP * (n - 1) for edges in (LEFT + RIGHT, TOP + BOTTOM))
    parts: list[Markup] = []
    curves = [drawn.alone(shown) for shown in ranges]
    for row, down in enumerate(ranges):
        for column, across in enumerate(ranges[: row + 1]):
            left, top = (edge + k * (panel + GAP) for edge, k in ((LEFT, column), (TOP, row)))
            box = Box(left, top, panel, panel)
            if row == column:
                parts.append(_alone(box, posterior, across, *curves[row]))
                parts.append(label(left, top - 7, fitting(across.name, panel + 40), "name"))
            else:
                maps = drawn.pair(across, down, SHARES)
                parts.append(_two(box, across, down, *maps, name=f"{ident}-{row}-{column}"))
            parts.append(_axes(box, across, down, row, column, n))
    names = ", ".join(printable(shown.name) for shown in ranges)
    text = (
        f"Marginal densities of {names} on the diagonal, and regions of highest density of every "
        "two of them below it. The table of parameters has the figures."
    )
    svg = picture(ident, width, height, "Posterior, two by two", text, parts, "chart corner")
    keys = (
        Key("r50", "patch", "50 % region"), Key("r90", "patch", "90 % region"),
        Key("quantile", "line", "2.5 %, 50 %, 97.5 %"), Key("plausible", "line", "plausible box"),
    )  # fmt: skip
    places = {"left": LEFT, "top": TOP, "panel": float(number(panel)), "gap": GAP}
    parameters = [
        parameter_data(posterior, shown, *one) for shown, one in zip(ranges, curves, strict=True)
    ]
    return Corner(
        Chart(ident, svg, keys=keys), {"map": MAP, "places": places, "parameters": parameters}
    )


def _alone(
    box: Box, posterior: Distribution, shown: Range, x: FloatArray, density: FloatArray
) -> Markup:
    """The density of one parameter."""
    scale = Scale.of(shown, box.left, box.right)
    height = 1.06 * peak(x, density, shown)
    y = box.bottom - np.clip(density / height, 0.0, 1.0) * box.height
    parts = [out_of_bounds(box, shown)]
    if shown.integer:
        half = 0.4 * box.width / shown.width
        parts += [
            rectangle(float(a) - half, float(b), 2 * half, box.bottom - float(b), "r50 bar")
            for a, b in zip(scale.at(x), y, strict=True)
        ]
    else:
        at = scale.at(x)
        parts += [band(at, np.full(len(x), box.bottom), y, "area"), curve(at, y, "curve")]
    marginal = posterior.marginal(shown.name)
    for share in QUANTILES:
        at = scale.point(float(shown.place(np.array(marginal.quantile(share)))))
        if box.left <= at <= box.right:
            parts.append(line(at, box.top, at, box.bottom, "quantile"))
    parts.append(plausible_box(box, posterior, shown, scale))
    return group(*parts)


def plausible_box(box: Box, posterior: Distribution, shown: Range, scale: Scale) -> Markup:
    """A bar at the lower edge, as far as the plausible box is in sight."""
    b = posterior.space.bounds
    ends = np.array([b.plausible_lower[shown.parameter], b.plausible_upper[shown.parameter]])
    ends = np.clip(scale.at(shown.place(ends)), box.left, box.right)
    if not ends[0] < ends[1]:
        return Markup("")
    return line(float(ends[0]), box.bottom - 1.5, float(ends[1]), box.bottom - 1.5, "plausible")


def _two(
    box: Box, across: Range, down: Range, x: FloatArray, y: FloatArray, density: FloatArray,
    levels: FloatArray, name: str,
) -> Markup:  # fmt: skip
    """The regions of two parameters, in a square of whole numbers that is scaled."""
    backs = [out_of_bounds(box, across), out_of_bounds(box, down, across=False)]
    to_x, to_y = Scale.of(across, 0, MAP), Scale.of(down, MAP, 0)
    paths = []
    if len(x) > 1 and len(y) > 1 and density.max() > 0:
        at_x, at_y = to_x.at(x), to_y.at(y)
        for level, class_ in zip(levels, ("r90", "r50"), strict=True):
            d = "".join(
                trail(straightened(loop), closed=True, decimals=0)
                for loop in outlines(at_x, at_y, density, float(level))
            )
            if d:
                paths.append(element("path", class_=class_, d=d))
    size = number(box.width / MAP, 4)
    place = f"translate({number(box.left)} {number(box.top)}) scale({size})"
    return group(*backs, group(*paths, id=name, class_="map", transform=place))


def _axes(box: Box, across: Range, down: Range, row: int, column: int, n: int) -> Markup:
    most = 4 if box.width >= CROWDED else 3
    last = row == n - 1
    parts = [x_axis(box, Scale.of(across, box.left, box.right), most=most, labels=last)]
    if row != column:
        scale = Scale.of(down, box.bottom, box.top)
        parts.append(y_axis(box, scale, most=most, labels=column == 0, grid=False))
    if last:
        name = fitting(across.name, box.width)
        parts.append(label(box.left + 0.5 * box.width, box.bottom + 34, name, "name mid"))
    if column == 0 and row > 0:
        name = fitting(down.name, box.height)
        parts.append(label(14, box.top + 0.5 * box.height, name, "name mid", turn=-90))
    return Markup("").join(parts)


def parameter_data(
    posterior: Distribution, shown: Range, x: FloatArray, density: FloatArray
) -> dict[str, Any]:
    """What the page needs to draw and to read off one parameter: plain data."""
    scale = Scale.of(shown, 0.0, 1.0)
    rows = sorted({int(i) for i in np.linspace(0, len(x) - 1, N_READ)}) if len(x) else []
    height = peak(x, density, shown)
    return {
        "name": printable(shown.name),
        "index": shown.parameter,
        "low": shown.low,
        "high": shown.high,
        "log": shown.log,
        "lower": shown.lower,
        "period": shown.period,
        "integer": shown.integer,
        "ticks": [[round(scale.point(value), 4), text] for value, text in scale.ticks(6)],
        "bounds": [round(scale.point(bound), 4) for bound in shown.bounds_in_sight()],
        "curve": [
            [round(float(scale.at(x[i])), 4), round(min(float(density[i] / height), 1.1), 4)]
            for i in rows
        ],
        "below": [round(float(posterior.marginal(shown.name).cdf(x[i])), 4) for i in rows],
    }
