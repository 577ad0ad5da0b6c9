"""The exceptions of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # they carry what the highest rooms make, and are raised in the lowest
    from quell.evaluations import Evaluations
    from quell.results import Result


class InferenceFailed(RuntimeError):
    """A run that could not go on.

    Parameters
    ----------
    message
        What went wrong, and what to do.
    evaluations
        Those made before it.
    result
        The best result so far; None where there is none.

    Examples
    --------
    >>> from quell import Problem, infer
    >>> def broken(theta):
    ...     raise RuntimeError("no licence")
    >>> problem = Problem(broken, lower=-9, upper=9, plausible_lower=-1, plausible_upper=1)
    >>> try:
    ...     infer(problem, budget=20, progress=False)
    ... except InferenceFailed as failure:
    ...     print(failure.evaluations)
    Evaluations: 10 rows (10 failed), 10 counted
    """

    def __init__(
        self, message: str, evaluations: Evaluations, result: Result | None = None
    ) -> None:
        super().__init__(message, evaluations, result)
        self.evaluations = evaluations
        self.result = result

    def __str__(self) -> str:
        return str(self.args[0])


class InferenceInterrupted(KeyboardInterrupt):
    """Ctrl-C before there was any result; after that the result is returned.

    Parameters
    ----------
    message
        What happened, and how to go on.
    evaluations
        Those made before it: a head start for the next run.

    Examples
    --------
    >>> from quell import Evaluations
    >>> try:
    ...     raise InferenceInterrupted("interrupted", Evaluations.empty(["a"]))
    ... except KeyboardInterrupt as interrupt:
    ...     print(interrupt, len(interrupt.evaluations))
    interrupted 0
    """

    def __init__(self, message: str, evaluations: Evaluations) -> None:
        super().__init__(message, evaluations)
        self.evaluations = evaluations

    def __str__(self) -> str:
        return str(self.args[0])


class JournalError(RuntimeError):
    """A journal that cannot be used: in use elsewhere, of another problem, damaged, disk full.

    Examples
    --------
    >>> from quell import read_journal
    >>> try:
    ...     read_journal("nowhere.quelljournal")
    ... except JournalError as error:
    ...     print(error)
    there is no journal 'nowhere.quelljournal'
    """
