"""The exceptions of a run, and its warning."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # they carry what the highest rooms make, and are raised in the lowest
    from quell.evaluations import Evaluations
    from quell.results import Result


class InferenceFailed(RuntimeError):
    """A run that could not go on; the message says why.

    Parameters
    ----------
    message
        Why the run could not go on, and what to do.
    evaluations
        The evaluations made; pass them to `infer` as ``evaluations`` to go on from there.
    result
        The best result so far, None if there is none.

    Examples
    --------
    >>> import quell
    >>> problem = quell.Problem(
    ...     lambda theta: 1 / 0, lower=-10, upper=10, plausible_lower=-3, plausible_upper=3)
    >>> try:
    ...     quell.infer(problem, budget=20, seed=1, progress=False)
    ... except quell.InferenceFailed as failure:
    ...     len(failure.evaluations), failure.evaluations.error[0], failure.result
    (10, 'ZeroDivisionError: division by zero', None)
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
    """Ctrl-C before there was any result; after that the best result so far is returned.

    Parameters
    ----------
    message
        How far the run was.
    evaluations
        The evaluations made; pass them to `infer` as ``evaluations`` to go on from there.

    Examples
    --------
    >>> import quell
    >>> def interrupt(theta):
    ...     raise KeyboardInterrupt
    >>> problem = quell.Problem(
    ...     interrupt, lower=-10, upper=10, plausible_lower=-3, plausible_upper=3)
    >>> try:
    ...     quell.infer(problem, seed=1, progress=False)
    ... except quell.InferenceInterrupted as interruption:
    ...     len(interruption.evaluations)
    0
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
    >>> import tempfile
    >>> import quell
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     try:
    ...         quell.read_journal(f"{folder}/none.quelljournal")
    ...     except quell.JournalError as error:
    ...         print(str(error)[:19])
    there is no journal
    """


class FileError(ValueError):
    """A file that cannot be read or written: not there, of another kind, damaged, too new.

    Examples
    --------
    >>> import tempfile
    >>> import quell
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     try:
    ...         quell.load(f"{folder}/none.quell")
    ...     except quell.FileError as error:
    ...         print(str(error)[:16])
    there is no file
    """


class BudgetWarning(UserWarning):
    """A budget too small to tell whether the answer is stable.

    It is given before the first evaluation, and never stops a run: where warnings are errors it is
    left out, and only the result says that the run was too short.

    Examples
    --------
    >>> import warnings
    >>> import quell
    >>> problem = quell.Problem(
    ...     lambda theta: -theta[0]**2, lower=-9, upper=9, plausible_lower=-3, plausible_upper=3)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     result = quell.infer(problem, budget=20, seed=1, progress=False)
    >>> caught[0].category.__name__, str(result.status)
    ('BudgetWarning', 'too short to tell')
    """
