"""Final metrics against the noise, and against how badly it is known, in numbers.

The tables behind Figures 4 and S6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from quell.bench.displays.looks import AGAINST_NOISE, MAIN
from quell.bench.displays.noise import jitter_level, levels_of, noise_level
from quell.bench.layout import laid_out, listed
from quell.bench.summary import Record, summarise
from quell.bench.tables import mixed_runs, number

LEGEND = (
    "Median LML (against the best value known) / median MMTV, and in brackets how many of the runs",
    "are usable (LML < 1, gsKL < 1 and MMTV < 0.2); - where there are no runs.",
)


class Sweep(NamedTuple):
    """A sweep: its title, the level of a run (None: not of it), and the levels that are planned."""

    title: str
    level: Callable[[Record], float | None]
    planned: tuple[float, ...]


SWEEPS = (
    Sweep("SD of the noise (Figure 4)", noise_level, (0.0, 1.0, 3.0, 5.0, 7.0)),
    Sweep(
        "Spread of the log of the SDs that are told, noise of SD 2 (Figure S6)",
        jitter_level, (0.0, 0.2, 0.4, 0.8),
    ),
)  # fmt: skip


def noise_table(records: Iterable[Record], *, markdown: bool = False) -> str:
    """Two tables: a row for each problem and algorithm, a column for each level."""
    rows = list(records)
    text: list[str] = []
    used: list[Record] = []
    for sweep in SWEEPS:
        text += [f"**{sweep.title}**" if markdown else sweep.title, ""]
        cells = _cells(rows, sweep, used)
        if len(cells) == 1:
            text += ["No runs at two levels or more yet.", ""]
        else:
            text += [laid_out(cells, words=2, markdown=markdown), ""]
    return "\n".join([*text, *LEGEND, "", *listed(mixed_runs(used), markdown=markdown)]).rstrip()


def _cells(records: Sequence[Record], sweep: Sweep, used: list[Record]) -> list[tuple[str, ...]]:
    """The table of a sweep; its runs are added to ``used``."""
    header = ("problem", "algorithm", *(f"{level:g}" for level in sweep.planned))
    rows = [header]
    for problem in AGAINST_NOISE:
        for name, levels in levels_of(records, problem, sweep.level, MAIN).items():
            used += [run for level in sweep.planned for run in levels.get(level, [])]
            shown = (_cell(levels.get(level)) for level in sweep.planned)
            rows.append((problem, name, *shown))
    return rows


def _cell(runs: list[Record] | None) -> str:
    if runs is None:
        return "-"
    summary = summarise(runs)
    medians = (number(summary.spreads[key].median) for key in ("lml_loss_checked", "mmtv"))
    return f"{' / '.join(medians)} ({round(summary.usable.share * summary.runs)}/{summary.runs})"
