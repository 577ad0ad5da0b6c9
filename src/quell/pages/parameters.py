"""The table of parameters: figures of the posterior beside the box and the bounds."""

from dataclasses import dataclass

import numpy as np

from quell.plots.style import rounded
from quell.results.distribution import Distribution
from quell.results.table import summary_rows
from quell.text import printable


@dataclass(frozen=True)
class ParameterRow:
    """One parameter, its figures as text; ``note`` on what is special about it."""

    name: str
    free: bool
    mean: str
    sd: str
    low: str
    median: str
    high: str
    plausible: str
    bounds: str
    note: str


def parameter_rows(posterior: Distribution) -> list[ParameterRow]:
    """One row for each parameter, fixed ones included."""
    b = posterior.space.bounds
    integer = posterior.integer or (False,) * posterior.dimension
    found = []
    for i, row in enumerate(summary_rows(posterior)):
        name = printable(row.name)
        if not row.free:
            fixed = f"{row.figures[0]:.6g}"
            found.append(ParameterRow(name, False, fixed, "", "", "", "", "", "", "fixed"))
            continue
        spread = float(row.figures[1])
        # One digit more than the SD is worth: the table is also where figures are copied from.
        mean, low, median, high = (
            rounded(float(row.figures[k]), 0.1 * spread) for k in (0, 2, 3, 4)
        )
        cell = 0.5 if integer[i] else 0.0  # the space has the outer edges of an integer's cells
        notes = ["integer"] * bool(integer[i]) + ["periodic"] * bool(b.periodic[i])
        notes += ["the interval goes through the bounds"] * row.goes_through_bounds
        found.append(
            ParameterRow(
                name, True, mean, rounded(spread, 0.1 * spread), low, median, high,
                interval_text(float(b.plausible_lower[i]), float(b.plausible_upper[i])),
                interval_text(float(b.lower[i]) + cell, float(b.upper[i]) - cell),
                ", ".join(notes),
            )
        )  # fmt: skip
    return found


def interval_text(low: float, high: float) -> str:
    """Two ends as text.

    >>> interval_text(0.0, np.inf)
    '0 to ∞'
    """
    return f"{_end(low)} to {_end(high)}"


def _end(value: float) -> str:
    if np.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:.5g}"
