"""All algorithms beside each other: a row for each problem, a column for each algorithm."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quell.bench.displays.looks import LESIONS, MAIN
from quell.bench.layout import laid_out, listed
from quell.bench.summary import Group, GroupSummary, Record, groups, summarise
from quell.bench.tables import mixed_runs, noise, number

#: What the parts of the table have.
PARTS = {
    "usable": "Usable runs (LML < 1, gsKL < 1 and MMTV < 0.2), of all",
    "lml_loss_checked": "LML: error of the log evidence against the best value known, median",
    "gskl": "gsKL, median",
    "mmtv": "MMTV, median",
}
NOTHING = "-"


def algorithms_table(records: Iterable[Record], *, markdown: bool = False) -> str:
    """Four tables: usable runs, and the medians of three metrics.

    Algorithms of the paper's figures that have no runs are named below.
    """
    rows = list(records)
    found: dict[Group, dict[str, GroupSummary]] = {}
    for group, runs in groups(rows).items():
        found.setdefault(group.task, {})[group.algorithm] = summarise(runs)
    present = {name for summaries in found.values() for name in summaries}
    known = (*MAIN, *LESIONS)
    columns = [name for name in known if name in present] + sorted(present - set(known))
    names = _task_names(list(found))
    text = []
    for key, title in PARTS.items():
        cells = [("", *columns)]
        for task, summaries in found.items():
            line = (_cell(summaries.get(name), key) for name in columns)
            cells.append((names[task], *line))
        if key == "usable":
            cells.append(("all", *(_total(found.values(), name) for name in columns)))
        text += [f"**{title}**" if markdown else title, ""]
        text += [laid_out(cells, words=1, markdown=markdown), ""]
    missing = [name for name in known if name not in present]
    notes = [f"No runs of {', '.join(missing)}."] if missing else []
    notes += mixed_runs(rows)
    return "\n".join([*text, *listed(notes, markdown=markdown)]).rstrip()


def _task_names(tasks: Sequence[Group]) -> dict[Group, str]:
    """The problem of each task, with its noise where a problem has several."""
    problems = [task.problem for task in tasks]
    return {
        task: task.problem + f", {noise(task)}" * (problems.count(task.problem) > 1)
        for task in tasks
    }


def _cell(summary: GroupSummary | None, key: str) -> str:
    if summary is None:
        return NOTHING
    if key == "usable":
        return f"{_usable(summary)} of {summary.runs}"
    median = summary.spreads[key].median
    return number(median) if median == median else NOTHING  # nan: it gives no evidence


def _usable(summary: GroupSummary) -> int:
    return round(summary.usable.share * summary.runs)


def _total(found: Iterable[dict[str, GroupSummary]], name: str) -> str:
    mine = [summaries[name] for summaries in found if name in summaries]
    return f"{sum(map(_usable, mine))} of {sum(s.runs for s in mine)}" if mine else NOTHING
