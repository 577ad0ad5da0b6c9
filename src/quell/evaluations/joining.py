"""Evaluations of several runs as one table."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from quell.checks import coordinate_names
from quell.evaluations.events import NOT_ASKED
from quell.evaluations.origin import Origin
from quell.evaluations.table import Evaluations


class HasEvaluations(Protocol):
    """A result, or anything else with a table of evaluations."""

    @property
    def evaluations(self) -> Evaluations:
        """The evaluations."""
        ...


def join_evaluations(runs: Iterable[Evaluations | HasEvaluations]) -> Evaluations:
    """All evaluations of several runs of one target as one table.

    Runs from different seeds may have found different modes. A run with the evaluations of all of
    them as its head start knows every mode that any of them has seen.

    Parameters
    ----------
    runs
        Results, or tables of evaluations, of the same parameters; the columns of later ones are put
        in the order of the first.

    Returns
    -------
    Evaluations
        The rows of all, in order. An evaluation that is in several tables, because one run was the
        head start of another, is there once.

    Raises
    ------
    ValueError
        There is nothing to join, or the parameters differ.

    Examples
    --------
    >>> import quell
    >>> problem = quell.Problem(
    ...     lambda theta: -0.5 * theta[0]**2, lower=-10, upper=10, plausible_lower=-3,
    ...     plausible_upper=3, noise="exact",
    ... )
    >>> runs = [quell.infer(problem, budget=15, seed=seed, progress=False) for seed in (1, 2)]
    >>> head_start = join_evaluations(runs)
    >>> result = quell.infer(problem, budget=5, evaluations=head_start, seed=3, progress=False)
    >>> len(head_start), len(result.evaluations)
    (30, 35)
    """
    if not isinstance(runs, Iterable):
        raise TypeError(f"runs must be a list of results or tables, got {type(runs).__name__}")
    tables = [_table(place, run) for place, run in enumerate(runs)]
    if not tables:
        raise ValueError("runs must have at least one result or table of evaluations, got none")
    joined = _as_given(tables[0], tables[0])
    for table in tables[1:]:
        more = _as_given(table, tables[0])
        known = set(_keys(joined))
        new = np.array([key not in known for key in _keys(more)], dtype=bool)
        joined = joined.extend(more.rows(new))
    return joined


def _table(place: int, run: Any) -> Evaluations:
    table = run if isinstance(run, Evaluations) else getattr(run, "evaluations", None)
    if not isinstance(table, Evaluations):
        raise TypeError(
            f"runs[{place}] must be a result or a table of evaluations, got {type(run).__name__}"
        )
    return table


def _as_given(table: Evaluations, first: Evaluations) -> Evaluations:
    """The table in the columns of the first one, as evaluations made before a run."""
    if sorted(table.names) != sorted(first.names):
        unnamed = coordinate_names(None, len(first.names))
        hint = (
            " (give the problems the same names)" if unnamed in (table.names, first.names) else ""
        )
        raise ValueError(
            f"the evaluations are of {list(table.names)}, those of the first run of "
            f"{list(first.names)}{hint}"
        )
    order = [table.names.index(name) for name in first.names]
    return replace(
        table,
        names=first.names,
        theta=table.theta[:, order],
        origin=(Origin.GIVEN,) * len(table),
        index=np.full(len(table), NOT_ASKED, dtype=np.int64),
    )


def _keys(table: Evaluations) -> list[tuple[bytes, bytes, bytes, str]]:
    """What two rows have in common if and only if they are the same evaluation."""
    columns = zip(table.theta, table.value, table.sd, table.error, strict=True)
    return [(t.tobytes(), v.tobytes(), s.tobytes(), e) for t, v, s, e in columns]
