"""The table of evaluations: what was asked of the target, and what came back.

One row per evaluation, in the order they arrived, failed ones included. The table never changes;
`Evaluations.append` returns a new one. Points are in the user's full parameter space.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quell.arrays import BoolArray, FloatArray
from quell.checks import as_floats, matrix
from quell.evaluations.columns import from_columns, read_csv, to_columns, write_csv
from quell.evaluations.events import NOT_ASKED
from quell.evaluations.head_start import NO_PRIOR_DENSITY, as_given, from_arrays, refuse_rows
from quell.evaluations.html import evaluations_html
from quell.evaluations.merging import Merged, merge
from quell.evaluations.origin import Origin
from quell.interface import import_extra
from quell.problem import Problem
from quell.problem.outcome import Outcome


@dataclass(frozen=True, eq=False)
class Evaluations:
    """N evaluations of a target with D parameters, as read-only columns.

    Parameters
    ----------
    names
        Names of the parameters.
    theta
        Points (N, D).
    value
        Log-likelihoods (N,).
    sd
        SDs (N,) of their noise; nan where not known, 0 where exact.
    log_prior
        Log prior densities (N,); nan where no prior was given.
    error
        Why an evaluation failed; "" for one that did not.
    seconds
        How long each took, (N,).
    origin
        Why each was made: "start", "design", "search", "look", "again", "check", "user", or "given"
        for a head start, which does not count (see `quell.evaluations.Origin`).
    index
        Indices (N,) of their random streams (see `quell.evaluations.rng_for`), −1 for none.

    Examples
    --------
    >>> table = Evaluations.from_arrays([[1.0], [2.0]], [-3.0, -np.inf], 0.5, names=["a"])
    >>> table
    Evaluations: 2 rows (1 failed), 0 counted
    >>> table = table.append([1.5], Outcome(-2.0, 0.4), log_prior=-1.0, origin="search", index=0)
    >>> len(table), table.n_counted, float(table.log_joint[2])
    (3, 1, -3.0)
    """

    names: tuple[str, ...]
    theta: FloatArray
    value: FloatArray
    sd: FloatArray
    log_prior: FloatArray
    error: tuple[str, ...]
    seconds: FloatArray
    origin: tuple[Origin, ...]
    index: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.theta.ndim != 2 or self.theta.shape[1] != len(self.names):
            raise ValueError(
                f"theta must have shape (N, {len(self.names)}), got {self.theta.shape}"
            )
        for column in ("value", "sd", "log_prior", "error", "seconds", "origin", "index"):
            if np.shape(getattr(self, column)) != (len(self),):
                shape = np.shape(getattr(self, column))
                raise ValueError(f"{column} must have shape ({len(self)},), got {shape}")
        for column in ("theta", "value", "sd", "log_prior", "seconds", "index"):
            getattr(self, column).setflags(write=False)
        matrix("theta", self.theta, names=self.names)
        demand = "must be finite where there is no error"
        refuse_rows("value", self.value, self.ok & ~np.isfinite(self.value), demand)
        refuse_rows("log_prior", self.log_prior, self.ok & np.isinf(self.log_prior), demand)
        bad = (self.sd < 0.0) | np.isinf(self.sd)
        refuse_rows("sd", self.sd, bad, "must be finite and not negative, or nan")

    @classmethod
    def empty(cls, names: Sequence[str]) -> "Evaluations":
        """A table without rows."""
        none = np.empty(0)
        theta = np.empty((0, len(names)))
        index = np.empty(0, dtype=np.int64)
        return cls(tuple(names), theta, none, none, none, (), none, (), index)

    @classmethod
    def from_arrays(
        cls,
        points: ArrayLike,
        values: ArrayLike,
        sds: ArrayLike | None = None,
        *,
        errors: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
        problem: Problem | None = None,
        origin: Origin = Origin.GIVEN,
    ) -> "Evaluations":
        """Evaluations made elsewhere: log-likelihoods ``values`` (N,) at ``points`` (N, D).

        ``sds`` (N,), or a scalar for all: nan where unknown, 0 where exact; None if all are
        unknown. A value of −inf is recorded as zero density; nan only where ``errors`` (N texts,
        "" for none) says why. With a ``problem`` the points are checked against its bounds, the
        SDs against its noise mode, and the log prior is computed; see `as_given`.
        """
        return from_arrays(cls, points, values, sds, errors, names, problem, origin)

    def append(
        self,
        theta: ArrayLike,
        outcome: Outcome,
        *,
        log_prior: ArrayLike,
        origin: Origin | str,
        index: int = NOT_ASKED,
    ) -> "Evaluations":
        """The table with one more row: the ``outcome`` at θ (D,).

        Where the log prior is −inf the evaluation is recorded as failed.
        """
        log_prior = as_floats("log_prior", log_prior).reshape(-1)
        no_prior = NO_PRIOR_DENSITY if np.any(log_prior == -np.inf) else ""
        row = Evaluations(
            self.names,
            matrix("theta", np.atleast_2d(as_floats("theta", theta)), len(self.names)),
            np.array([outcome.value], dtype=np.float64),
            np.array([outcome.sd], dtype=np.float64),
            log_prior,
            (outcome.error or no_prior,),
            np.array([outcome.seconds], dtype=np.float64),
            (Origin(origin),),
            np.array([index], dtype=np.int64),
        )
        return self.extend(row)

    def extend(self, other: "Evaluations") -> "Evaluations":
        """The table with the rows of another one, of the same parameters, after its own."""
        if other.names != self.names:
            raise ValueError(
                f"the evaluations are of {list(other.names)}, expected {list(self.names)}"
            )
        return Evaluations(
            self.names,
            np.vstack([self.theta, other.theta]),
            np.concatenate([self.value, other.value]),
            np.concatenate([self.sd, other.sd]),
            np.concatenate([self.log_prior, other.log_prior]),
            self.error + other.error,
            np.concatenate([self.seconds, other.seconds]),
            self.origin + other.origin,
            np.concatenate([self.index, other.index]),
        )

    def rows(self, mask: BoolArray) -> "Evaluations":
        """The rows that a mask (N,) selects."""
        chosen = np.flatnonzero(mask)
        return Evaluations(
            self.names,
            self.theta[chosen],
            self.value[chosen],
            self.sd[chosen],
            self.log_prior[chosen],
            tuple(self.error[i] for i in chosen),
            self.seconds[chosen],
            tuple(self.origin[i] for i in chosen),
            self.index[chosen],
        )

    def as_given(self, problem: Problem) -> "Evaluations":
        """The same evaluations as a head start for ``problem``: they will not count.

        The log-likelihoods stay and the log prior is recomputed, so an earlier run under
        another prior can be used. Columns are matched by the names of the parameters; names x1,
        x2, ... are none. ``ValueError`` names points that do not fit the problem.
        """
        return as_given(self, problem)

    def __len__(self) -> int:
        return len(self.theta)

    def __repr__(self) -> str:
        rows = f"{len(self)} row{'' if len(self) == 1 else 's'}"
        failed = f" ({self.n_failed} failed)" if self.n_failed else ""
        return f"Evaluations: {rows}{failed}, {self.n_counted} counted"

    def _repr_html_(self) -> str:
        return evaluations_html(self)

    @cached_property
    def ok(self) -> BoolArray:
        """Mask (N,) of the evaluations that did not fail."""
        return np.array([text == "" for text in self.error], dtype=bool)

    @property
    def zero_density(self) -> BoolArray:
        """Mask (N,) of those that failed because the likelihood or the prior is zero there."""
        return ~self.ok & ((self.value == -np.inf) | (self.log_prior == -np.inf))

    @cached_property
    def n_distinct(self) -> int:
        """Number of different points at which an evaluation did not fail."""
        return len(np.unique(self.theta[self.ok], axis=0))

    @property
    def n_failed(self) -> int:
        """Number of evaluations that failed, given ones too."""
        return int(np.sum(~self.ok))

    @property
    def n_counted_failed(self) -> int:
        """Number of evaluations that count against a budget and failed."""
        return int(np.sum(self.counted & ~self.ok))

    @property
    def n_counted(self) -> int:
        """Number of evaluations that count against a budget: all but given ones."""
        return int(np.sum(self.counted))

    @cached_property
    def counted(self) -> BoolArray:
        """Mask (N,) of the evaluations that count against a budget: all but given ones."""
        return np.array([origin != Origin.GIVEN for origin in self.origin], dtype=bool)

    @cached_property
    def log_joint(self) -> FloatArray:
        """Log-likelihood plus log prior (N,); nan for failed evaluations."""
        with np.errstate(invalid="ignore"):
            return np.where(self.ok, self.value + self.log_prior, np.nan)

    def merge_duplicates(self, keep: ArrayLike | None = None) -> Merged:
        """The distinct points among the evaluations that did not fail; see `merging.merge`.

        ``keep`` is a mask (N,) of rows to use, all by default.

        >>> table = Evaluations.from_arrays([[1.0], [1.0], [2.0]], [0.0, 3.0, 5.0], [1, 2, 1])
        >>> table.merge_duplicates().value
        array([0.6, 5. ])
        """
        use = self.ok if keep is None else self.ok & np.asarray(keep, dtype=bool)
        return merge(self.theta, self.value, self.sd, self.log_prior, use)

    def to_dict(self) -> dict[str, Any]:
        """Columns by name: one for each parameter, then value, sd, log_prior and so on.

        A parameter with the name of another column, as "value", has ``theta_`` put before it.
        `from_dict` makes the table again.
        """
        return to_columns(self)

    @classmethod
    def from_dict(cls, columns: Mapping[str, Any]) -> "Evaluations":
        """The table with columns as from `to_dict`: one for each parameter, ``value``, and others.

        Only the parameters and ``value`` (the log-likelihoods) are needed; ``sd`` is unknown if it
        is missing, and all evaluations are "given".

        >>> table = Evaluations.from_dict({"a": [1.0, 2.0], "value": [-3.0, -4.0]})
        >>> table.names, table.origin[0] == "given"
        (('a',), True)
        """
        return from_columns(cls, columns)

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write the columns of `to_dict` to a file, with all digits; text is never a formula there.

        A log-likelihood of −inf is written as -1e999, which every program reads as that.
        """
        write_csv(self, path)

    @classmethod
    def from_csv(cls, path: str | PathLike[str]) -> "Evaluations":
        """The table in a file from `to_csv`, bit for bit, or with the columns of `from_dict`.

        Pass it to `quell.infer` as ``evaluations`` for a head start.
        """
        return read_csv(cls, path)

    def to_pandas(self) -> Any:
        """The columns of `to_dict` as a pandas ``DataFrame`` (pandas must be installed)."""
        pandas = import_extra("pandas", "to_pandas", "use to_dict")
        return pandas.DataFrame(self.to_dict())
