"""What users name on the command line: a saved result, a journal, a study, or one run of it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from quell.cli.errors import CommandError

if TYPE_CHECKING:
    from quell.results import Result
    from quell.stacking import StackedResult
    from quell.studies.result import StudyResult

RUN = "a .quell file, a journal (also of a run under way), or the folder of a study"


def add_choice_of_run(parser: argparse.ArgumentParser) -> None:
    """Options that choose one run of a study."""
    parser.add_argument("--problem", metavar="NAME", help="of a study: the run of this problem")
    parser.add_argument("--seed", type=int, metavar="S", help="of a study: the run with this seed")


def open_result(chosen: argparse.Namespace) -> Result | StackedResult:
    """The one result that is meant, of a run or a stack; `CommandError` if there are several."""
    from quell.loading import load
    from quell.studies.result import StudyResult

    found = load(chosen.run)
    if isinstance(found, StudyResult):
        return _run_of(found, chosen)
    if chosen.problem is not None or chosen.seed is not None:
        raise CommandError("--problem and --seed are for a study; this is a single run")
    return found


def _run_of(study: StudyResult, chosen: argparse.Namespace) -> Result:
    rows = [
        row
        for row in study.rows
        if chosen.problem in (None, row.problem) and chosen.seed in (None, row.seed)
    ]
    if not rows:
        names = ", ".join(sorted({repr(row.problem) for row in study.rows})[:5])
        raise CommandError(f"the study has no such run; its problems are {names}")
    if len(rows) > 1:
        raise CommandError(
            f"{len(rows)} runs of the study fit: choose one with --problem and --seed "
            "(quell show lists them)"
        )
    (row,) = rows
    if row.error:
        raise CommandError(f"the run has no result: {row.error}")
    return study.result(row.problem, seed=row.seed)
