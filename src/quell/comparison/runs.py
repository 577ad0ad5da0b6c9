"""What may be compared: results, stacked results, pairs of numbers, and studies of them.

All become `Run`s, one or several for each model, and each subject where there are several.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, isnan
from typing import Any, Protocol, TypeGuard

import numpy as np

from quell.checks import number
from quell.studies.result import Row, StudyResult
from quell.text import printable

#: The name of the only subject where there are no subjects.
ALONE = ""


class HasEvidence(Protocol):
    """A result, or anything else with a log evidence and its SD."""

    @property
    def log_evidence(self) -> float:
        """The log evidence."""
        ...

    @property
    def log_evidence_sd(self) -> float:
        """Its SD."""
        ...


@dataclass(frozen=True)
class Run:
    """One log evidence with its SD.

    ``status`` is that of its result, "" where there is none, and ``problem`` its problem as plain
    data. ``source`` is the object it came from, by which the same one is known again.
    """

    log_evidence: float
    sd: float
    status: str = ""
    problem: Mapping[str, Any] | None = None
    source: Any = field(default=None, repr=False, compare=False)


#: Runs by model and subject; a failed run of a study is its error.
Cells = dict[str, dict[str, list[Run | str]]]


def read_models(models: Any, names: str | None) -> Cells:
    """The runs of every model and subject, checked; ``names`` as in `quell.compare`."""
    if isinstance(models, StudyResult):
        cells = _of_study(models, names)
    elif isinstance(models, Mapping):
        if names is not None:
            raise ValueError("names is for a study; a dictionary has the names of its models")
        cells = {_model_name(model): _subjects(model, given) for model, given in models.items()}
    else:
        raise TypeError(
            "models must be a dictionary, such as {'model A': result, 'model B': [result, result]},"
            f" or a study, got an object of type {type(models).__name__}"
        )
    if len(cells) < 2:
        what = f"only {next(iter(cells))!r}" if cells else "none"
        raise ValueError(f"models must have at least two models to compare, got {what}")
    _refuse_uneven(cells)
    return cells


def _model_name(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise ValueError(f"names of models must be non-empty strings, got {name!r}")
    return name


def _subjects(model: str, given: Any) -> dict[str, list[Run | str]]:
    if isinstance(given, StudyResult):
        subjects: dict[str, list[Run | str]] = {}
        for row in given.rows:
            subjects.setdefault(row.problem, []).append(_of_row(row))
        return subjects
    if isinstance(given, Mapping):
        if not given:
            raise ValueError(f"model {model!r} has no subjects")
        return {
            str(subject): list(_runs(f"model {model!r}, subject {str(subject)!r},", runs))
            for subject, runs in given.items()
        }
    return {ALONE: list(_runs(f"model {model!r}", given))}


def _runs(where: str, given: Any) -> list[Run]:
    if _has_evidence(given):
        return [_of_result(where, given)]
    if _is_pair(given):
        return [_of_pair(where, given)]
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        if not given:
            raise ValueError(f"{where} has no results: the list is empty")
        runs = [run for one in given for run in _runs(where, one)]
        sources = [id(run.source) for run in runs if run.source is not None]
        if len(set(sources)) < len(sources):
            raise ValueError(f"{where} has the same result twice; give each run once")
        return runs
    hint = (
        "; give its SD too, as (log_evidence, sd), with an SD of 0 if it is exact"
        if isinstance(given, int | float | np.number)
        else ""
    )
    raise TypeError(
        f"{where} must have a result, a pair (log_evidence, sd), or a list of them, got an object "
        f"of type {type(given).__name__}{hint}"
    )


def _has_evidence(given: Any) -> TypeGuard[HasEvidence]:
    return hasattr(given, "log_evidence") and hasattr(given, "log_evidence_sd")


def _is_pair(given: Any) -> bool:
    return (
        isinstance(given, tuple | list | np.ndarray)
        and len(given) == 2
        and all(isinstance(one, int | float | np.number) for one in given)
    )


def _of_result(where: str, result: HasEvidence) -> Run:
    problem = getattr(result, "problem", None)
    run = Run(
        float(result.log_evidence),
        float(result.log_evidence_sd),
        str(getattr(result, "status", "")),
        problem if isinstance(problem, Mapping) else None,
        result,
    )
    return _checked(where, run)


def _of_pair(where: str, pair: Any) -> Run:
    value, sd = (number(f"{where} its log evidence and SD", one) for one in pair)
    if sd < 0:
        raise ValueError(f"{where} has a negative SD, {sd!r}: the pair is (log_evidence, sd)")
    return _checked(where, Run(value, sd))


def _of_row(row: Row) -> Run | str:
    if row.error:
        return row.error
    where = f"the run {printable(row.problem)!r}, seed {row.seed},"
    status = row.status or ("stable" if row.converged else "unstable")
    return _checked(where, Run(row.log_evidence, row.log_evidence_sd, status))


def _checked(where: str, run: Run) -> Run:
    """``ValueError`` where there is no evidence to compare by."""
    if isnan(run.log_evidence):
        raise ValueError(
            f"{where} has no evidence, most likely because its prior is improper: give the problem "
            "a proper prior (finite bounds, or prior=) to compare it with others"
        )
    if not (isfinite(run.log_evidence) and isfinite(run.sd)):
        raise ValueError(
            f"{where} has a log evidence of {run.log_evidence} ± {run.sd}, which is not finite"
        )
    return run


def _of_study(study: StudyResult, names: str | None) -> Cells:
    cells: Cells = {}
    pattern = None if names is None else _pattern(names)
    for row in study.rows:
        model, subject = row.problem, ALONE
        if pattern is not None:
            match = pattern.fullmatch(row.problem)
            if match is None:
                raise ValueError(f"names is {names!r}, which the problem {row.problem!r} is not")
            model, subject = match["model"], match["subject"]
        cells.setdefault(model, {}).setdefault(subject, []).append(_of_row(row))
    return cells


def _pattern(names: str) -> re.Pattern[str]:
    if not isinstance(names, str) or any(
        names.count(place) != 1 for place in ("{subject}", "{model}")
    ):
        raise ValueError(
            "names must say where the subject and the model are in the names of a study's "
            f"problems, such as '{{subject}}/{{model}}', got {names!r}"
        )
    pattern = re.escape(names)
    for place in ("subject", "model"):
        pattern = pattern.replace(re.escape(f"{{{place}}}"), f"(?P<{place}>.+?)")
    return re.compile(pattern, flags=re.DOTALL)


def _refuse_uneven(cells: Cells) -> None:
    """``ValueError`` unless all models have the same subjects."""
    first, *others = cells
    known = set(cells[first])
    for model in others:
        if (ALONE in cells[model]) != (ALONE in known):
            with_them, without = (model, first) if ALONE in known else (first, model)
            raise ValueError(
                f"model {with_them!r} has subjects and model {without!r} has none: give both as "
                "dictionaries of the same subjects, or neither"
            )
        if set(cells[model]) != known:
            missing = sorted(known ^ set(cells[model]))[0]
            without = model if missing in known else first
            raise ValueError(
                f"model {first!r} has {len(known)} subjects and model {model!r} has "
                f"{len(cells[model])}: model {without!r} has nothing for subject {missing!r}; every"
                " subject needs a result of every model"
            )
