"""The benchmark's problems, by name."""

from functools import lru_cache

from quell.bench.data import folder
from quell.bench.problems.base import BenchError, Benchmark
from quell.bench.problems.real import NOTES, REAL
from quell.bench.problems.registry import Entry
from quell.bench.problems.stress import STRESS
from quell.bench.problems.synthetic import SYNTHETIC
from quell.bench.problems.together import TOGETHER
from quell.bench.truth import Truth
from quell.checks import did_you_mean

#: Every problem by its name: the ten of the paper, two of them at once, the synthetic ones, then
#: those of awkward kinds.
#: An entry says what the problem is (``text``), its usual number of parameters (``dimension``), the
#: smallest it exists in (``smallest``) or those it exists in (``dims``), if there is a choice, and
#: what its ``noise`` is. `load` makes the problem.
PROBLEMS: dict[str, Entry] = {**REAL, **TOGETHER, **SYNTHETIC, **STRESS}

__all__ = ["NOTES", "PROBLEMS", "BenchError", "Benchmark", "Truth", "choose", "load"]


def choose(kind: str, name: str, known: list[str]) -> str:
    """``name`` if it is known; else :class:`BenchError` that suggests the nearest."""
    if name in known:
        return name
    hint = did_you_mean(name, known) or f"; choose from {', '.join(known)}"
    raise BenchError(f"unknown {kind} {name!r}{hint}")


def load(name: str, dim: int | None = None) -> Benchmark:
    """The benchmark problem of this name.

    Parameters
    ----------
    name
        One of ``quell.bench.PROBLEMS``. The ten problems of the paper, and "logreg", have the real
        data if the environment variable QUELL_DATA names a folder with them, and data simulated
        from their models otherwise.
    dim
        The number of parameters, for problems that exist in many dimensions; their usual one by
        default.

    Returns
    -------
    Benchmark
        The same object for the same arguments, so that its truth is computed once.

    Raises
    ------
    BenchError
        For an unknown name, a dimension in which the problem does not exist, or data that are
        missing or damaged.

    Examples
    --------
    >>> problem = load("student", dim=8)
    >>> problem.name, problem.dimension
    ('student', 8)
    >>> load("rosenbrok")
    Traceback (most recent call last):
        ...
    quell.bench.problems.base.BenchError: unknown problem 'rosenbrok'; did you mean 'rosenbrock'?
    """
    entry = PROBLEMS[choose("problem", name, list(PROBLEMS))]
    return _made(name, entry.check(name, dim), folder())


@lru_cache(maxsize=32)
def _made(name: str, dim: int, _folder: str | None) -> Benchmark:
    """One object per process and data folder, so that its truth is computed once."""
    return PROBLEMS[name].make(dim)
