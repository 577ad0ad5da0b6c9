"""Estimates with their intervals, one line each: evidences, parameters by run, probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from quell.pages.chart import Chart, Hover
from quell.pages.frame import LETTER, Box, fitting, x_axis
from quell.pages.scales import Scale
from quell.pages.svg import dots, label, line, picture

#: Pixels: a line, the margins, the room for names at most.
ROW, TOP, BOTTOM, RIGHT, NAMES = 24, 12, 46, 24, 240


@dataclass(frozen=True)
class Estimate:
    """A value with a thin interval and perhaps a thick one; ``kind`` is a class of verdicts.

    nan where it is not known.
    """

    name: str
    value: float
    low: float
    high: float
    kind: str = "usable"
    inner: tuple[float, float] | None = None
    words: str = ""


def forest_chart(
    ident: str, title: str, unit: str, rows: Sequence[Estimate], *, width: float = 820,
    scale: Scale | None = None, zero: float | None = None,
) -> Chart:  # fmt: skip
    """The chart of some estimates; ``zero`` is a value with a line of its own."""
    longest = max((len(row.name) for row in rows), default=0)
    room = min(NAMES, 0.4 * width, 20 + LETTER * longest)
    box = Box(room, TOP, width - room - RIGHT, ROW * len(rows))
    across = (scale or _scale(rows, zero)).between(box.left, box.right)
    parts: list[Markup] = []
    if zero is not None:
        at = across.point(zero)
        parts.append(line(at, box.top, at, box.bottom, "limit"))
    places, words = [], []
    for i, row in enumerate(rows):
        y = box.top + ROW * (i + 0.5)
        parts.append(line(box.left, y, box.right, y, "grid"))
        parts.append(label(box.left - 10, y + 4, fitting(row.name, room - 14), "tick end"))
        if not np.isfinite(row.value):
            parts.append(label(box.left + 6, y + 4, "no value", "tick"))
            continue
        x, low, high = (
            float(np.clip(across.at(v), box.left, box.right))
            for v in (row.value, row.low, row.high)
        )
        parts.append(line(low, y, high, y, f"thin is-{row.kind}"))
        if row.inner is not None:
            ends = np.clip(across.at(np.array(row.inner)), box.left, box.right)
            parts.append(line(float(ends[0]), y, float(ends[1]), y, f"thick is-{row.kind}"))
        shape = {"no": "cross", "not-yet": "diamond", "under-way": "diamond"}.get(row.kind, "")
        parts.append(dots(np.array([x]), np.array([y]), f"mark is-{row.kind}", shape))
        places.append((x, y))
        words.append(row.words or f"{row.name}: {row.value:.4g} ({row.low:.4g} to {row.high:.4g})")
    parts.append(x_axis(box, across, unit, 7 if width > 500 else 4))
    text = "; ".join(row.words or f"{row.name} {row.value:.4g}" for row in rows[:50])
    svg = picture(ident, width, box.bottom + BOTTOM, title, text, parts,
                  "chart wide" if width > 500 else "chart")  # fmt: skip
    hover = Hover(np.array(places).reshape(-1, 2), words, along=False)
    return Chart(ident, svg, hover=hover)


def _scale(rows: Sequence[Estimate], zero: float | None) -> Scale:
    ends = [v for row in rows for v in (row.value, row.low, row.high) if np.isfinite(v)]
    ends += [] if zero is None else [zero]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    margin = 0.06 * (high - low) or max(1e-6, 0.1 * abs(low))
    return Scale(low - margin, high + margin)
