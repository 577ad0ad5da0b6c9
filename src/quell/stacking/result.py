"""What stacking returns."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from quell.arrays import FloatArray, at_peace
from quell.diagnostics import Status
from quell.evaluations import Evaluations
from quell.interface import Reported, Saved
from quell.results import Result
from quell.results.several import together
from quell.results.summary import evidence_line, headline, parameter_lines
from quell.results.table import summary_frame, summary_rows
from quell.stacking.choosing import LeftOut
from quell.stacking.html import result_html
from quell.stacking.posterior import StackedPosterior
from quell.text import printable, table

#: Fewer effective draws than these are too few to trust the weights.
FEWEST_EFFECTIVE = 400


@at_peace
@dataclass(frozen=True, eq=False)
class StackedResult(Reported, Saved):
    """Posterior and evidence of several runs together; printing it is a summary.

    Attributes
    ----------
    posterior
        The posterior: draws, densities, moments, marginals.
    log_evidence, log_evidence_sd
        The log evidence of all evaluations together, and its SD; nan where the prior is improper.
    evidence_method
        How it was obtained.
    elbo
        The evidence lower bound of the stacked posterior under the surrogate of all evaluations.
    run_weights
        How much of the posterior comes from each of the runs given, (J,); 0 for those left out.
    left_out
        The runs that were left out, and why.
    runs
        One row of plain values per run given: seed, status, evaluations, log evidence, SD, weight.
    n_components
        Components of the posterior with a weight.
    effective_draws
        How many equally weighted draws the weighted ones behind the evidence are worth.
    evaluations
        The evaluations of all runs as one table.
    problem
        The problem as plain data.
    log_prior
        The log prior density of points (n, dimension), (n,); None where it is not known.
    reasons
        What to be careful about, in words.

    Examples
    --------
    >>> import quell
    >>> problem = quell.Problem(
    ...     lambda theta, rng: (-0.5 * theta[0]**2 + rng.standard_normal(), 1.0),
    ...     lower=-10, upper=10, plausible_lower=-3, plausible_upper=3,
    ... )
    >>> results = [quell.infer(problem, budget=35, seed=s, progress=False) for s in (1, 2)]
    >>> stacked = quell.stack(results)
    >>> bool(abs(stacked.log_evidence - np.log(np.sqrt(2 * np.pi) / 20)) < 0.5)
    True
    >>> len(stacked.evaluations), stacked.run_weights.shape
    (70, (2,))
    """

    posterior: StackedPosterior
    log_evidence: float
    log_evidence_sd: float
    evidence_method: str
    elbo: float
    run_weights: FloatArray
    left_out: tuple[LeftOut, ...]
    runs: list[dict[str, Any]]
    n_components: int
    effective_draws: float
    evaluations: Evaluations
    problem: dict[str, Any]
    log_prior: Callable[[FloatArray], FloatArray] | None = None
    reasons: tuple[str, ...] = ()

    @property
    def status(self) -> Status:
        """How the answer stands, as text.

        "suspect" where most runs were left out or are suspect, or too few draws count; otherwise
        "stable" if one of the runs stacked is, and else what they are.
        """
        stacked = [row["status"] for row in self.runs if not row["left_out"]]
        sound = [status for status in stacked if status != Status.SUSPECT]
        if 2 * len(sound) < len(self.runs) or self.effective_draws < FEWEST_EFFECTIVE:
            return Status.SUSPECT
        if Status.STABLE in sound:
            return Status.STABLE
        return Status.UNSTABLE if Status.UNSTABLE in sound else Status.TOO_SHORT

    @property
    def converged(self) -> bool:
        """Whether the status is "stable"."""
        return self.status == Status.STABLE

    def table(self) -> str:
        """One line for each run, as text."""
        rows = [("run", "seed", "status", "evaluations", "log evidence", "weight", "")]
        for number, row in enumerate(self.runs, start=1):
            evidence = f"{row['log_evidence']:.2f} ± {row['log_evidence_sd']:.2f}"
            if not np.isfinite(row["log_evidence"]):
                evidence = f"ELBO {row['elbo']:.2f}"
            rows.append(
                (
                    str(number), str(row["seed"]), row["status"], str(row["evaluations"]),
                    evidence, f"{row['weight']:.3f}", "left out" if row["left_out"] else "",
                )
            )  # fmt: skip
        return table(rows)

    def summary(self) -> str:
        """What a person wants to read: evidence, parameters, and what became of each run."""
        n_used = len(self.runs) - len(self.left_out)
        rest = (
            f": {n_used} of {len(self.runs)} runs stacked, {len(self.evaluations)} evaluations, "
            f"{self.n_components} components"
        )
        left_out = [f"  - {printable(str(one))}" for one in self.left_out]
        lines = [
            *headline(self.status, rest, self.reasons),
            evidence_line(self, f"undefined; ELBO {self.elbo:.3f}"),
            "",
            *parameter_lines(summary_rows(self.posterior)),
            "",
            self.table(),
            *(["", "left out:", *left_out] if left_out else []),
        ]
        return "\n".join(lines)

    def plot(self, kind: str = "corner", **options: Any) -> Any:
        """Draw the posterior and return the figure; it needs matplotlib (``quell[plots]``).

        ``kind`` is "corner" or "marginals": ``options`` are those of `quell.plots.plot_corner` and
        `quell.plots.plot_marginals`.
        """
        # By name: plots are a later room, which a result must not need.
        return importlib.import_module("quell.plots.door").plot_stack(self, kind, **options)

    def to_pandas(self) -> Any:
        """The parameters' figures of the summary as a pandas ``DataFrame``, one row for each."""
        return summary_frame(self.posterior)

    def to_arviz(
        self, draws: int = 1000, *, chains: int = 4, rng: np.random.Generator | int = 0
    ) -> Any:
        """Draws, evaluations and figures as an ``xarray.DataTree``, for ArviZ and for files.

        As `Result.to_arviz`, but without the surrogate's figures of the draws.

        Parameters
        ----------
        draws, chains
            Draws in each of so many chains. They are independent, whatever chain they are in.
        rng
            A seed or a generator, as in `Posterior.sample`.

        Returns
        -------
        xarray.DataTree
            With the groups ``posterior``, ``sample_stats`` (``log_q``, the log density of the
            posterior, ``log_prior`` where it is known) and ``evaluations``; evidence, status, the
            runs' seeds and weights, and versions are attributes.
        """
        from quell.stacking.arviz_tree import arviz_tree  # needs an extra

        return arviz_tree(self, draws, chains, rng)

    def _file(self) -> bytes:
        from quell.stacking.saving import stack_bytes  # it needs what most stacks never do

        return stack_bytes(self)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        names = ", ".join(printable(name) for name in self.posterior.names)
        used = len(self.runs) - len(self.left_out)
        return (
            f"StackedResult of {names}: {self.status}, {used} of {len(self.runs)} runs, "
            f"log evidence {self.log_evidence:.3f} ± {self.log_evidence_sd:.3f}"
        )

    def _repr_html_(self) -> str:
        return result_html(self)


