"""The check of a result: from what it carries to whether it can be believed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quell.diagnostics import Case
from quell.diagnostics.case import N_DRAWS
from quell.diagnostics.check import ANSWERS, Check, Reason, reason_of
from quell.diagnostics.forecast import forecast
from quell.diagnostics.noise_audit import audit_noise

if TYPE_CHECKING:
    from quell.results.result import Result


def check(result: Result, more: int) -> Check:
    """Whether the result can be believed, and what ``more`` evaluations would buy."""
    case = _case(result)
    figures, chosen = result.verdict.figures(), result.history[result.chosen - 1]
    sd = result.log_evidence_sd if np.isfinite(result.log_evidence_sd) else result.elbo_sd
    return Check(
        answer=ANSWERS[result.status],
        reasons=_reasons(result),
        findings=result.findings,
        noise=audit_noise(case, chosen["noise_sd"], sd, chosen.get("noise_scale", 1.0)),
        forecast=forecast(result.history, sd, figures.get("convexity", np.nan), more),
    )


def _case(result: Result) -> Case:
    """The case for the answer, also from a file that does not have its support."""
    posterior, solution = result.posterior, result.solution
    draws = posterior.sample(N_DRAWS, np.random.default_rng(result.seed))
    return Case(
        solution, None, (), result.log_evidence - posterior.log_mass, result.evaluations,
        solution.space,
        solution.space.to_inference(draws), posterior.share_in_support,
    )  # fmt: skip


def _reasons(result: Result) -> tuple[Reason, ...]:
    against = [reason_of(f.test, f.text) for f in result.findings if f.against]
    still = [reason_of("stability", text) for text in result.verdict.about_stability]
    return (*against, *still)
