"""From the runs of a model to one log evidence, and what to be careful about."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from quell.arrays import FloatArray
from quell.comparison.runs import ALONE, Cells, Run
from quell.diagnostics import Status
from quell.results.several import first_difference, together
from quell.text import printable

#: More subjects or runs than this are not named one by one.
MOST_NAMED = 3


@dataclass(frozen=True, eq=False)
class Table:
    """Log evidences and SDs (N, M) of N subjects and M models, and the number of runs of each.

    ``cautions`` say in words what is doubtful about them.
    """

    subjects: tuple[str, ...]
    models: tuple[str, ...]
    log_evidence: FloatArray
    sd: FloatArray
    n_runs: FloatArray
    cautions: tuple[str, ...]


def tabulate(cells: Cells) -> Table:
    """One log evidence for every model and subject; subjects with a model that failed are left out.

    ``ValueError`` if there is nothing left, or runs of one model and subject are not of one
    problem.
    """
    models, subjects = tuple(cells), tuple(next(iter(cells.values())))
    notes = _Notes()
    kept: list[str] = []
    rows: list[list[tuple[float, float, int]]] = []
    for subject in subjects:
        row: list[tuple[float, float, int]] = []
        for model in models:
            where = _where(model, subject)
            done = [run for run in cells[model][subject] if isinstance(run, Run)]
            errors = [run for run in cells[model][subject] if isinstance(run, str)]
            if not done:
                reason = f"{where} has no finished run ({printable(errors[0])})"
                if subject == ALONE:
                    raise ValueError(f"{reason}: run it again, or leave the model out")
                notes.add("left out, for a model has no finished run of them", subject)
                break
            if errors:
                notes.add("with runs that failed and do not count", where)
            row.append(_cell(where, done, notes))
        else:
            kept.append(subject)
            rows.append(row)
    if not rows:
        raise ValueError("no subject has a finished run of every model")
    array = np.array(rows, dtype=float)
    _note_priors(cells, notes)
    return Table(
        tuple(kept), models, array[..., 0], array[..., 1], array[..., 2], notes.sentences()
    )


def _cell(where: str, runs: list[Run], notes: "_Notes") -> tuple[float, float, int]:
    """Log evidence, SD and number of the runs that count."""
    problems = [dict(run.problem) for run in runs if run.problem is not None]
    if problems and (difference := first_difference(problems)) is not None:
        raise ValueError(
            f"{where} has results of different problems (run 1 and run {difference[0] + 1} differ "
            f"in {difference[1]}); several results of a model must be runs of one problem"
        )
    sound = [run for run in runs if run.status != Status.SUSPECT]
    if sound and len(sound) < len(runs):
        notes.add("with suspect runs, which are left out", where)
        runs = sound
    elif not sound:
        notes.add("whose results are all suspect: print them to see why", where)
    for status in (Status.UNSTABLE, Status.TOO_SHORT):
        if any(run.status == status for run in runs):
            notes.add(f'with results that are not stable ("{status}")', where)
    both = together([run.log_evidence for run in runs], [run.sd for run in runs])
    if both.disagree:
        notes.add(
            "whose runs differ by more than their SDs say, which makes the SD larger",
            f"{where} (by {both.between_sd:.2g})",
        )
    return both.value, both.sd, len(runs)


def _where(model: str, subject: str) -> str:
    name = f"model {printable(model)!r}"
    return name if subject == ALONE else f"{name}, subject {printable(subject)!r},"


def _note_priors(cells: Cells, notes: "_Notes") -> None:
    """What is known of priors that makes evidences doubtful, and of models that are not one."""
    for model, subjects in cells.items():
        runs = [run for runs in subjects.values() for run in runs if isinstance(run, Run)]
        problems = [dict(run.problem) for run in runs if run.problem is not None]
        name = f"model {printable(model)!r}"
        kinds = {dict(problem.get("prior") or {}).get("kind") for problem in problems}
        if "function" in kinds:
            notes.add(
                "whose prior is a function: the evidence is right only if that is normalised", name
            )
        if "included" in kinds:
            notes.add(
                'with prior="included": the evidence is right only if the log prior within the '
                "target is normalised",
                name,
            )
        if any("constraint" in problem for problem in problems):
            notes.add(
                "with a constraint: the prior is not renormalised to what it leaves, so the share "
                "of the prior that it cuts off counts against the model",
                name,
            )
        difference = first_difference(problems) if problems else None
        if difference is not None:
            notes.add(
                "which is not the same problem for all subjects",
                f"{name} ({difference[1]})",
            )


class _Notes:
    """Cautions, those of one kind in one sentence."""

    def __init__(self) -> None:
        self._kinds: dict[str, list[str]] = {}

    def add(self, kind: str, where: str) -> None:
        places = self._kinds.setdefault(kind, [])
        if where not in places:
            places.append(where)

    def sentences(self) -> tuple[str, ...]:
        return tuple(f"{listed(places)} {kind}" for kind, places in self._kinds.items())


def listed(places: Iterable[str]) -> str:
    """A few names and the number of the others.

    >>> listed(["a", "b"]), listed("abcde")
    ('a; b', 'a; b; c and 2 more')
    """
    places = [place.rstrip(",") for place in places]
    text = "; ".join(places[:MOST_NAMED])
    more = len(places) - MOST_NAMED
    return f"{text} and {more} more" if more > 0 else text