def rows_of(
    results: list[Result], weights: FloatArray, left_out: list[LeftOut]
) -> list[dict[str, Any]]:
    """One row of plain values per run; "left_out" says why, "" for runs that are stacked."""
    why = {one.place: one.reason for one in left_out}
    return [
        {
            "seed": result.seed,
            "status": str(result.status),
            "evaluations": result.evaluations.n_counted,
            "log_evidence": float(result.log_evidence),
            "log_evidence_sd": float(result.log_evidence_sd),
            "elbo": float(result.elbo),
            "weight": float(weights[place]),
            "left_out": why.get(place, ""),
        }
        for place, result in enumerate(results)
    ]


def reasons_of(results: list[Result], used: list[int], effective_draws: float) -> list[str]:
    """What to be careful about, in words."""
    reasons = []
    stacked = [results[place] for place in used]
    if len(used) == 1:
        reasons.append("only one run is left: this is its posterior, not a stack")
    if sum(result.status == Status.SUSPECT for result in stacked):
        reasons.append("runs that are suspect are stacked, for there are too few others")
    if effective_draws < FEWEST_EFFECTIVE:
        reasons.append(
            f"the posteriors of the runs cover that of all evaluations badly ({effective_draws:.0f}"
            " effective draws): make longer runs, or one from all evaluations "
            "(quell.infer with evaluations=quell.join_evaluations(results))"
        )
    finite = [result for result in stacked if np.isfinite(result.log_evidence)]
    if len(finite) > 1:
        both = together(
            [result.log_evidence for result in finite],
            [result.log_evidence_sd for result in finite],
        )
        if both.disagree:
            reasons.append(
                f"the log evidences of the runs differ by more than their SDs say (by "
                f"{both.between_sd:.2g}): some have not found all of the posterior"
            )
    return reasons
