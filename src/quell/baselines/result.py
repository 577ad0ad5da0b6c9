"""What a baseline returns."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quell.baselines.posterior import DrawnPosterior
from quell.evaluations import Evaluations
from quell.interface import Html
from quell.results.summary import parameter_lines
from quell.results.table import HEADER, summary_rows
from quell.text import printable


@dataclass(frozen=True, eq=False)
class Moment:
    """The answer at one moment of a run, after ``n_evaluations`` that count."""

    n_evaluations: int
    posterior: DrawnPosterior
    log_evidence: float
    log_evidence_sd: float


@dataclass(frozen=True, eq=False)
class BaselineResult:
    """Posterior draws, and the evidence where there is one; ``print`` it for a summary.

    The names are those of `quell.Result` where the thing is the same. Nothing here says whether
    the answer can be believed: the baselines have no such tests.

    Attributes
    ----------
    algorithm
        "wsabi" or "gp-imiqr".
    posterior
        The posterior: draws, and moments and quantiles of them.
    log_evidence, log_evidence_sd
        The log evidence and its SD under the surrogate; nan from an algorithm that estimates none,
        or where the prior is improper.
    reasons
        Why the run ended, in words.
    history
        One row of plain values for each fit of the surrogate: evaluations, evidence, and its
        hyperparameters.
    evaluations
        All evaluations of the target, one row each.
    settings, seed
        What the run was made with; the settings as plain data.
    cpu_seconds, wall_seconds, target_seconds
        Computing time of the algorithm itself, duration of the run, and time spent in the target
        by all workers together.
    problem
        The problem as plain data.
    journal
        Where a journal was continued, from when it is; "" otherwise.
    replay
        What `along` calls: a function from places in ``history`` to the answers then.

    Examples
    --------
    >>> import quell
    >>> from quell.baselines import wsabi
    >>> problem = quell.Problem(
    ...     lambda theta: -0.5 * theta[0]**2, lower=-10, upper=10, plausible_lower=-3,
    ...     plausible_upper=3, noise="exact",
    ... )
    >>> result = wsabi(problem, budget=15, seed=1, progress=False)
    >>> bool(abs(result.log_evidence - np.log(np.sqrt(2 * np.pi) / 20)) < 0.1)
    True
    >>> result.posterior.sd().round(1)
    array([1.])
    """

    algorithm: str
    posterior: DrawnPosterior
    log_evidence: float
    log_evidence_sd: float
    reasons: tuple[str, ...]
    history: list[dict[str, Any]]
    evaluations: Evaluations
    settings: dict[str, Any]
    seed: int
    cpu_seconds: float
    wall_seconds: float
    target_seconds: float
    problem: dict[str, Any]
    journal: str
    replay: Callable[[Sequence[int]], Iterator[Moment]]

    def along(self, rows: Sequence[int]) -> Iterator[Moment]:
        """What would have been returned after these fits of the surrogate.

        Parameters
        ----------
        rows
            Their places in ``history``. Each takes a fresh sample from the surrogate as it was.
        """
        return self.replay(rows)

    @property
    def diagnostics(self) -> dict[str, Any]:
        """Figures about the run as a whole, by name, as plain values."""
        n = self.evaluations.n_counted
        return {
            "evaluations": n,
            "failed_evaluations": self.evaluations.n_counted_failed,
            "draws": len(self.posterior.draws),
            "overhead_cpu_seconds": self.cpu_seconds,
            "overhead_cpu_seconds_per_evaluation": self.cpu_seconds / max(1, n),
            "wall_seconds": self.wall_seconds,
            "target_seconds": self.target_seconds,
        }

    def summary(self) -> str:
        """What a person wants to read: how the run ended, evidence, parameters, cost."""
        figures = self.diagnostics
        failed = figures["failed_evaluations"]
        lines = [
            f"{self.algorithm} after {figures['evaluations']} evaluations"
            + (f" ({failed} failed)" if failed else ""),
            *(f"  - {printable(reason)}" for reason in self.reasons),
            "",
            self._evidence_line(),
            "",
        ]
        lines += parameter_lines(summary_rows(self.posterior))
        lines += [
            "",
            f"overhead {self.cpu_seconds:.1f} CPU s "
            f"({1e3 * figures['overhead_cpu_seconds_per_evaluation']:.0f} ms per evaluation), "
            f"target {self.target_seconds:.1f} s, seed {self.seed}",
            *([self.journal] if self.journal else []),
        ]
        return "\n".join(lines)

    def _evidence_line(self) -> str:
        if np.isfinite(self.log_evidence):
            return f"log evidence   {self.log_evidence:.3f} ± {self.log_evidence_sd:.3f}"
        return "log evidence   not estimated"

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        names = ", ".join(printable(name) for name in self.posterior.names)
        return (
            f"BaselineResult of {names}: {self.algorithm} after {self.evaluations.n_counted} "
            "evaluations"
        )

    def _repr_html_(self) -> str:
        n = self.evaluations.n_counted
        page = Html().heading(f"{self.algorithm} after {n} evaluations, seed {self.seed}")
        page.text(self._evidence_line())
        rows = [
            (row.name, *(f"{value:.4g}" for value in row.figures))
            for row in summary_rows(self.posterior)
        ]
        return str(page.table(("parameter", *HEADER), rows))
