"""A table of evaluations in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quell.interface import Html

if TYPE_CHECKING:
    from quell.evaluations.table import Evaluations

#: Rows that are shown of a long table, at its beginning and at its end.
SHOWN = 5


def evaluations_html(table: Evaluations) -> str:
    """The first and the last rows."""
    n = len(table)
    rows = list(range(n))
    if n > 2 * SHOWN:
        rows = [*rows[:SHOWN], -1, *rows[-SHOWN:]]
    header = ("", *table.names, "log-likelihood", "SD", "origin", "error")
    cells = [
        (
            str(i),
            *(f"{value:.5g}" for value in table.theta[i]),
            f"{table.value[i]:.5g}",
            f"{table.sd[i]:.3g}",
            str(table.origin[i]),
            table.error[i],
        )
        if i >= 0
        else ("…", *[""] * (len(header) - 1))
        for i in rows
    ]
    return str(Html().heading(repr(table)).table(header, cells))
