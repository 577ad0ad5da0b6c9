"""Evaluations that were made elsewhere: handed in as columns, checked, and fitted to a problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import BoolArray, FloatArray
from quell.checks import LARGEST_NOISE_SD, as_floats, coordinate_names, matrix, raise_at
from quell.evaluations.events import NOT_ASKED
from quell.evaluations.origin import Origin
from quell.problem import Problem
from quell.problem.noise import sds_under
from quell.problem.outcome import LOWEST_VALUE, ZERO_DENSITY

if TYPE_CHECKING:
    from quell.evaluations.table import Evaluations

NO_PRIOR_DENSITY = "zero density: the prior is zero at this point"

Table = TypeVar("Table", bound="Evaluations")


def from_arrays(
    kind: type[Table],
    points: ArrayLike,
    values: ArrayLike,
    sds: ArrayLike | None,
    errors: Sequence[str] | None,
    names: Sequence[str] | None,
    problem: Problem | None,
    origin: Origin,
) -> Table:
    """The table of `Evaluations.from_arrays`, which says what the arguments are."""
    points = matrix("points", points, names=None if problem is None else problem.names)
    n, width = points.shape
    if problem is not None and names is None and width == problem.dimension:
        names = problem.names
    columns = {
        "values": as_floats("values", values),
        "sds": np.full(n, np.nan) if sds is None else as_floats("sds", sds),
    }
    if columns["sds"].ndim == 0:
        columns["sds"] = np.full(n, float(columns["sds"]))
    for argument, column in columns.items():
        if column.shape != (n,):
            raise ValueError(
                f"{argument} must have shape ({n},), one for each point, got {column.shape}"
            )
    value, sd = columns["values"], columns["sds"]
    value[value < LOWEST_VALUE] = -np.inf
    error = error_texts(errors, value)
    failed = np.array([text != "" for text in error], dtype=bool)
    demand = "must be finite (-inf for zero density; say in errors why there is no value)"
    refuse_rows("values", value, ~failed & ~np.isfinite(value), demand)
    demand = f"must be positive and finite (below {LARGEST_NOISE_SD:g}), 0 if exact, nan if unknown"
    refuse_rows("sds", sd, (sd < 0) | (sd > LARGEST_NOISE_SD), demand)
    index = np.full(n, NOT_ASKED, dtype=np.int64)
    unknown = np.full(n, np.nan)
    names = coordinate_names(names, width)
    table = kind(names, points, value, sd, unknown, error, unknown, (origin,) * n, index)
    return table if problem is None else _under(problem, table)


def as_given(table: Table, problem: Problem) -> Table:
    """The table of `Evaluations.as_given`: the rows as a head start for a problem."""
    n = len(table)
    theta = table.theta
    if sorted(table.names) == sorted(problem.names):
        theta = theta[:, [table.names.index(name) for name in problem.names]]
    elif table.names != coordinate_names(None, problem.dimension):
        raise ValueError(
            f"the evaluations are of the parameters {list(table.names)}, but the problem has "
            f"{list(problem.names)} (pass points, values and SDs as arrays if the columns are "
            "in this order all the same)"
        )
    given = replace(
        table,
        names=problem.names,
        theta=theta,
        origin=(Origin.GIVEN,) * n,
        index=np.full(n, NOT_ASKED, dtype=np.int64),
    )
    return _under(problem, given)


def _under(problem: Problem, table: Table) -> Table:
    """Checked against the problem's bounds and noise mode, with its prior and names."""
    if len(table.names) != problem.dimension:
        raise ValueError(
            f"points have {len(table.names)} columns, but the problem has {problem.dimension} "
            f"parameters: {list(problem.names)}"
        )
    theta = problem.snap(problem.check_points(table.theta, "points"))
    moved = problem.integer & (theta != table.theta)
    if moved.any():
        raise_at("points", table.theta, moved, "must be an integer", problem.names)
    log_prior = problem.log_prior(theta)
    error = tuple(
        NO_PRIOR_DENSITY if not text and log == -np.inf else text
        for text, log in zip(table.error, log_prior, strict=True)
    )
    return replace(
        table,
        names=problem.names,
        theta=theta,
        sd=sds_under(table.sd, problem.noise),
        log_prior=log_prior,
        error=error,
    )


def error_texts(errors: Sequence[str] | None, value: FloatArray) -> tuple[str, ...]:
    """One line for each row, "" for none; −inf explains itself."""
    if errors is None:
        texts = [""] * len(value)
    elif isinstance(errors, str) or not all(isinstance(text, str) for text in errors):
        raise ValueError('errors must be a sequence of strings, "" where there was none')
    else:
        texts = [" ".join(text.split()) for text in errors]
    if len(texts) != len(value):
        raise ValueError(f"errors has {len(texts)} entries, expected {len(value)}")
    return tuple(
        ZERO_DENSITY if not text and v == -np.inf else text
        for text, v in zip(texts, value, strict=True)
    )


def refuse_rows(argument: str, column: FloatArray, bad: BoolArray, demand: str) -> None:
    """Raise for the first ``bad`` entry of a column (N,), if any."""
    if bad.any():
        raise_at(argument, column, bad, demand)
