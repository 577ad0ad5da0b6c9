"""Many problems and seeds as one campaign that can be interrupted and continued."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from quell.checks import choice, flag, integer, seconds
from quell.infer import infer
from quell.interface import explains_unknown_arguments
from quell.journal.reading import read_evaluated
from quell.problem import Problem
from quell.problem.noise import Noise
from quell.progress import CampaignDisplay, Choice, check_progress
from quell.results import Result
from quell.run.beginning import check_seed
from quell.run.same_target import AnotherTarget, refuse_another_target
from quell.run.stopping import INTERRUPTED, check_budget
from quell.settings import Settings
from quell.studies.campaign import perform_all
from quell.studies.folder import StudyFolder, check_names
from quell.studies.result import Row, StudyResult
from quell.text import printable
from quell.workers.executor_pool import check_workers, make_pool
from quell.workers.executors import check_executor, refuse_unless_sendable
from quell.workers.inline import InlineExecutor


@explains_unknown_arguments("quell.study")
def study(
    problems: Mapping[str, Problem] | Sequence[Problem],
    *,
    folder: str | PathLike[str],
    seeds: Iterable[int] = (0,),
    budget: float | None = None,
    settings: Settings | None = None,
    executor: Executor | None = None,
    unit: Literal["run", "evaluation"] = "run",
    workers: int | None = None,
    timeout: float | None = None,
    retries: int = 0,
    journal_check: bool = True,
    progress: Choice = "auto",
) -> StudyResult:
    """Infer the posterior of every problem with every seed.

    The same call again continues: finished runs are not made again, others go on from their
    journals, and those that failed are tried once more. With a larger budget all go on.

    Parameters
    ----------
    problems
        Problems by name, for instance one for each subject and model; a sequence is named
        "problem 1", "problem 2", ...
    folder
        Where the runs are kept: for each a journal, and its row when it is finished. Workers on
        other machines need it under the same path.
    seeds
        Each problem is run with each of them.
    budget, settings, timeout, retries
        Of every run, as in :func:`quell.infer`.
    executor
        Where the work is done, any ``concurrent.futures.Executor``; without one in this process,
        one run after the other.
    unit
        What one job of the executor is. "run": a whole run, with the algorithm's own time; best
        where there are as many runs as workers, or the target is cheap. "evaluation": one
        evaluation of the target; runs come one after the other, each on all workers, with the
        algorithm in this process; best for few runs whose target takes longer than the algorithm.
    workers
        Jobs under way at a time; by default as many as the executor has workers.
    journal_check
        Whether runs that are continued are compared with their targets, as in
        :func:`quell.infer`, and one finished run of every problem with its target. Runs of a
        target that was changed since have that as their error.
    progress
        How to show which runs have ended: "auto" (or True), "bar", "log" or False, as in
        :func:`quell.infer`.

    Returns
    -------
    StudyResult
        A row for every run, and the results. A run that fails, or loses its worker three times,
        has an error in its row and harms no other. Ctrl-C ends the study and returns what is
        finished.

    Raises
    ------
    JournalError
        The folder has runs of other problems or settings, or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> def about(centre):
    ...     return Problem(
    ...         lambda theta: -0.5 * float((theta[0] - centre) ** 2), noise="exact",
    ...         lower=-10, upper=10, plausible_lower=-3, plausible_upper=3,
    ...     )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = study({"left": about(-1), "right": about(1)}, folder=folder, budget=12,
    ...                    settings=Settings(final_components=0), progress=False)
    >>> [(row.problem, row.seed, row.evaluations) for row in result.rows]
    [('left', 0, 12), ('right', 0, 12)]
    >>> result.result("left").evaluations.n_counted
    12
    """
    named = _named(problems)
    numbers = _checked_seeds(seeds)
    for problem in named.values():
        budget = check_budget(budget, problem)
    settings = Settings() if settings is None else settings
    if not isinstance(settings, Settings):
        raise TypeError(f"settings must be a quell.Settings, got {type(settings).__name__}")
    choice("unit", unit, ("run", "evaluation"))
    check_progress(progress)
    check_workers(workers)
    if executor is None and workers is not None:
        raise ValueError("workers needs an executor= to work in")
    if executor is not None:
        check_executor(executor)
        for name, problem in named.items():
            refuse_unless_sendable(executor, f"the problem {name!r}", problem)
    how = {
        "budget": budget, "settings": settings,
        "timeout": None if timeout is None else seconds("timeout", timeout),
        "retries": integer("retries", retries, least=0),
        "journal_check": flag("journal_check", journal_check),
    }  # fmt: skip
    store = StudyFolder(folder)
    for name, problem in named.items():
        for seed in numbers:
            store.check(name, seed, problem, settings)
    campaign = _Campaign(named, numbers, store, how)
    campaign.run(executor, unit, workers, progress=progress)
    return campaign.result()


class _Campaign:
    """A study under way: its runs by (name, seed), with the rows and results there are."""

    def __init__(
        self, problems: dict[str, Problem], seeds: list[int], store: StudyFolder,
        how: dict[str, Any],
    ) -> None:  # fmt: skip
        self.problems, self.store, self.how = problems, store, how
        self.keys = [(name, seed) for name in problems for seed in seeds]
        # One seed of every problem comes before the next seed, so that there is soon an overview.
        self.order = [(name, seed) for seed in seeds for name in problems]
        self.rows: dict[tuple[str, int], Row] = {}
        self.results: dict[tuple[str, int], Result] = {}

    def run(
        self, executor: Executor | None, unit: str, workers: int | None, *, progress: Choice
    ) -> None:
        """Make the runs that are not finished."""
        for key in self.keys:
            row = self.store.finished(*key, self.how["budget"])
            if row is not None:
                self.rows[key] = row
        how, place = self.how, executor
        if place is None or unit == "evaluation":
            how, place = how | {"executor": executor, "workers": workers}, InlineExecutor()
            workers = None
        jobs = [self.job(key) for key in self.order if key not in self.rows]
        function = partial(run_one, how=how)
        finished = perform_all(jobs, function, place, what="a problem", workers=workers)
        runs = CampaignDisplay(enabled=progress, total=len(self.keys), done=len(self.rows))
        with runs as display, closing(finished) as answers:
            try:
                if how["journal_check"]:
                    self.compare(partial(compare_one, how=how), place, workers)
                for key, result, error in answers:
                    row = self.take(key, result, error)
                    display.advance(_line(row))
                    if error == f"{RunInterrupted.__name__}: {INTERRUPTED}":
                        raise KeyboardInterrupt
            except KeyboardInterrupt:
                pass  # what is not finished says so in its row

    def compare(self, function: Callable[..., None], place: Executor, workers: int | None) -> None:
        """Give finished runs an error where the target of their problem was changed since.

        One run of every problem tells: a target does not know the seed. After Ctrl-C there are
        no rows of what was not compared.
        """
        first = {name: (name, seed) for name, seed in reversed(self.rows)}
        jobs = [self.job(first[name]) for name in self.problems if name in first]
        rows, self.rows = self.rows, {}
        for (name, _), _, error in perform_all(
            jobs, function, place, what="a problem", workers=workers
        ):
            own = {key: row for key, row in rows.items() if key[0] == name}
            if error.startswith(AnotherTarget.__name__):
                own = {key: Row(*key, error=error) for key in own}
            self.rows |= own

    def job(self, key: tuple[str, int]) -> tuple[tuple[str, int], tuple[Problem, int, str]]:
        """What `perform_all` needs to know about a run."""
        return key, (self.problems[key[0]], key[1], str(self.store.journal(*key)))

    def take(self, key: tuple[str, int], result: Result | None, error: str) -> Row:
        """Keep what came of a run."""
        row = Row(*key, error=error)
        if result is not None:
            row = Row.of(*key, result)
            self.store.finish(row, self.how["budget"])
            self.results[key] = result
        self.rows[key] = row
        return row

    def result(self) -> StudyResult:
        """All rows; those of runs that were not reached say so."""
        rows = [self.rows.get(key, Row(*key, error=INTERRUPTED)) for key in self.keys]
        return StudyResult(tuple(rows), self.results, self.replay)

    def replay(self, name: str, seed: int) -> Result:
        """The result of a finished run, from its journal."""
        how = self.how | {"journal_check": False}  # that was done when the study began
        return run_one(self.problems[name], seed, str(self.store.journal(name, seed)), how)


class RunInterrupted(RuntimeError):
    """A run that was ended by Ctrl-C; its journal has what it has done."""


def run_one(problem: Problem, seed: int, journal: str, how: dict[str, Any]) -> Result:
    """One run of a study."""
    result = infer(problem, seed=seed, journal=journal, progress=False, **how)
    if INTERRUPTED in result.reasons:
        raise RunInterrupted(INTERRUPTED)
    return result


def compare_one(problem: Problem, seed: int, journal: str, how: dict[str, Any]) -> None:
    """`JournalError` if the target does not give what the journal of a finished run has."""
    answers = read_evaluated(Path(journal))
    if not answers:
        return
    noise: Noise = problem.noise
    if noise == "auto":  # the run was finished, so it was settled
        noise = "reported" if any(answer.outcome.reported for answer in answers) else "exact"
    pool = make_pool(how.get("executor"), seed, problem, how.get("workers"), how["timeout"])
    try:
        refuse_another_target(
            pool, problem.with_noise(noise), answers, where=f"the journal {journal!r}"
        )
    finally:
        pool.abandon()
        pool.close()


def _line(row: Row) -> str:
    name, seed, evidence, status, evaluations, error = row.cells()
    if error:
        return f"{name}, seed {seed}: {error}"
    return f"{name}, seed {seed}: {evidence}, {status}, {evaluations} evaluations"


def _named(problems: Any) -> dict[str, Problem]:
    if isinstance(problems, Problem):
        raise TypeError("problems must be a dictionary or a list of problems, got a single one")
    if not isinstance(problems, Iterable):
        raise TypeError(
            f"problems must be a dictionary or a list of problems, got {type(problems).__name__}"
        )
    if isinstance(problems, Mapping):
        named = dict(problems)
    else:
        named = {f"problem {i + 1}": problem for i, problem in enumerate(problems)}
    if not named:
        raise ValueError("problems must not be empty")
    check_names(named)
    for name, problem in named.items():
        if not isinstance(problem, Problem):
            raise TypeError(
                f"problems[{printable(str(name))!r}] must be a quell.Problem, got "
                f"{type(problem).__name__}"
            )
    return named


def _checked_seeds(seeds: Any) -> list[int]:
    if isinstance(seeds, int | np.integer | str) or not isinstance(seeds, Iterable):
        raise TypeError(f"seeds must be a sequence of integers such as range(4), got {seeds!r}")
    given = list(seeds)
    if not given or None in given:
        raise ValueError(f"seeds must be one or more integers, got {given!r}")
    return list(dict.fromkeys(check_seed(seed) for seed in given))
