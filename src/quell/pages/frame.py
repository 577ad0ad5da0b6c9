"""The frame of a chart: two axes with ticks, and where its data are drawn."""

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from quell.pages.scales import Scale
from quell.pages.svg import label, line, rectangle
from quell.plots.ranges import Range
from quell.plots.style import shortened
from quell.text import printable

#: Pixels of a letter in the font of ticks and names.
LETTER = 6.2


@dataclass(frozen=True)
class Box:
    """A part of a picture, in pixels."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.top + self.height


def fitting(name: str, pixels: float) -> str:
    """A name that fits; beginning and end are kept.

    >>> fitting("a very long name of parameter_12", 100)
    'a very lo…ter_12'
    """
    return shortened(printable(name), max(4, int(pixels / LETTER)))


def x_axis(box: Box, scale: Scale, name: str = "", most: int = 5, *, labels: bool = True) -> Markup:
    """The lower axis: ticks, their numbers and the name below."""
    parts = [line(box.left, box.bottom, box.right, box.bottom, "axis")]
    last = -np.inf
    for value, text in scale.ticks(most):
        at = scale.point(value)
        if not box.left - 0.5 <= at <= box.right + 0.5:
            continue
        parts.append(line(at, box.bottom, at, box.bottom + 4, "axis"))
        half = 0.5 * LETTER * len(text)
        if labels and at - half > last + 4:  # no number over another
            parts.append(label(at, box.bottom + 16, text, "tick mid"))
            last = at + half
    if name:
        middle = box.left + 0.5 * box.width
        parts.append(label(middle, box.bottom + 33, name, "name mid"))
    return Markup("").join(parts)


def y_axis(
    box: Box, scale: Scale, name: str = "", most: int = 5, *, labels: bool = True, grid: bool = True
) -> Markup:
    """The left axis: ticks with faint lines across, their numbers, and the name over it."""
    parts = []
    for value, text in scale.ticks(most):
        at = scale.point(value)
        if not box.top - 0.5 <= at <= box.bottom + 0.5:
            continue
        if grid:
            parts.append(line(box.left, at, box.right, at, "grid"))
        parts.append(line(box.left - 4, at, box.left, at, "axis"))
        if labels:
            parts.append(label(box.left - 7, at + 4, text, "tick end"))
    parts.append(line(box.left, box.top, box.left, box.bottom, "axis"))
    if name:
        parts.append(label(box.left, box.top - 7, name, "name"))
    return Markup("").join(parts)


def out_of_bounds(box: Box, shown: Range, *, across: bool = True) -> Markup:
    """Grey where a parameter cannot be, and a line at its bounds."""
    parts = []
    scale = Scale.of(shown, box.left, box.right) if across else Scale.of(
        shown, box.bottom, box.top
    )  # fmt: skip
    for ends in shown.beyond():
        a, b = sorted(scale.at(np.array(ends)))
        if across:
            parts.append(rectangle(a, box.top, b - a, box.height, "beyond"))
        else:
            parts.append(rectangle(box.left, a, box.width, b - a, "beyond"))
    for bound in shown.bounds_in_sight():
        at = scale.point(bound)
        if across:
            parts.append(line(at, box.top, at, box.bottom, "bound"))
        else:
            parts.append(line(box.left, at, box.right, at, "bound"))
    return Markup("").join(parts)
