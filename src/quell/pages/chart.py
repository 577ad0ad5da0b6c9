"""A chart of a report: its picture, and what is read off where the pointer is."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from markupsafe import Markup

from quell.arrays import FloatArray
from quell.pages.svg import number
from quell.text import printable


@dataclass(frozen=True, eq=False)
class Hover:
    """Points of a chart that can be read off.

    ``at`` (n, 2) are their places in pixels, ``words`` what is said of each. ``along``: the nearest
    one by the horizontal distance alone, as on a curve.
    """

    at: FloatArray
    words: Sequence[str]
    along: bool = True

    def as_data(self) -> dict[str, Any]:
        """Plain data for the page."""
        keep = [i for i, place in enumerate(self.at) if np.isfinite(place).all()]
        return {
            "x": [float(number(self.at[i, 0])) for i in keep],
            "y": [float(number(self.at[i, 1])) for i in keep],
            "words": [printable(self.words[i]) for i in keep],
            "along": self.along,
        }


@dataclass(frozen=True, eq=False)
class Key:
    """An entry of a legend: a class of the style sheet, a kind of mark, and the word for it."""

    class_: str
    kind: str
    word: str


@dataclass(frozen=True, eq=False)
class Chart:
    """One picture with its name in the page, a caption, a legend, and what can be read off."""

    ident: str
    svg: Markup
    caption: str = ""
    hover: Hover | None = None
    keys: Sequence[Key] = field(default=())
