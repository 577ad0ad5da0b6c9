"""What a run returns."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from quell.arrays import FloatArray, at_peace
from quell.checks import integer
from quell.diagnostics import Finding, Status, Verdict
from quell.diagnostics.check import Check
from quell.diagnostics.noise_audit import about_wrong_values
from quell.evaluations import Evaluations, Origin
from quell.evaluations.repeated import SetAside, what_is_set_aside
from quell.interface import Reported, Saved
from quell.results.checking import check
from quell.results.html import result_html
from quell.results.posterior import Posterior
from quell.results.summary import evidence_line, headline, marginals_line, parameter_lines
from quell.results.table import summary_frame, summary_rows
from quell.settings import Settings
from quell.text import printable
from quell.vbmc import Iteration, Solution

#: A smaller share of the plausible box than this is not worth a line of the summary.
SHOWN_UNSEEN = 0.01


@at_peace
@dataclass(frozen=True, eq=False)
class Result(Reported, Saved):
    """Posterior and evidence of one run, with all that led to them; ``print`` it for a summary.

    Attributes
    ----------
    posterior
        The posterior: draws, densities, moments, marginals.
    elbo, elbo_sd
        The evidence lower bound, and its SD under the surrogate.
    log_evidence, log_evidence_sd
        The best estimate of the log evidence, and its SD; nan where the prior is improper.
    evidence_method
        How that estimate was obtained.
    verdict
        What the tests of the answer found; `status`, `converged` and `findings` are short for its
        parts.
    reasons
        Why the run ended and what to be careful about, in words.
    solution
        The posterior in the inference space, with the surrogate it was fitted to.
    history
        One row of plain values per iteration: evaluations, ELBO, reliability, components, ...
    chosen
        Number of the iteration that is returned, from 1.
    boosted
        Whether its posterior was refined by a last polish.
    evaluations
        All evaluations of the target, one row each.
    settings, seed
        What the run was made with.
    cpu_seconds, wall_seconds, target_seconds
        Computing time of the algorithm itself, duration of the run, and time spent in the target
        by all workers together.
    problem
        The problem as plain data: names, bounds, plausible box, noise, and the prior in words.
    log_prior
        The log prior density of points (n, dimension), (n,); None where it is not known, as in a
        result from a file whose prior was a function.
    journal
        Where a journal was continued, from when it is; "" otherwise.
    unseen_share
        Share of the plausible box so far from all evaluations that they say nothing about it, by
        the surrogate's length scales (`quell.vbmc.coverage`).
    iterations
        The iterations of the algorithm, each with its solution; empty in a result from a file.

    Examples
    --------
    >>> import quell
    >>> problem = quell.Problem(
    ...     lambda theta: -0.5 * theta[0]**2, lower=-10, upper=10, plausible_lower=-3,
    ...     plausible_upper=3, noise="exact",
    ... )
    >>> result = quell.infer(problem, budget=20, seed=1, progress=False)
    >>> bool(abs(result.log_evidence - np.log(np.sqrt(2 * np.pi) / 20)) < 0.1)
    True
    >>> result.posterior.sd().round(1)
    array([1.])
    >>> result.diagnostics["evaluations"]
    20
    >>> result.status
    <Status.TOO_SHORT: 'too short to tell'>
    """

    posterior: Posterior
    elbo: float
    elbo_sd: float
    log_evidence: float
    log_evidence_sd: float
    evidence_method: str
    verdict: Verdict
    reasons: tuple[str, ...]
    solution: Solution
    history: list[dict[str, Any]]
    chosen: int
    boosted: bool
    evaluations: Evaluations
    settings: Settings
    seed: int
    cpu_seconds: float
    wall_seconds: float
    target_seconds: float
    problem: dict[str, Any]
    log_prior: Callable[[FloatArray], FloatArray] | None = None
    journal: str = ""
    unseen_share: float = np.nan
    iterations: tuple[Iteration, ...] = ()

    @property
    def status(self) -> Status:
        """How the answer stands, as text.

        "stable": it has not moved for long enough, and nothing speaks against it. "too short to
        tell": the run had too few evaluations to see whether it moves. "unstable": it still moves.
        "suspect": something in hand contradicts it. `reasons` says why, and what to do.
        """
        return self.verdict.status

    @property
    def converged(self) -> bool:
        """Whether the status is "stable"."""
        return self.status == Status.STABLE

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What each test of the answer found: its figure, its limit, and what that means."""
        return self.verdict.findings

    @property
    def set_aside(self) -> tuple[SetAside, ...]:
        """With ``Settings(robust=True)``: the evaluations that repeats of their point contradict.

        Each with its row in `evaluations` and how many nats it is off; they count for nothing.
        """
        return what_is_set_aside(self.evaluations, self.solution.unknown_sd)

    @property
    def diagnostics(self) -> dict[str, Any]:
        """Figures about the run as a whole, by name, as plain values."""
        chosen = self.history[self.chosen - 1]
        actions = [row["action"] for row in self.history]
        return {
            "iterations": len(self.history),
            "returned_iteration": self.chosen,
            "reliability": chosen["reliability"],
            "components": self.posterior.mixture.n_components,
            "boosted": self.boosted,
            "training_points": chosen["n_training"],
            "evaluations": self.evaluations.n_counted,
            "failed_evaluations": self.evaluations.n_counted_failed,
            "whitenings": actions.count("whitening"),
            "softenings": actions.count("softened") + actions.count("sharpened"),
            "went_back": actions.count("went back"),
            "noise_sd": chosen["noise_sd"],
            "looks": self.evaluations.origin.count(Origin.LOOK),
            "repeats": self.evaluations.origin.count(Origin.AGAIN),
            "set_aside": len(self.set_aside),
            "noise_scale": chosen.get("noise_scale", 1.0),
            "unseen_share": self.unseen_share,
            "overhead_cpu_seconds": self.cpu_seconds,
            "overhead_cpu_seconds_per_evaluation": self.cpu_seconds
            / max(1, self.evaluations.n_counted),
            "wall_seconds": self.wall_seconds,
            "target_seconds": self.target_seconds,
            "status": str(self.status),
            **self.verdict.figures(),
        }

    def check(self, more: int = 100) -> Check:
        """Can I believe this? The verdict, its reasons, the noise, and what more would buy.

        Parameters
        ----------
        more
            Evaluations for which to say what they would buy.

        Returns
        -------
        "usable", "not yet" or "no" (``.answer``), with reasons; printing it is a summary.
        """
        return check(self, integer("more", more, least=1))

    def summary(self) -> str:
        """What a person wants to read: how the run ended, evidence, parameters, cost."""
        d = self.diagnostics
        failed = f" ({d['failed_evaluations']} failed)" if d["failed_evaluations"] else ""
        undefined = f"undefined; ELBO {self.elbo:.3f} ± {self.elbo_sd:.3f}"
        lines = [
            *headline(self.status, f" after {d['evaluations']} evaluations{failed}", self.reasons),
            evidence_line(self, undefined),
            *marginals_line(d.get("expected_mmtv", np.nan)),
            "",
            *parameter_lines(summary_rows(self.posterior)),
        ]
        names = [printable(name) for name in self.posterior.names]
        whole = [n for n, i in zip(names, self.posterior.integer or (), strict=False) if i]
        if whole:
            lines += ["", f"integer parameters ({', '.join(whole)}): for quantiles the probability "
                          "of k is spread from k - 1/2 to k + 1/2"]  # fmt: skip
        lines += [
            "",
            f"overhead {self.cpu_seconds:.1f} CPU s "
            f"({1e3 * d['overhead_cpu_seconds_per_evaluation']:.0f} ms per evaluation), "
            f"target {self.target_seconds:.1f} s, seed {self.seed}",
            *([self.journal] if self.journal else []),
        ]
        if Origin.AGAIN in self.evaluations.origin:
            lines += about_wrong_values(self.set_aside, d["noise_scale"])
        if self.unseen_share > SHOWN_UNSEEN:
            lines.append(
                f"{100 * self.unseen_share:.0f} % of the plausible box is out of sight of all "
                "evaluations: another mode there would not have been seen"
            )
        return "\n".join(lines)

    def plot(self, kind: str = "corner", **options: Any) -> Any:
        """Draw the result and return the figure; it needs matplotlib (``quell[plots]``).

        ``kind`` is "corner", "marginals", "trace", "evaluations", "surrogate", "residuals" or
        "acquisition": ``options`` are those of the function in `quell.plots` with its name.
        """
        # By name: plots are a later room, which a result must not need.
        return importlib.import_module("quell.plots.door").plot(self, kind, **options)

    def _file(self) -> bytes:
        from quell.results.writing import result_bytes  # it needs what most runs never do

        return result_bytes(self)

    def to_arviz(
        self, draws: int = 1000, *, chains: int = 4, rng: np.random.Generator | int = 0
    ) -> Any:
        """Draws, evaluations and figures as an ``xarray.DataTree``, for ArviZ and for files.

        Needs xarray (``pip install "quell[arviz]"``). ArviZ 1 takes it as it is, ArviZ 0.23
        through ``arviz.from_datatree``; ``.to_netcdf(path, engine="h5netcdf")`` keeps it.

        Parameters
        ----------
        draws, chains
            Draws in each of so many chains. They are independent, whatever chain they are in.
        rng
            A seed or a generator, as in `Posterior.sample`.

        Returns
        -------
        xarray.DataTree
            With the groups ``posterior``, ``sample_stats`` (``lp``, the surrogate's log joint,
            ``lp_sd``, its SD, ``log_q``, the log density of the posterior, ``log_prior`` where it
            is known) and ``evaluations``; evidence, status and versions are attributes.
        """
        from quell.results.arviz_tree import arviz_tree  # needs an extra

        return arviz_tree(self, draws, chains, rng)

    def to_pandas(self) -> Any:
        """The parameters' figures of the summary as a pandas ``DataFrame``, one row for each."""
        return summary_frame(self.posterior)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        names = ", ".join(printable(name) for name in self.posterior.names)
        return (
            f"Result of {names}: {self.status} after {self.evaluations.n_counted} evaluations, "
            f"log evidence {self.log_evidence:.3f} ± {self.log_evidence_sd:.3f}"
        )

    def _repr_html_(self) -> str:
        return result_html(self)
