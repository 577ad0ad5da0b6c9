"""`quell.pages.report`: one HTML file about a result, several, a stack, a study, a comparison."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from quell.archive import write_atomically
from quell.comparison import Comparison, GroupComparison
from quell.pages.comparison_page import comparison_page
from quell.pages.render import BEGINNING, Page, render
from quell.pages.run_page import run_page
from quell.pages.runs_page import runs_page
from quell.pages.stack_page import stack_page
from quell.pages.study_page import study_page
from quell.results import Result
from quell.stacking import StackedResult
from quell.studies.result import StudyResult

#: What a report can be about.
Subject = (
    Result
    | StackedResult
    | StudyResult
    | Comparison
    | GroupComparison
    | Mapping[str, Result]
    | Sequence[Result]
)


def report(
    subject: Subject, path: str | PathLike[str], *, title: str = "", overwrite: bool = True
) -> Path:
    """Write a report: one HTML file to read, to print and to send, with everything in it.

    It needs no network and no server, and can be read without scripts. The same result gives the
    same file.

    Parameters
    ----------
    subject
        A result, also one from `quell.load`. Or several runs of one problem, by name or in a list:
        do they agree? Or what `quell.stack`, `quell.study` or `quell.compare` returned.
    path
        Where, for instance "fit.html".
    title
        What stands at its top; by default the names of the parameters.
    overwrite
        Whether a report that is there is replaced. Any other file never is.

    Returns
    -------
    pathlib.Path
        Where it is.

    Raises
    ------
    FileError
        It cannot be written there; what was there is as it was.
    ValueError
        Several results that are not of one problem, or a study without runs.

    Examples
    --------
    >>> import tempfile
    >>> import quell
    >>> problem = quell.Problem(
    ...     lambda theta: -0.5 * theta[0]**2, lower=-10, upper=10, plausible_lower=-3,
    ...     plausible_upper=3, noise="exact",
    ... )
    >>> result = quell.infer(problem, budget=15, seed=1, progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = report(result, f"{folder}/fit.html").read_text(encoding="utf-8")
    >>> "<h1>" in text
    True
    """
    data = report_html(subject, title=title).encode("utf-8")
    return write_atomically(
        path, data, overwrite=overwrite, is_ours=_is_report, written_by="result.report",
        example="fit.html",
    )  # fmt: skip


def report_html(subject: Subject, *, title: str = "") -> str:
    """The same as text."""
    return render(page_of(subject, title))


def page_of(subject: Any, title: str = "") -> Page:
    """The page about a subject; ``TypeError`` if it can be none."""
    if not isinstance(title, str):
        raise TypeError(f"title must be text, got {type(title).__name__}")
    if isinstance(subject, Result):
        return run_page(subject, title)
    if isinstance(subject, StackedResult):
        return stack_page(subject, title)
    if isinstance(subject, StudyResult):
        return study_page(subject, title)
    if isinstance(subject, Comparison | GroupComparison):
        return comparison_page(subject, title)
    if isinstance(subject, Mapping):
        runs = {str(name): run for name, run in subject.items()}
    elif isinstance(subject, Sequence) and not isinstance(subject, str):
        runs = {f"run {i + 1}": run for i, run in enumerate(subject)}
    else:
        runs = {"": subject}
    for run in runs.values():
        if not isinstance(run, Result):
            raise TypeError(
                "a report is about a quell.Result, several of them, or what quell.stack, "
                f"quell.study or quell.compare returns, got {type(run).__name__}"
            )
    if not runs:
        raise ValueError("a report needs at least one result, got none")
    if len(runs) == 1:
        return run_page(next(iter(runs.values())), title)
    return runs_page(runs, title)


def _is_report(beginning: bytes) -> bool:
    return beginning.startswith(BEGINNING.encode())
