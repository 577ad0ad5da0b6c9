"""One function for everything that a run may have left on disk."""

from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from quell.arrays import FloatArray
from quell.errors import FileError
from quell.problem.constraint import Support
from quell.results import Result
from quell.results.reading import read_result


def load(
    path: str | PathLike[str],
    *,
    constraint: Callable[[FloatArray], Any] | None = None,
    support: Support | None = None,
) -> Result:
    """The result in a file that `Result.save` has written.

    Nothing in the file is executed, and nothing of it is believed before it is checked: a file of
    unknown origin can do no harm. What comes back is equal bit for bit, the surrogate's predictions
    included, but has no ``iterations`` of its own, and ``log_prior`` only where the prior was
    uniform, part of the target, or made of ``scipy.stats`` distributions.

    Parameters
    ----------
    path
        The file. It is not changed.
    constraint, support
        Only for problems with a constraint, or with a prior that is zero in a part of the box:
        these are code, which no file has. Draws, moments and marginals of such a posterior come
        from draws in the file; densities and the mode need ``constraint``, as in `Problem`, or
        ``support``, which takes points (n, D) to a mask (n,) of those where the prior is positive.

    Returns
    -------
    Result
        As it was saved.

    Raises
    ------
    FileError
        There is no such file, it was not written by Quell, it is damaged, or of a newer format.

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
    place = _place(path)
    return read_result(place, str(place), constraint=constraint, support=support)


def _place(path: str | PathLike[str]) -> Path:
    """The path, once there is a file that can be opened."""
    text = fspath(path)
    try:
        place = Path(text)
        if not place.exists():
            raise FileError(f"there is no file {text!r}")
        if place.is_dir():
            raise FileError(f"{text!r} is a folder: give the path of a file in it")
        with open(place, "rb"):
            pass
    except OSError as error:
        raise FileError(f"cannot read {text!r}: {error.strerror or error}") from error
    except FileError:
        raise
    except ValueError as error:  # a zero character
        raise FileError(f"cannot read {text!r}: {error}") from error
    return place
