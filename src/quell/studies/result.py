"""What a study returns: a table with one row per run, and the results behind it."""

import csv
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from math import isfinite, nan
from os import PathLike
from typing import Any

from quell.interface import Html, Reported, Saved
from quell.results import Result
from quell.text import csv_cell, printable, table


@dataclass(frozen=True)
class Row:
    """One run of a study; numbers are nan, and ``error`` says why, where it has no result.

    ``evaluations`` counts those of the target, ``failed`` ones included; ``cpu_seconds`` is the
    algorithm's own time in the call that made the run, or continued it; ``status`` is that of its
    result, "" in rows that were kept before there was one.
    """

    problem: str
    seed: int
    log_evidence: float = nan
    log_evidence_sd: float = nan
    elbo: float = nan
    elbo_sd: float = nan
    converged: bool = False
    evaluations: int = 0
    failed: int = 0
    cpu_seconds: float = nan
    error: str = ""
    status: str = ""

    @classmethod
    def of(cls, problem: str, seed: int, result: Result) -> "Row":
        """The row of a finished run."""
        return cls(
            problem, seed, result.log_evidence, result.log_evidence_sd, result.elbo,
            result.elbo_sd, result.converged, result.evaluations.n_counted,
            result.evaluations.n_failed, result.cpu_seconds, status=str(result.status),
        )  # fmt: skip

    def cells(self) -> tuple[str, ...]:
        """The row as text."""
        about = (printable(self.problem), str(self.seed))
        if self.error:
            return (*about, "-", "-", "-", printable(f"FAILED: {self.error}"))
        name, value, sd = "", self.log_evidence, self.log_evidence_sd
        if not isfinite(value):
            name, value, sd = "ELBO ", self.elbo, self.elbo_sd
        evaluations = str(self.evaluations) + (f" ({self.failed} failed)" if self.failed else "")
        status = self.status or ("stable" if self.converged else "not stable")
        return (*about, f"{name}{value:.3f} ± {sd:.3f}", status, evaluations, "")


HEADER = ("problem", "seed", "log evidence", "status", "evaluations", "")


@dataclass(frozen=True, eq=False)
class StudyResult(Reported, Saved):
    """The runs of a study, one row for each; problems in the order given, seeds within them.

    Attributes
    ----------
    rows
        One for every run: problem, seed, evidence, and why it failed, if it did.

    Examples
    --------
    >>> study = StudyResult((Row("a", 1, -3.2, 0.1, -3.3, 0.1, True, 80),
    ...                      Row("b", 1, error="ValueError: no")))
    >>> study
    StudyResult: 1 of 2 runs finished
    >>> print(study)
      problem  seed  log evidence    status  evaluations
      a        1     -3.200 ± 0.100  stable  80
      b        1     -               -       -            FAILED: ValueError: no
    1 of 2 runs finished
    >>> [row.problem for row in study.failed]
    ['b']
    """

    rows: tuple[Row, ...]
    _results: dict[tuple[str, int], Result] = field(default_factory=dict, repr=False)
    _replay: Callable[[str, int], Result] | None = field(default=None, repr=False)

    @property
    def failed(self) -> tuple[Row, ...]:
        """The runs without a result."""
        return tuple(row for row in self.rows if row.error)

    def result(self, problem: str, seed: int | None = None) -> Result:
        """The result of a finished run; ``seed`` may be left out where there is only one.

        That of a run that was finished by an earlier call is read from its journal.
        """
        rows = [row for row in self.rows if row.problem == problem and seed in (None, row.seed)]
        if len(rows) != 1:
            known = [row.seed for row in self.rows if row.problem == problem]
            names = ", ".join(repr(name) for name in dict.fromkeys(r.problem for r in self.rows))
            what = f"seeds {known}" if known else f"problems {names}"
            raise KeyError(f"the study has no single run {problem!r}, seed {seed}; it has {what}")
        [row] = rows
        if row.error:
            raise KeyError(
                f"the run {problem!r}, seed {row.seed}, has no result: {printable(row.error)}"
            )
        key = row.problem, row.seed
        if key not in self._results:
            assert self._replay is not None
            self._results[key] = self._replay(*key)
        return self._results[key]

    def table(self) -> str:
        """The rows as text."""
        n_done = len(self.rows) - len(self.failed)
        lines = table([HEADER, *(row.cells() for row in self.rows)])
        return f"{lines}\n{n_done} of {len(self.rows)} runs finished"

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as plain data, for instance for ``pandas.DataFrame``."""
        return [asdict(row) for row in self.rows]

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write all numbers to a file of comma-separated values; text is never a formula there."""
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, [column.name for column in fields(Row)])
            writer.writeheader()
            writer.writerows(
                {name: csv_cell(cell) for name, cell in row.items()} for row in self.to_dicts()
            )

    def _file(self) -> bytes:
        from quell.studies.saving import study_bytes  # it needs what most studies never do

        return study_bytes(self)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        n_done = len(self.rows) - len(self.failed)
        return f"StudyResult: {n_done} of {len(self.rows)} runs finished"

    def _repr_html_(self) -> str:
        rows = [row.cells() for row in self.rows]
        return str(Html().heading(repr(self)).table(HEADER, rows))
