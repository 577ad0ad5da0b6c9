"""The tables of ``quell bench table --about``, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from quell.bench.algorithms_table import algorithms_table
from quell.bench.beside_peer import beside_peer
from quell.bench.displays.drawn import NotMade
from quell.bench.displays.overhead import overhead_table
from quell.bench.evidence_table import evidence_table
from quell.bench.halfway import halfway_table
from quell.bench.noise_table import noise_table
from quell.bench.problems.base import BenchError
from quell.bench.summary import Record
from quell.bench.unusable import unusable_table


def _overhead(records: Iterable[Record], *, markdown: bool = False) -> str:
    try:
        made = overhead_table(list(records))
    except NotMade as reason:
        raise BenchError(str(reason)) from None
    return made.markdown if markdown else made.text


TABLES: dict[str, Callable[..., str]] = {
    "algorithms": algorithms_table,
    "pyvbmc": beside_peer,
    "half": halfway_table,
    "noise": noise_table,
    "evidence": evidence_table,
    "unusable": unusable_table,
    "overhead": _overhead,
}


def special_table(name: str, records: Iterable[Record], *, markdown: bool = False) -> str:
    """The table of this name, for a terminal or as Markdown."""
    return TABLES[name](records, markdown=markdown)
