"""The figures of each parameter that a summary shows, as text, in a notebook and as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quell.arrays import FloatArray
from quell.interface import import_extra

if TYPE_CHECKING:
    from quell.results.distribution import Distribution, Drawn

#: Share of the interval in a summary, and the names of its figures.
SHARE = 0.95
HEADER = ("mean", "sd", "2.5 %", "median", "97.5 %")


@dataclass(frozen=True, eq=False)
class SummaryRow:
    """One parameter: its name, whether it is free, and the ``figures`` (5,) of `HEADER`.

    Those of a fixed parameter are its value, with SD 0. The interval ``goes_through_bounds`` where
    that of a periodic one does.
    """

    name: str
    free: bool
    figures: FloatArray

    @property
    def goes_through_bounds(self) -> bool:
        """Whether the first end of the interval is the larger one."""
        return bool(self.figures[2] > self.figures[4])


def summary_rows(posterior: Drawn) -> list[SummaryRow]:
    """One row for each parameter."""
    mean, sd = posterior.mean(), posterior.sd()
    ends, median = posterior.interval(SHARE), posterior.median()
    figures = np.column_stack([mean, sd, ends[:, 0], median, ends[:, 1]])
    free = posterior.space.free
    return [
        SummaryRow(n, bool(f), v) for n, f, v in zip(posterior.names, free, figures, strict=True)
    ]


def summary_frame(posterior: Distribution) -> Any:
    """The rows as a pandas ``DataFrame``: one row for each parameter, by name."""
    pandas = import_extra("pandas", "to_pandas", "use result.posterior's mean, sd and interval")
    rows = summary_rows(posterior)
    return pandas.DataFrame(
        np.array([row.figures for row in rows]),
        index=pandas.Index([row.name for row in rows], name="parameter"),
        columns=list(HEADER),
    )
