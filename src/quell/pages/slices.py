"""Slices of the surrogate through the mode: what it believes, and the evaluations near by."""

import numpy as np

from quell.arrays import FloatArray
from quell.gp import GaussianProcess
from quell.pages.chart import Chart, Hover, Key
from quell.pages.corner import plausible_box
from quell.pages.frame import Box, fitting, out_of_bounds, x_axis, y_axis
from quell.pages.scales import Scale
from quell.pages.svg import band, curve, dots, element, line, number, picture
from quell.plots.slices import Nearby, Slice, near_slice, slice_along, slice_point
from quell.plots.style import Z95
from quell.results import Result
from quell.text import printable

WIDTH, HEIGHT = 330, 230
BOX = Box(52, 22, WIDTH - 64, HEIGHT - 66)
#: Slices of the first parameters only, where there are more.
MOST = 16
#: Points of a slice that can be read off.
EVERY = 4
KEYS = (
    Key("curve", "line", "surrogate"), Key("band", "patch", "95 % band"),
    Key("answer", "line", "posterior × evidence"),
    Key("near", "dot", "evaluations near by"), Key("plausible", "line", "plausible box"),
)  # fmt: skip


def slice_charts(result: Result, ident: str = "slice") -> list[Chart]:
    """One chart for each free parameter; ``ValueError`` where a file does not have the support."""
    point = slice_point(result, None)
    gp = result.solution.surrogate()
    free = np.flatnonzero(result.posterior.space.free)[:MOST]
    with np.errstate(all="ignore"):
        return [_chart(result, gp, int(i), point, f"{ident}-{i}") for i in free]


def _chart(result: Result, gp: GaussianProcess, i: int, point: FloatArray, ident: str) -> Chart:
    along = slice_along(result, gp, i, point)
    near = near_slice(result, gp, along)
    low, high = along.limits or (0.0, 1.0)
    across = Scale.of(along.shown, BOX.left, BOX.right)
    scale = Scale(low, high, BOX.bottom, BOX.top)
    x, y = across.at(along.values), scale.at(along.mean)
    ends = [np.clip(scale.at(along.mean + k * along.sd), BOX.top, BOX.bottom) for k in (-Z95, Z95)]
    answer = scale.at(along.answer)
    at = across.point(float(along.shown.place(point[i : i + 1])[0]))
    name = printable(along.shown.name)
    parts = [
        out_of_bounds(BOX, along.shown),
        y_axis(BOX, scale, "log joint", 4),
        band(x, ends[0], ends[1], "band"),
        line(at, BOX.top, at, BOX.bottom, "limit"),
        curve(x, _seen(y), "curve", marker=along.shown.integer),
        curve(x, _seen(answer), "answer"),
        _near(near, across, scale),
        plausible_box(BOX, result.posterior, along.shown, across),
        x_axis(BOX, across, fitting(name, BOX.width), 5),
    ]
    text = (
        f"The log joint along {name}, all other parameters at the mode, where {name} is "
        f"{point[i]:.4g}: the surrogate with its band, posterior times evidence, and "
        f"{len(near.x)} evaluations near by."
    )
    svg = picture(ident, WIDTH, HEIGHT, f"Slice along {name}", text, parts)
    rows = np.arange(0, len(x), 1 if along.shown.integer else EVERY)
    hover = Hover(
        np.column_stack([x[rows], np.clip(y[rows], BOX.top, BOX.bottom)]),
        [_words(along, int(row), name) for row in rows],
    )
    return Chart(ident, svg, hover=hover)


def _seen(y: FloatArray) -> FloatArray:
    return np.where((y >= BOX.top - 1) & (y <= BOX.bottom + 1), y, np.nan)


def _near(near: Nearby, across: Scale, scale: Scale) -> str:
    """Evaluations with error bars of one SD."""
    x, y = across.at(near.x), scale.at(near.log_joint)
    seen = (y >= BOX.top) & (y <= BOX.bottom) & (x >= BOX.left) & (x <= BOX.right)
    d = ""
    for a, v, s in zip(x[seen], near.log_joint[seen], near.sd[seen], strict=True):
        ends = np.clip(scale.at(np.array([v - s, v + s])), BOX.top, BOX.bottom)
        d += f"M{number(a)} {number(ends[0])}V{number(ends[1])}"
    bars = element("path", class_="bars", d=d) if d else ""
    return dots(x[seen], y[seen], "near dot") + bars


def _words(along: Slice, row: int, name: str) -> str:
    value = along.values[row]
    if along.shown.period:
        value = along.shown.lower + np.mod(value - along.shown.lower, along.shown.period)
    text = f"{name} = {value:.4g}: "
    if np.isnan(along.mean[row]):
        return text + "no density here"
    text += f"surrogate {along.mean[row]:.3f} ± {along.sd[row]:.2g}"
    if np.isfinite(along.answer[row]):
        text += f", posterior × evidence {along.answer[row]:.3f}"
    return text
