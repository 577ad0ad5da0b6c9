"""Which of many rows a table is about: by algorithm, problem and protocol, or the paper's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quell.bench.displays.looks import TITLES
from quell.bench.displays.selection import paper_runs
from quell.bench.problems.base import BenchError
from quell.bench.protocols import at_own_stop
from quell.bench.summary import Record

#: Protocols by the words of the command line.
FULL, OWN = "full", "own"


def chosen_rows(
    records: Iterable[Record],
    *,
    algorithms: Sequence[str] = (),
    problems: Sequence[str] = (),
    paper: bool = False,
    protocol: str = "",
) -> list[Record]:
    """The rows that are asked for; :class:`BenchError` if there are none.

    Empty ``algorithms`` and ``problems`` stand for all. With ``paper`` these are the runs on the
    ten problems with noise of the paper's size and its budget, one kind of noise each. ``protocol``
    is "full" for those that used all of their budget, "own" for the answers at the algorithms' own
    stop, which runs of the full budget note on the way (`quell.bench.protocols`).

    >>> runs = [{"algorithm": name, "problem": "ricker"} for name in ("quell", "viqr")]
    >>> chosen_rows(runs, algorithms=["viqr"])
    [{'algorithm': 'viqr', 'problem': 'ricker'}]
    """
    rows = list(records)
    if paper:
        rows = [record for problem in TITLES for record in paper_runs(rows, problem)]
    rows = [
        record
        for record in rows
        if (not algorithms or record["algorithm"] in algorithms)
        and (not problems or record["problem"] in problems)
    ]
    if protocol == FULL:
        rows = [record for record in rows if not record["stop_early"]]
    elif protocol == OWN:
        rows = list(at_own_stop(rows))
    if not rows:
        raise BenchError("no run in these files is of the kind that is asked for")
    return rows
