"""What was evaluated: values by number and origin, the best ones, and those that failed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from quell.arrays import FloatArray
from quell.evaluations import Evaluations, Origin
from quell.pages.chart import Chart, Hover, Key
from quell.pages.frame import Box, x_axis, y_axis
from quell.pages.scales import Scale
from quell.pages.svg import dots, element, number, picture
from quell.plots.limits import value_limits
from quell.text import printable

WIDTH, HEIGHT = 820, 250
BOX = Box(62, 26, WIDTH - 76, HEIGHT - 70)
#: Rows of the table that is there without a script; rows in the data of the page at most.
N_BEST, MOST = 15, 1500
#: Kinds of failures that are listed, the most frequent first.
MOST_KINDS = 20
#: An error text longer than this is cut: some programs return pages of it.
LONGEST_ERROR = 600
#: What each origin means, in the words of a legend.
MEANING = {
    Origin.START: "start", Origin.DESIGN: "design", Origin.SEARCH: "search", Origin.LOOK: "look",
    Origin.AGAIN: "again", Origin.CHECK: "check", Origin.USER: "user",
    Origin.GIVEN: "given (does not count)",
}  # fmt: skip


@dataclass(frozen=True)
class Failure:
    """Evaluations that failed with one text: how many, the first of them, and where that was."""

    text: str
    count: int
    first: int
    at: str


@dataclass(frozen=True, eq=False)
class EvaluationsSection:
    """The part of a report on evaluations; ``data`` are rows of plain values for its table."""

    chart: Chart | None
    names: tuple[str, ...]
    best: list[list[str]]
    failures: list[Failure]
    n_failed: int
    n_kinds: int
    n_rows: int
    n_listed: int
    data: dict[str, Any]


def evaluations_section(
    table: Evaluations, dimension: int, ident: str = "values"
) -> EvaluationsSection:
    """The section of a table of evaluations, of ``dimension`` free parameters."""
    order = np.argsort(-np.nan_to_num(table.log_joint, nan=-np.inf), kind="stable")
    order = order[table.ok[order]]
    listed = sorted({*order[:MOST].tolist(), *np.flatnonzero(~table.ok)[:MOST].tolist()})[:MOST]
    failures = _failures(table)
    return EvaluationsSection(
        chart=_chart(table, dimension, ident),
        names=tuple(printable(name) for name in table.names),
        best=[_cells(table, int(i)) for i in order[:N_BEST]],
        failures=failures[:MOST_KINDS],
        n_failed=table.n_failed,
        n_kinds=len(failures),
        n_rows=len(table),
        n_listed=len(listed),
        data={
            "names": [printable(name) for name in table.names],
            "rows": [_row(table, i) for i in listed],
        },
    )


def _cells(table: Evaluations, i: int) -> list[str]:
    """A row as text: number, log joint, SD, origin, parameters."""
    return [
        str(i + 1), f"{table.log_joint[i]:.3f}", _sd(float(table.sd[i])), str(table.origin[i]),
        *(f"{value:.5g}" for value in table.theta[i]),
    ]  # fmt: skip


def _sd(sd: float) -> str:
    return "exact" if sd == 0 else "unknown" if np.isnan(sd) else f"{sd:.3g}"


def _row(table: Evaluations, i: int) -> list[Any]:
    """A row as plain values; the text of an error at its end."""
    ok = bool(table.ok[i])
    return [
        i + 1, round(float(table.log_joint[i]), 3) if ok else None, _sd(float(table.sd[i])),
        str(table.origin[i]), [float(f"{value:.5g}") for value in table.theta[i]],
        "" if ok else printable(table.error[i])[:80],
    ]  # fmt: skip


def _failures(table: Evaluations) -> list[Failure]:
    kinds: dict[str, list[int]] = {}
    for i in np.flatnonzero(~table.ok).tolist():
        kinds.setdefault(table.error[i], []).append(i)
    found = []
    for text, rows in kinds.items():
        shown = printable(text)
        if len(shown) > LONGEST_ERROR:
            shown = f"{shown[:LONGEST_ERROR]} … ({len(shown)} characters)"
        point = zip(table.names, table.theta[rows[0]], strict=True)
        at = ", ".join(f"{printable(name)} = {value:.5g}" for name, value in point)
        found.append(Failure(shown, len(rows), rows[0] + 1, at))
    return sorted(found, key=lambda failure: (-failure.count, failure.first))


def _chart(table: Evaluations, dimension: int, ident: str) -> Chart | None:
    limits = value_limits(table, dimension)
    if limits is None:
        return None
    across = Scale(0.0, len(table) + 1.0, BOX.left, BOX.right)
    scale = Scale(limits[0], limits[1], BOX.bottom, BOX.top)
    value = table.log_joint
    x = across.at(np.arange(1.0, len(table) + 1.0))
    low = table.ok & (value < limits[0])
    y = np.where(table.ok & ~low, scale.at(value), BOX.bottom - 5)
    sd = np.nan_to_num(table.sd)
    parts = [y_axis(BOX, scale, "log joint", 5), x_axis(BOX, across, "number of the evaluation", 8)]
    inside = table.ok & ~low
    parts.append(_bars(x[inside], scale, value[inside], sd[inside]))
    keys = []
    for origin in dict.fromkeys(table.origin):
        rows = inside & np.array([one == origin for one in table.origin])
        parts.append(dots(x[rows], y[rows], f"dot from-{origin}"))
        keys.append(Key(f"from-{origin}", "dot", MEANING[origin]))
    parts.append(dots(x[low], y[low], "low", "down"))
    parts.append(dots(x[~table.ok], y[~table.ok], "failed", "cross"))
    keys += [Key("low", "down", "below the axis")] * bool(low.any())
    keys += [Key("failed", "cross", "failed")] * bool(table.n_failed)
    best = float(np.nanmax(value))
    text = (
        f"The log joint of {len(table)} evaluations in their order, {table.n_failed} of them "
        f"failed. The best is {best:.3f}, number {int(np.nanargmax(value)) + 1}."
    )
    svg = picture(ident, WIDTH, HEIGHT, "Values by number", text, parts, "chart wide")
    hover = Hover(np.column_stack([x, y]), _words(table), along=False)
    return Chart(ident, svg, hover=hover, keys=keys)


def _bars(x: FloatArray, scale: Scale, value: FloatArray, sd: FloatArray) -> Markup:
    """Error bars of one SD as one path."""
    d = ""
    for a, v, s in zip(x, value, sd, strict=True):
        if s > 0:
            ends = np.clip(scale.at(np.array([v - s, v + s])), BOX.top, BOX.bottom)
            d += f"M{number(a)} {number(ends[0])}V{number(ends[1])}"
    return element("path", class_="bars", d=d) if d else Markup("")


def _words(table: Evaluations) -> list[str]:
    words = []
    for i in range(len(table)):
        if table.ok[i]:
            text = f"log joint {table.log_joint[i]:.3f}"
            if table.sd[i] > 0:
                text += f" ± {table.sd[i]:.2g}"
        else:
            text = f"failed: {printable(table.error[i])[:80]}"
        words.append(f"evaluation {i + 1} ({table.origin[i]}): {text}")
    return words
