"""Table 1: the algorithms' own CPU time per evaluation, and how many times Quell's that is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from quell.bench.displays.drawn import NotMade
from quell.bench.displays.looks import NAMES
from quell.bench.displays.selection import by_algorithm, paper_runs
from quell.bench.provenance import version_of
from quell.bench.summary import Record
from quell.text import table

#: Columns of the paper's table: a model has one problem or two.
MODELS = {
    "Ricker": ("ricker",),
    "aDDM": ("addm_s1", "addm_s2"),
    "Timing": ("timing",),
    "Multisensory": ("multisensory_s1", "multisensory_s2"),
    "Neuronal": ("neuronal_v1", "neuronal_v2"),
    "Rodent": ("rodent",),
}
#: Its rows, and Quell and PyVBMC below them.
ALGORITHMS = ("viqr", "imiqr", "gp-imiqr", "pyvbmc", "quell")
#: What ratios are taken to.
UNIT = "quell"
SECONDS = "overhead_cpu_seconds_per_evaluation"


class Overhead(NamedTuple):
    """The table as text and as Markdown, how many rows it has, and what is not in it."""

    text: str
    markdown: str
    rows: int
    left_out: tuple[str, ...]


def overhead_table(records: Sequence[Record]) -> Overhead:
    """The table of these rows."""
    cells: dict[str, dict[str, list[Record]]] = {}
    for model, problems in MODELS.items():
        for problem in problems:
            runs = [run for run in paper_runs(records, problem) if SECONDS in run]
            for name, those in by_algorithm(runs, ALGORITHMS).items():
                cells.setdefault(name, {}).setdefault(model, []).extend(those)
    if not cells:
        raise NotMade(f"no full runs of {', '.join(ALGORITHMS)} on the paper's problems")
    rows = [("algorithm", *MODELS)]
    for name in ALGORITHMS:
        if name in cells:
            models = (_cell(cells[name].get(model), cells.get(UNIT, {}).get(model), name)
                      for model in MODELS)  # fmt: skip
            rows.append((NAMES[name], *models))
    used = [run for models in cells.values() for runs in models.values() for run in runs]
    notes = [
        "CPU seconds of the algorithm per evaluation, mean ± SD over runs (n); in brackets how "
        f"many times {NAMES[UNIT]}'s that is, over the seeds that both have.",
        *_circumstances(used),
    ]
    left_out = tuple(f"{NAMES[name]} (no rows)" for name in ALGORITHMS if name not in cells)
    markdown = [f"| {' | '.join(row)} |" for row in rows]
    markdown.insert(1, "|---" + "|---:" * len(MODELS) + "|")
    return Overhead(
        "\n".join([table(rows, indent=""), "", *notes]),
        "\n".join([*markdown, "", *notes]),
        len(used),
        left_out,
    )


def _cell(runs: list[Record] | None, unit: list[Record] | None, name: str) -> str:
    if not runs:
        return "-"
    seconds = np.array([run[SECONDS] for run in runs])
    spread = f" ± {np.std(seconds, ddof=1):.3f}" if len(runs) > 1 else ""
    text = f"{np.mean(seconds):.3f}{spread} (n {len(runs)}"
    if name == UNIT or not unit:
        return f"{text})"
    ratio = ratio_over_pairs(runs, unit)
    return f"{text}; {ratio:.1f}×)" if np.isfinite(ratio) else f"{text}; no common seed)"


def ratio_over_pairs(runs: Iterable[Record], unit: Iterable[Record]) -> float:
    """The ratio of mean times over the problems and seeds that both have; nan if there is none.

    >>> one = {"problem": "timing", "seed": 1, SECONDS: 0.3}
    >>> two = [{**one, SECONDS: 0.1}, {**one, "seed": 2, SECONDS: 9.0}]
    >>> round(ratio_over_pairs([one], two), 6)
    3.0
    """
    theirs = {(run["problem"], run["seed"]): run[SECONDS] for run in runs}
    ours = {(run["problem"], run["seed"]): run[SECONDS] for run in unit}
    common = sorted(set(theirs) & set(ours))
    if not common:
        return np.nan
    return float(sum(theirs[key] for key in common) / sum(ours[key] for key in common))


def _circumstances(runs: Sequence[Record]) -> list[str]:
    """On which processor the runs were made, and whether they can have been made side by side."""
    processors = sorted({str(run.get("cpu") or "") for run in runs})
    named = ", ".join(name or "not on record" for name in processors)
    versions = sorted(set(map(version_of, runs)))
    lines = [f"CPU: {named}; one thread per run."]
    if len(processors) == 1 and processors[0] and len(versions) == 1:
        same = f"one version ({versions[0]}) and one processor"
        return [*lines, f"Made side by side as far as the rows tell: all are of {same}."]
    why = []
    if len(processors) > 1 or not processors[0]:
        why.append("the rows do not tell of one and the same processor")
    if len(versions) > 1:
        why.append(f"they are of {len(versions)} versions ({', '.join(versions)})")
    return [*lines, f"NOT SIDE BY SIDE: {' and '.join(why)}, so ratios are rough."]
