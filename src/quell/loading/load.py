"""One function for everything that a run may have left on disk."""

from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from quell.arrays import FloatArray
from quell.errors import FileError
from quell.loading.journals import SQLITE, load_journal
from quell.loading.studies import load_study_file, load_study_folder
from quell.problem.constraint import Support
from quell.results import Result
from quell.results.reading import open_archive, result_of
from quell.stacking import StackedResult
from quell.stacking.reading import stack_of
from quell.studies.result import StudyResult


def load(
    path: str | PathLike[str],
    *,
    constraint: Callable[[FloatArray], Any] | None = None,
    support: Support | None = None,
) -> Result | StackedResult | StudyResult:
    """What runs have left on disk: a saved result, a stack, a journal, a study; it only reads.

    Nothing in the file is executed, and nothing of it is believed before it is checked: a file of
    unknown origin can do no harm. What comes back is equal bit for bit, the surrogate's predictions
    included, but has no ``iterations`` of its own, and ``log_prior`` only where the prior was
    uniform, part of the target, or made of ``scipy.stats`` distributions.

    Parameters
    ----------
    path
        A file that `save` of a result, a stacked result or a study has written. Or a journal: the
        result so far, as of the last iteration, also while the run goes on and after a crash; of a
        finished run its result. Or the folder of a study.
    constraint, support
        Only for problems with a constraint, or with a prior that is zero in a part of the box:
        these are code, which no file has. Draws, moments and marginals of such a posterior come
        from draws in the file; densities and the mode need ``constraint``, as in `Problem`, or
        ``support``, which takes points (n, D) to a mask (n,) of those where the prior is positive.

    Returns
    -------
    Result, StackedResult or StudyResult
        As it was saved. Results of a study are read when they are asked for.

    Raises
    ------
    FileError
        There is no such file, it was not written by Quell, it is damaged, or of a newer format;
        or a journal that has no result yet.

    Examples
    --------
    >>> import tempfile
    >>> import quell
    >>> problem = quell.Problem(
    ...     lambda theta: -0.5 * theta[0]**2, lower=-10, upper=10, plausible_lower=-3,
    ...     plausible_upper=3, noise="exact",
    ... )
    >>> result = quell.infer(problem, budget=20, seed=1, progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result.save(f"{folder}/fit.quell")
    ...     again = load(f"{folder}/fit.quell")
    >>> bool(again.posterior.mean() == result.posterior.mean())
    True
    """
    if not isinstance(path, str | PathLike):
        raise TypeError(f"path must be a path, got {type(path).__name__}")
    place, beginning = _place(path)
    given: dict[str, Any] = {"constraint": constraint, "support": support}
    if beginning == SQLITE:
        return load_journal(place, **given)
    kind = "study" if place.is_dir() else ""
    if not kind:
        with open(place, "rb") as file:
            archive, about = open_archive(file, str(place))
            kind = about["kind"]
            if kind == "result":
                return result_of(archive, **given)
            if kind == "stack":
                return stack_of(archive, **given)
        if kind != "study":
            raise FileError(f"{str(place)!r} has no result but a {kind!r:.50}")
    if constraint is not None or support is not None:
        raise TypeError("constraint and support are for a single result, not for a study")
    return load_study_folder(place) if place.is_dir() else load_study_file(place)


def _place(path: str | PathLike[str]) -> tuple[Path, bytes]:
    """The path, once there is something that can be opened, and how it begins if it is a file."""
    text = fspath(path)
    try:
        place = Path(text)
        if not place.exists():
            raise FileError(f"there is no file {text!r}")
        if place.is_dir():
            return place, b""
        if not place.is_file():
            raise FileError(f"{text!r} is no regular file")
        with open(place, "rb") as file:
            return place, file.read(len(SQLITE))
    except OSError as error:
        raise FileError(f"cannot read {text!r}: {error.strerror or error}") from error
